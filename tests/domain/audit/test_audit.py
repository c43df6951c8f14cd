"""The audit log: an entry with each change of configuration, and none without one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pymongo import MongoClient

from service.bounds import MAX_AGGREGATIONS, MAX_KEYS
from service.domain.audit.actions import Action, show_entry
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.origin import ORIGIN, SYSTEM, AuditActor, Origin
from service.domain.projects.keys import SECRET, key_id
from service.domain.projects.lookup import hash_api_key
from service.errors import Conflict, KeyLimit, ServiceError, Unavailable
from service.services import Services
from service.storage.audit import AuditFilter, AuditStore
from tests.conftest import Api

Json = dict[str, Any]
Entries = Callable[[], list[Json]]
SECRET_VALUE = "hunter2-hunter2"
TITLE = {"title": {"type": "string"}}
GROUP = {"collection": "books", "aggregate": {"values": {"n": "count"}}}


@pytest.fixture(autouse=True)
def by_the_system() -> None:
    """Requests of a test run in its own task, and leave their origin there."""
    ORIGIN.set(lambda: SYSTEM)


@pytest.fixture
def entries(api: Api, mongo: MongoClient[Any], database_prefix: str) -> Entries:
    """The entries of the project since its creation, the oldest first."""
    audit = mongo[f"{database_prefix}system"]["audit"]
    audit.delete_many({})
    return lambda: [
        show_entry(each) for each in audit.find({"project_id": api.project.id}).sort([("at", 1), ("_id", 1)])
    ]


def actions(found: list[Json]) -> list[str]:
    return [each["action"] for each in found]


async def test_each_change_of_a_projects_configuration_has_one_entry(
    api: Api, services: Services, entries: Entries
) -> None:
    id_ = api.project.id
    await services.base.admin.change(id_, {"PASSWORD_MIN_LENGTH": "10"})
    await services.base.admin.rename(id_, "Another")
    key = await services.base.keys.create(id_, SECRET, "of a job")
    await services.base.keys.revoke(id_, key.id)
    await services.base.keys.rotate(id_)
    await services.base.signing_keys.rotate(id_, at_once=True)
    await services.base.providers.set(id_, "google", None, {"CLIENT_ID": "c"})
    await services.base.providers.remove(id_, "google")
    found = entries()
    assert actions(found) == [
        *("settings.changed", "project.renamed", "key.created", "key.revoked", "key.rotated"),
        *("signing_key.rotated", "provider.set", "provider.removed"),
    ]
    assert found[0]["changes"] == [{"path": ["settings", "PASSWORD_MIN_LENGTH"], "before": None, "after": 10}]
    assert found[1]["changes"] == [{"path": ["name"], "before": api.project.name, "after": "Another"}]
    assert found[2]["target"] == {"type": "key", "id": key.id, "name": "of a job"}
    assert {each["status"] for each in found} == {None}
    assert {each["actor"]["kind"] for each in found} == {"system"}


async def test_each_change_by_the_secret_key_names_it_and_its_request(api: Api, entries: Entries) -> None:
    headers = {"x-request-id": "request-of-a-test", "user-agent": "tester"}
    for method, path, body in (
        ("POST", "/api/collections", {"name": "books", "schema": TITLE}),
        ("PATCH", "/api/collections/books", {"schema": {"year": {"type": "integer"}}}),
        ("PUT", "/api/rules", {"collections": {"books": {"read": "anyone"}}}),
        ("PUT", "/api/aggregations/all", GROUP),
        ("PUT", "/api/aggregations/all", {**GROUP, "run": "anyone"}),
        ("DELETE", "/api/aggregations/all", None),
        ("DELETE", "/api/collections/books", None),
    ):
        assert (await api.request(method, path, json=body, headers=headers)).is_success
    found = entries()
    assert actions(found) == [
        *("collection.created", "collection.changed", "rules.changed"),
        *("aggregation.saved", "aggregation.saved", "aggregation.deleted", "collection.deleted"),
    ]
    assert [each["status"] for each in found] == [201, 200, 200, 201, 200, 204, 204]
    assert {each["actor"]["id"] for each in found} == {key_id(hash_api_key(api.key))}
    assert {(each["actor"]["kind"], each["request_id"], each["user_agent"]) for each in found} == {
        ("secret_key", "request-of-a-test", "tester")
    }
    assert found[1]["changes"] == [{"path": ["schema", "year", "type"], "before": None, "after": "integer"}]


async def test_what_changes_nothing_has_no_entry(api: Api, services: Services, entries: Entries) -> None:
    id_, rules = api.project.id, {"collections": {"books": {"read": "anyone"}}}
    changes = {"CLIENT_ID": "c", "CLIENT_SECRET": SECRET_VALUE}

    async def make() -> None:
        await services.base.admin.change(id_, {"EVENT_DAYS": "30", "SMTP_URL": "smtps://u:p@mail.example.com"})
        await services.base.admin.rename(id_, "Another")
        await services.base.providers.set(id_, "google", None, changes)
        await api.request("PATCH", "/api/collections/books", json={"schema": {"year": {"type": "integer"}}})
        assert (await api.request("PUT", "/api/rules", json=rules)).status_code == 200
        assert (await api.request("PUT", "/api/aggregations/all", json=GROUP)).is_success

    await api.request("POST", "/api/collections", json={"name": "books", "schema": TITLE})
    await make()
    before = len(entries())
    await make()
    assert before == len(entries()) == 7


async def test_what_is_refused_has_no_entry(api: Api, services: Services, entries: Entries) -> None:
    id_ = api.project.id
    refused = (
        services.base.admin.change(id_, {"PASSWORD_MIN_LENGTH": "0"}),
        services.base.admin.change(id_, {"NONE_SUCH": "1"}),
        services.base.admin.rename(id_, "\n"),
        services.base.keys.create(id_, SECRET, ""),
        services.base.keys.revoke(id_, "0" * 12),
        services.base.signing_keys.rotate(id_, at_once=False),
        services.base.providers.set(id_, "google", None, {}),
        services.base.providers.remove(id_, "google"),
    )
    for each in refused:
        with pytest.raises(ServiceError):
            await each
    for method, path, body in (
        ("POST", "/api/collections", {"name": "books", "schema": {"title": {"type": "none"}}}),
        ("PATCH", "/api/collections/books", {"schema": TITLE}),
        ("DELETE", "/api/collections/books", None),
        ("PUT", "/api/rules", {"collections": {"books": {"read": "anyone"}}}),
        ("PUT", "/api/aggregations/all", GROUP),
        ("DELETE", "/api/aggregations/all", None),
    ):
        assert 400 <= (await api.request(method, path, json=body)).status_code < 500
    assert entries() == []


async def test_no_entry_has_a_secret(
    api: Api, services: Services, mongo: MongoClient[Any], database_prefix: str, entries: Entries
) -> None:
    smtp = f"smtps://u:{SECRET_VALUE}@mail.example.com"
    new, keys = await services.base.admin.create("New", "new", {"SMTP_URL": smtp, "IDP_CLIENT_SECRET": SECRET_VALUE})
    await services.base.admin.change("new", {"SMTP_URL": f"{smtp}:465"})
    await services.base.admin.change("new", {"SMTP_URL": ""})
    await services.base.providers.set("new", "google", None, {"CLIENT_ID": "c", "CLIENT_SECRET": SECRET_VALUE})
    await services.base.providers.set("new", "google", None, {"CLIENT_SECRET": f"{SECRET_VALUE}2"})
    made = await services.base.keys.create("new", SECRET, "n")
    rotated = await services.base.keys.rotate("new")
    await services.base.admin.begin_deletion("new")
    found = list(mongo[f"{database_prefix}system"]["audit"].find({"project_id": "new"}).sort("_id", 1))
    assert len(found) == 8
    text = str(found)
    sealed = [str(new.signing_key.as_dict(private=True)["d"]), SECRET_VALUE, keys.secret, keys.publishable]
    assert not [each for each in (*sealed, made.key, rotated.key, hash_api_key(made.key)) if each in text]
    shown = [change for each in found for change in show_entry(each)["changes"] if "SMTP_URL" in change["path"]]
    assert [(change["before"], change["after"]) for change in shown] == [
        *((None, "***"), ("***", "***"), ("***", None)),
    ]


async def test_entries_outlive_their_project(api: Api, services: Services, entries: Entries) -> None:
    await services.base.admin.change(api.project.id, {"EVENT_DAYS": "30"})
    await services.base.admin.delete(api.project.id)
    assert actions(entries()) == ["settings.changed", "project.deleted"]


async def test_a_second_deletion_has_no_entry_of_its_own(api: Api, services: Services, entries: Entries) -> None:
    for _ in range(3):
        await services.base.admin.begin_deletion(api.project.id)
    assert actions(entries()) == ["project.deleted"]


async def test_there_is_no_change_where_its_entry_cannot_be_written(
    api: Api, services: Services, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the entry and its change, or MongoDB refuses one."""
    id_ = api.project.id

    async def fail(*_: object) -> None:
        raise Unavailable

    before = api.database.client[f"{services.base.databases.prefix}system"]["projects"].find_one({"_id": id_})
    with monkeypatch.context() as patch:
        patch.setattr(AuditStore, "insert", fail)
        attempts = (
            services.base.admin.change(id_, {"EVENT_DAYS": "30"}),
            services.base.admin.rename(id_, "Another"),
            services.base.keys.create(id_, SECRET, "n"),
            services.base.keys.rotate(id_),
            services.base.providers.set(id_, "google", None, {"CLIENT_ID": "c"}),
            services.base.admin.begin_deletion(id_),
            services.base.admin.create("New", "new", {}),
        )
        for each in attempts:
            with pytest.raises(Unavailable):
                await each
        for method, path, body in (
            ("POST", "/api/collections", {"name": "books", "schema": TITLE}),
            ("PUT", "/api/rules", {"users": {"read": "anyone"}}),
        ):
            assert (await api.request(method, path, json=body)).status_code == 503
    after = api.database.client[f"{services.base.databases.prefix}system"]["projects"].find_one({"_id": id_})
    assert after == before
    assert sorted(each.kind for each in await services.base.keys.list(id_)) == ["publishable", "secret"]
    assert (await api.request("GET", "/api/collections")).json()["total"] == 0
    assert (await api.request("GET", "/api/rules")).json()["users"] == {}
    assert entries() == []


