"""A restored project is what it was, but for what was open then: sessions, tokens and ETags end."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from pymongo import MongoClient

from service.domain.portable import filling, rewriting
from service.domain.portable.project_text import read_project
from service.domain.portable.restored_project import make_project
from service.domain.portable.restoring import Choices, Restored, restore_project
from service.domain.projects.secrets import SecretBox
from service.errors import (
    BackupDamaged,
    BackupForeign,
    BackupTooNew,
    Conflict,
    DigestMismatch,
    InvalidConfiguration,
    ProjectBusy,
    RestoreInvalid,
    ServiceError,
    Unavailable,
)
from service.services import Services
from service.storage.building import insert_documents
from service.storage.migrations import PROJECT_MIGRATIONS
from service.storage.reservations import Reservation
from tests.conftest import BASE_URL, Api
from tests.domain.portable.site import BOOKS, Json, forms, opened, portable_of, records, take, use_fully

System = Any
BOX = SecretBox(b"k" * 32)


@pytest.fixture
def system(mongo: MongoClient[Any], database_prefix: str) -> System:
    return mongo[f"{database_prefix}system"]


@pytest.fixture
async def used(api: Api, services: Services) -> Api:
    await use_fully(api)
    await services.journal.write()
    await services.sessions.sightings.write()
    return api


@pytest.fixture
def lose(services: Services, system: System) -> Callable[[Api], None]:
    """Removes all of a project, as a disaster does."""

    def act(api: Api) -> None:
        system["projects"].delete_one({"_id": api.project.id})
        system["api_keys"].delete_many({"project_id": api.project.id})
        api.database.client.drop_database(api.database.name)
        services.base.projects.forget_all()

    return act


async def restore(services: Services, content: bytes, project_id: str, **choices: Any) -> Restored:
    with opened(content) as backup:
        return await restore_project(portable_of(services), backup, project_id, Choices(**choices))


def older(found: dict[str, list[Json]]) -> dict[str, list[Json]]:
    """The same with the versions of before a restore."""
    for name in {"users", "c_books"} & found.keys():
        found[name] = [{**each, "version": each["version"] - rewriting.RAISED_BY} for each in found[name]]
    found["users"] = [{**each, "token_version": each["token_version"] - 1} for each in found["users"]]
    return found


class TestRestored:
    async def test_all_records_indexes_and_validators_are_as_they_were(
        self, used: Api, services: Services, lose: Callable[[Api], None]
    ) -> None:
        for name in ("users", "c_books"):
            used.database[name].update_many({"version": {"$exists": False}}, {"$set": {"version": 1}})
        await services.base.admin.change(used.project.id, {"REALTIME_USERS": "true"})
        before, form = records(used), forms(used)
        content, taken = await take(portable_of(services), used.project.id)
        lose(used)
        restored = await restore(services, content, used.project.id)
        assert (restored.needs, restored.left_out, restored.rejected) == ([], [], [])
        assert older(records(used)) == before
        assert {name: each for name, each in forms(used).items() if name in form} == form
        assert used.database["sessions"].count_documents({}) == 0
        assert used.database["migrations"].find_one({})["number"] == len(PROJECT_MIGRATIONS)  # type: ignore[index]
        assert taken.manifest.files == 2

    async def test_g10_users_sign_in_again_and_nothing_of_before_is_open(
        self, used: Api, services: Services, lose: Callable[[Api], None]
    ) -> None:
        token = (await used.login()).json()["access_token"]
        document = (await used.request("POST", BOOKS, json={"data": {"title": "Three"}})).json()
        path = f"{BOOKS}/{document['id']}"
        etag = (await used.request("GET", path)).headers["etag"]
        cover = used.database["files.files"].find_one({"metadata.collection": "books"})["_id"]  # type: ignore[index]
        url = f"/files/{cover}"
        shown = await used.http.get(url)
        keys = (await used.http.get(f"/auth-collections/jwks/{used.project.id}")).json()
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        await restore(services, content, used.project.id)
        assert (await used.http.get(f"/auth-collections/jwks/{used.project.id}")).json() == keys
        assert (await used.login()).status_code == 200
        assert (await used.as_user(token, "GET", "/auth-collections/user")).status_code == 401
        assert (await used.request("GET", path, headers={"if-none-match": etag})).status_code == 200
        stale = await used.request("PATCH", path, json={"data": {"title": "x"}}, headers={"if-match": etag})
        assert stale.status_code == 412
        assert ((await used.http.get(url)).content, shown.status_code) == (shown.content, 200)
        assert (await used.request("POST", BOOKS, json={"data": {"title": "Three"}})).status_code == 409
        assert BASE_URL in (await used.request("GET", BOOKS)).text

    async def test_an_older_form_is_brought_to_the_present_one(
        self, used: Api, services: Services, lose: Callable[[Api], None]
    ) -> None:
        used.database["migrations"].update_one({}, {"$set": {"number": 1}})
        used.database["users"].update_one({}, {"$unset": {"files": ""}})
        content, taken = await take(portable_of(services), used.project.id)
        lose(used)
        await restore(services, content, used.project.id)
        assert taken.manifest.project_version == 1
        assert used.database["users"].find_one({})["files"] == {}  # type: ignore[index]

    async def test_g3_a_lost_answer_to_the_last_write_drops_nothing(
        self, used: Api, services: Services, lose: Callable[[Api], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plain = Reservation.publish

        async def publish(*arguments: Any) -> None:
            await plain(*arguments)
            raise Unavailable

        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        monkeypatch.setattr(Reservation, "publish", publish)
        with pytest.raises(Unavailable):
            await restore(services, content, used.project.id)
        services.base.projects.forget_all()
        assert (await used.login()).status_code == 200

    async def test_an_entry_of_the_audit_log_is_part_of_it(
        self, used: Api, services: Services, lose: Callable[[Api], None], system: System
    ) -> None:
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        await restore(services, content, used.project.id)
        assert system["audit"].count_documents({"action": "project.restored", "project_id": used.project.id}) == 1


class TestRefused:
    """Nothing was made, whatever the reason: no project, no database, no reservation in force."""

    async def refuse(
        self, used: Api, services: Services, system: System, content: bytes, error: type[ServiceError], **choices: bool
    ) -> str:
        with pytest.raises(error) as caught:
            await restore(services, content, used.project.id, **choices)
        assert used.database.list_collection_names() == []
        assert system["projects"].count_documents({"_id": used.project.id, "name": {"$exists": True}}) == 0
        assert system["projects"].count_documents({"restoring": {"$exists": True}}) == 0
        return caught.value.detail

    async def test_g5_a_damaged_backup(
        self, used: Api, services: Services, lose: Callable[[Api], None], system: System
    ) -> None:
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        place = content.index(b"p/users.bson.gz") + 60
        altered = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        assert "p/users" in await self.refuse(used, services, system, altered, BackupDamaged)

    async def test_g7_another_maker_and_then_without_keys(
        self,
        used: Api,
        services: Services,
        lose: Callable[[Api], None],
        system: System,
    ) -> None:
        await services.base.admin.change(used.project.id, {"SMTP_URL": "smtps://u:p@mail.example:465"})
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        await self.refuse(used, services, system, _resigned(content), BackupForeign)
        restored = await restore(services, _resigned(content), used.project.id, accepts_foreign=True)
        assert restored.needs == ["API keys", "authenticator apps of users"]
        assert system["api_keys"].count_documents({"project_id": used.project.id}) == 0
        assert (await used.login()).status_code == 401

    async def test_documents_that_break_their_definition_are_named_or_left_out(
        self, used: Api, services: Services, lose: Callable[[Api], None], system: System
    ) -> None:
        bad = used.database["c_books"].find_one({"data.title": "One"})["_id"]  # type: ignore[index]
        broken = {"$set": {"data.title": 7}}
        used.database["c_books"].update_one({"_id": bad}, broken, bypass_document_validation=True)
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        assert f"c_books {bad}" in await self.refuse(used, services, system, content, RestoreInvalid)
        system["projects"].delete_many({})
        restored = await restore(services, content, used.project.id, skips_invalid=True)
        assert restored.rejected == [f"c_books {bad}"]
        assert used.database["c_books"].count_documents({}) == 1

    async def test_two_documents_with_one_unique_value(
        self, used: Api, services: Services, lose: Callable[[Api], None], system: System
    ) -> None:
        for name, info in used.database["c_books"].index_information().items():
            if info.get("unique"):
                used.database["c_books"].drop_index(name)
        used.database["c_books"].update_many({}, {"$set": {"data.title": "same"}})
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        assert "is unique" in await self.refuse(used, services, system, content, RestoreInvalid)

    async def test_records_that_are_not_stored_as_they_were_sent(
        self,
        used: Api,
        services: Services,
        lose: Callable[[Api], None],
        system: System,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def insert(database: Any, collection: str, documents: list[bytes]) -> Any:
            return await insert_documents(database, collection, documents[1:] if collection == "c_books" else documents)

        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        monkeypatch.setattr(filling, "insert_documents", insert)
        assert "c_books" in await self.refuse(used, services, system, content, DigestMismatch)

    async def test_a_backup_of_a_later_version(
        self, used: Api, services: Services, lose: Callable[[Api], None], system: System
    ) -> None:
        used.database["migrations"].update_one({}, {"$set": {"number": len(PROJECT_MIGRATIONS) + 1}})
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        await self.refuse(used, services, system, content, BackupTooNew)

    async def test_an_id_that_is_taken_or_that_is_none(self, used: Api, services: Services) -> None:
        content, _ = await take(portable_of(services), used.project.id)
        with pytest.raises(Conflict):
            await restore(services, content, used.project.id)
        with pytest.raises(InvalidConfiguration):
            await restore(services, content, "No id")
        assert (await used.login()).status_code == 200

    async def test_a_database_without_a_project_stays(
        self, used: Api, services: Services, lose: Callable[[Api], None]
    ) -> None:
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        used.database["users"].insert_one({"_id": "1"})
        with pytest.raises(Conflict, match="is there without a project"):
            await restore(services, content, used.project.id)
        assert used.database["users"].count_documents({}) == 1

    async def test_a_dry_run_writes_nothing(
        self, used: Api, services: Services, lose: Callable[[Api], None], system: System
    ) -> None:
        content, _ = await take(portable_of(services), used.project.id)
        lose(used)
        await restore(services, content, used.project.id, is_dry_run=True)
        assert used.database.list_collection_names() == []
        assert system["projects"].count_documents({}) == 0


@pytest.mark.usefixtures("emptied")
class TestReservation:
    """Rows G3 and G13: before the last write there is no project, and a deletion wins."""

    async def reserve(self, services: Services, project_id: str) -> Reservation:
        reservation = Reservation(services.base.databases, project_id, "holder")
        assert await reservation.begin()
        return reservation

    async def test_g13_no_project_is_made_under_a_reserved_id_nor_another_restore(self, services: Services) -> None:
        await self.reserve(services, "shop")
        assert not await Reservation(services.base.databases, "shop", "other").begin()
        with pytest.raises(Conflict):
            await services.base.admin.create("Shop", "shop", {})

    async def test_g3_a_reservation_is_left_in_peace_until_its_lease_runs_out(
        self, services: Services, system: System
    ) -> None:
        await self.reserve(services, "shop")
        assert await services.base.store.deleting_ids() == []
        system["projects"].update_one({}, [{"$set": {"restoring.until": {"$subtract": ["$$NOW", 1]}}}])
        assert await services.base.store.deleting_ids() == ["shop"]

    async def test_g3_nothing_is_published_after_the_lease_ran_out_or_a_deletion(
        self, services: Services, system: System
    ) -> None:
        reservation = await self.reserve(services, "shop")
        system["projects"].update_one({}, [{"$set": {"restoring.until": {"$subtract": ["$$NOW", 1]}}}])
        await reservation.renew()
        with pytest.raises(ProjectBusy):
            await reservation.publish({"_id": "shop", "name": "Shop"}, [], _note)
        other = await self.reserve(services, "other")
        await services.base.admin.begin_deletion("other")
        with pytest.raises(ProjectBusy):
            await other.publish({"_id": "other", "name": "Other"}, [], _note)
        assert system["projects"].count_documents({"name": {"$exists": True}}) == 0


def test_secrets_of_another_secret_key_are_needed_and_not_kept() -> None:
    text = read_project(
        orjson.dumps(
            {
                "id": "shop",
                "name": "Shop",
                "created_at": "2026-11-23T00:00:00.000Z",
                "settings": {"SMTP_URL": seal("smtps://u:p@h:465", "shop/SMTP_URL"), "TIER": "free"},
                "providers": {
                    name: {"preset": "google", "settings": each, "created_at": "2026-11-23T00:00:00.000Z"}
                    for name, each in (("one", {"CLIENT_SECRET": seal("s", "shop/one/CLIENT_SECRET")}), ("two", {}))
                },
                "keys": [],
            }
        )
    )
    project = make_project(text, SecretBox(b"o" * 32), is_ours=False, with_keys=True)
    assert project.needs == ["SMTP_URL", "provider one"]
    assert (project.record["settings"], list(project.record["providers"])) == ({"TIER": "free"}, ["two"])
    ours = make_project(text, BOX, is_ours=True, with_keys=True)
    assert (ours.needs, ours.record["settings"].keys()) == ([], {"SMTP_URL", "TIER"})


def seal(secret: str, place: str) -> str:
    return BOX.seal(secret, place)


async def _note(session: Any) -> None:
    """Nothing more is written."""


def _resigned(content: bytes) -> bytes:
    """The backup under the signature of another deployment."""
    return content[:-64] + b"0" * 64