async def test_of_concurrent_changes_each_has_its_entry(api: Api, services: Services, entries: Entries) -> None:
    """Each entry's `before` is the `after` of the entry before it."""
    await asyncio.gather(*(services.base.admin.rename(api.project.id, f"Name {number}") for number in range(8)))
    changes = sorted((each["changes"][0] for each in entries()), key=lambda each: str(each["after"]))
    assert len(changes) == 8
    befores, afters = ({each[side] for each in changes} for side in ("before", "after"))
    assert befores - afters == {api.project.name}
    assert len(afters - befores) == 1


async def test_keys_made_at_once_are_no_more_than_a_project_may_have(
    api: Api, services: Services, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.projects.keys.MAX_KEYS", 5)
    made = await asyncio.gather(
        *(services.base.keys.create(api.project.id, SECRET, f"{number}") for number in range(6)), return_exceptions=True
    )
    assert sum(isinstance(each, KeyLimit) for each in made) == 3
    assert len(await services.base.keys.list(api.project.id)) == 5
    assert actions(entries()) == ["key.created"] * 3
    assert MAX_KEYS == 50


async def test_aggregations_saved_at_once_are_no_more_than_a_project_may_have(
    api: Api, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.aggregations.aggregations.MAX_AGGREGATIONS", 2)
    await api.request("POST", "/api/collections", json={"name": "books", "schema": TITLE})
    saved = await asyncio.gather(
        *(api.request("PUT", f"/api/aggregations/a{number}", json=GROUP) for number in range(5))
    )
    assert sorted(each.status_code for each in saved) == [201, 201, 409, 409, 409]
    assert actions(entries())[1:] == ["aggregation.saved"] * 2
    assert MAX_AGGREGATIONS == 100


async def test_collections_made_at_once_are_no_more_than_a_project_may_have(
    api: Api, services: Services, entries: Entries
) -> None:
    await services.base.admin.change(api.project.id, {"COLLECTION_LIMIT": "2"})
    services.base.projects.forget_all()
    bodies = [{"name": f"c{number}", "schema": TITLE} for number in range(5)]
    made = await asyncio.gather(*(api.request("POST", "/api/collections", json=body) for body in bodies))
    assert sorted(each.status_code for each in made) == [201, 201, 409, 409, 409]
    assert actions(entries())[1:] == ["collection.created"] * 2


async def test_a_page_begins_where_the_one_before_it_ended(api: Api, services: Services, entries: Entries) -> None:
    audit, wanted = services.base.audit, AuditFilter(project_id=api.project.id)
    for number in range(7):
        await audit.note(Act(Action.OPERATOR_SIGNED_IN, Target("operator", str(number)), api.project.id))
    place, seen = None, list[str]()
    for _ in range(4):
        page = await audit.list(wanted, after=place, limit=2)
        seen += [row["target"]["id"] for row in page.rows]
        place = page.next
    assert seen == ["6", "5", "4", "3", "2", "1", "0"]
    assert place is None
    assert len(entries()) == 7


async def test_entries_are_found_by_action_actor_target_and_time(
    api: Api, services: Services, entries: Entries
) -> None:
    audit, id_ = services.base.audit, api.project.id
    ORIGIN.set(lambda: Origin(AuditActor("operator", "ann", "Ann")))
    await audit.note(Act(Action.MAILBOX_READ, Target("mail", "m1"), id_))
    ORIGIN.set(lambda: Origin(AuditActor("operator", "bob", "Bob")))
    await audit.note(Act("data.createDocument", Target("collection", "books"), id_))
    first, second = (each["at"] for each in entries())

    async def find(**wanted: Any) -> list[str]:
        return [row["target"]["id"] for row in (await audit.list(AuditFilter(**wanted))).rows]

    assert await find(project_id=id_) == ["books", "m1"]
    assert await find(project_id="another") == []
    assert await find(action="mailbox.read") == ["m1"]
    assert await find(actor="bob") == ["books"]
    assert await find(target="m1") == ["m1"]
    assert await find(since=first, until=second, project_id=id_) in (["m1"], [])
    assert await find(until=first) == []


async def test_a_begun_write_ends_with_its_status(api: Api, services: Services, entries: Entries) -> None:
    audit = services.base.audit
    for status in (201, None):
        entry = await audit.begin(Act("data.createDocument", Target("collection", "books"), api.project.id))
        if status:
            await audit.finish(entry, status)
            await audit.finish(entry, 500)
    assert [each["status"] for each in entries()] == [201, "begun"]


async def test_an_entry_is_kept_for_the_days_of_the_environment(
    api: Api, services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    await Audit(services.base.databases, days=31).note(Act(Action.MAILBOX_READ, Target("mail", "m"), api.project.id))
    stored = mongo[f"{database_prefix}system"]["audit"].find_one({"target.id": "m"}) or {}
    assert (stored["expires_at"] - stored["at"]).days == 31
    indexes = mongo[f"{database_prefix}system"]["audit"].index_information()
    assert indexes["expires_at"]["expireAfterSeconds"] == 0


async def test_an_entry_outside_of_a_transaction_is_a_fault(services: Services) -> None:
    with pytest.raises(TypeError, match="outside of a transaction"):
        await services.base.audit.record(None, Act(Action.KEY_CREATED, Target("key", "k")))


async def test_a_rotation_that_loses_has_no_entry(api: Api, services: Services, entries: Entries) -> None:
    turns = await asyncio.gather(
        *(services.base.signing_keys.rotate(api.project.id, at_once=True) for _ in range(3)), return_exceptions=True
    )
    assert sum(isinstance(each, Conflict) for each in turns) == 2
    assert actions(entries()) == ["signing_key.rotated"]
