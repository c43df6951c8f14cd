"""A backup has one moment of a project, all of it and nothing else."""

import asyncio
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.samples import FORM_TYPE, SVG, file_part, form
from service.domain.portable import taking
from service.domain.portable.packing import unpack
from service.domain.portable.taking import Wanted, note_backup, take_backup
from service.domain.portable.verifying import compare_with_project
from service.errors import CatalogChanged, ProjectBusy, ProjectNotFound
from service.services import Services
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import sweep
from service.storage.files.holds import HOLD, begin_hold, end_hold
from service.storage.layout import PARTS, find_part, is_in_backups
from service.storage.moments import Moment
from tests.conftest import Api
from tests.domain.portable.site import BOOKS, add_book, documents_of, opened, portable_of, take, use_fully

# The parts that a backup has of a project in full use.
COPIED = {
    "users",
    "sessions",
    "events",
    "collections",
    "rules",
    "aggregations",
    "c_books",
    "files.files",
    "files.chunks",
}


@pytest.fixture
async def used(api: Api, services: Services) -> Api:
    """Nothing of its use is still to be written in the background."""
    await use_fully(api)
    await services.journal.write()
    await services.sessions.sightings.write()
    return api


async def test_every_collection_of_a_project_in_full_use_has_its_part(used: Api) -> None:
    names = used.database.list_collection_names()
    assert [name for name in names if find_part(name) is None] == []
    assert {name for name in names if is_in_backups(name)} >= COPIED
    assert {part.name for part in PARTS if not part.is_prefix} == {*names} - {name for name in names if "c_" in name}


async def test_a_backup_has_the_records_of_each_part_as_they_are_stored(used: Api, services: Services) -> None:
    content, taken = await take(portable_of(services), used.project.id)
    with opened(content) as backup:
        assert set(backup.collections) >= COPIED
        assert not {"kept_answers", "uploads", "migrations"} & set(backup.collections)
    for name in COPIED:
        order: list[tuple[str, int]] = [("files_id", 1), ("n", 1)] if name == "files.chunks" else [("_id", 1)]
        assert documents_of(content, name) == list(used.database[name].find().sort(order))
    assert taken.manifest.files == 2
    assert taken.manifest.counts["users"] == 1
    assert taken.manifest.project_version == used.database["migrations"].find_one({})["number"]  # type: ignore[index]


async def test_the_manifest_has_the_digest_of_each_member_as_gunzip_gives_it(used: Api, services: Services) -> None:
    content, taken = await take(portable_of(services), used.project.id)
    assert (hashlib.sha256(content).hexdigest(), len(content)) == (taken.sha256, taken.bytes)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist()[0] == "header.json"
        assert archive.namelist()[-1] == "manifest.json"
        for name, digest in taken.manifest.members.items():
            with archive.open(name) as entry:
                data = b"".join(unpack(entry)) if name.endswith(".gz") else entry.read()
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (digest.sha256, digest.bytes)


async def test_programs_of_the_system_read_a_backup(used: Api, services: Services, tmp_path: Path) -> None:
    content, taken = await take(portable_of(services), used.project.id)
    (tmp_path / "b.zip").write_bytes(content)
    program = "unzip -tq b.zip && unzip -p b.zip p/users.bson.gz | gunzip -c | sha256sum"
    process = await asyncio.create_subprocess_shell(program, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
    shown, _ = await process.communicate()
    assert shown.decode().splitlines()[-1].split()[0] == taken.manifest.members["p/users.bson.gz"].sha256


async def test_the_metadata_has_options_and_indexes_for_mongorestore(used: Api, services: Services) -> None:
    content, _ = await take(portable_of(services), used.project.id)
    with opened(content) as backup:
        metadata = json.loads(b"".join(backup.read("p/c_books.metadata.json.gz")))
    assert {index["name"] for index in metadata["indexes"]} == set(used.database["c_books"].index_information())
    assert "$jsonSchema" in json.dumps(metadata["options"]["validator"])
    assert (metadata["collectionName"], metadata["type"]) == ("c_books", "collection")


async def test_g8_no_secret_is_in_a_backup_in_clear(used: Api, services: Services) -> None:
    await services.base.admin.change(used.project.id, {"SMTP_URL": "smtps://u:planted-secret@mail.example:465"})
    content, _ = await take(portable_of(services), used.project.id)
    with opened(content) as backup:
        project = backup.read_text("project.json")
        everything = b"".join(b"".join(backup.read(name)) for name in backup.manifest.members)
    assert json.loads(project)["settings"]["SMTP_URL"]
    for planted in (b"planted-secret", used.key.encode(), used.publishable_key.encode(), b'"d":', b"correct horse"):
        assert planted not in content + everything


async def test_what_is_left_out_is_named(used: Api, services: Services) -> None:
    content, taken = await take(portable_of(services), used.project.id, "files", "events", "sessions")
    assert taken.manifest.left_out == ["events", "files", "sessions"]
    with opened(content) as backup:
        assert not {"events", "sessions", "files.files", "files.chunks"} & set(backup.collections)


async def test_files_of_no_record_and_variants_are_not_in_a_backup(used: Api, services: Services) -> None:
    database = used.database
    first = database["files.files"].find_one({}) or {}
    database["files.files"].insert_many([{**first, "_id": "x-1.png"}, {**first, "_id": f"{first['_id']}~1.webp"}])
    database["uploads"].insert_one({"files": ["x-1.png"], "condemned": True})
    content, _ = await take(portable_of(services), used.project.id)
    assert len(documents_of(content, "files.files")) == 2


async def test_a_damaged_file_is_a_warning(used: Api, services: Services) -> None:
    name = used.database["files.chunks"].find_one({})["files_id"]  # type: ignore[index]
    used.database["files.chunks"].delete_one({"files_id": name})
    _, taken = await take(portable_of(services), used.project.id)
    assert taken.manifest.warnings == [f"The file {name} is damaged: chunks of it are missing"]


async def test_a_file_of_many_chunks_is_whole(used: Api, services: Services) -> None:
    length = 255 * 1024
    content = [{"files_id": "y-1.png", "n": number, "data": b"y" * length} for number in (1, 0, 2)]
    used.database["files.chunks"].insert_many(content)
    file = {"_id": "y-1.png", "length": 3 * length, "chunkSize": length}
    used.database["files.files"].insert_one(file)
    taken_content, taken = await take(portable_of(services), used.project.id)
    assert taken.manifest.warnings == []
    assert [each["n"] for each in documents_of(taken_content, "files.chunks") if each["files_id"] == "y-1.png"] == [
        0,
        1,
        2,
    ]


async def test_two_backups_of_unchanged_records_have_the_same_digests(used: Api, services: Services) -> None:
    portable = portable_of(services)
    _, taken = await take(portable, used.project.id)
    assert await compare_with_project(portable, taken.manifest, used.project.id) == []
    await add_book(used, "Three")
    differing = await compare_with_project(portable, taken.manifest, used.project.id)
    assert {"p/c_books.bson.gz", "p/files.files.bson.gz"} <= set(differing)


async def test_a_backup_of_no_project_is_refused(services: Services, emptied: None) -> None:
    with pytest.raises(ProjectNotFound):
        await take(portable_of(services), "nope")


async def test_g13_two_backups_of_a_project_are_not_taken_at_once(used: Api, services: Services) -> None:
    portable = portable_of(services)
    inner = list[BaseException]()

    async def again() -> None:
        with pytest.raises(ProjectBusy) as caught:
            await take(portable, used.project.id)
        inner.append(caught.value)

    assert await portable.leases.run_alone(f"project/{used.project.id}", again)
    assert len(inner) == 1
    await take(portable, used.project.id)


async def test_an_entry_of_the_audit_log_has_the_digest(
    used: Api, services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    _, taken = await take(portable_of(services), used.project.id)
    await note_backup(portable_of(services), taken)
    entry = mongo[f"{database_prefix}system"]["audit"].find_one({"action": "backup.made"}) or {}
    assert entry["project_id"] == used.project.id
    assert taken.sha256 in entry["changes"]


class TestCatalog:
    """Row G2: a collection that was dropped meanwhile would be read as empty, without an error."""

    @pytest.mark.parametrize("remake", [False, True], ids=["dropped", "made again"])
    async def test_g2_a_collection_that_goes_while_it_is_copied_is_no_empty_member(
        self, used: Api, services: Services, monkeypatch: pytest.MonkeyPatch, remake: bool
    ) -> None:
        plain, reads = Moment.read, list[str]()

        def read(moment: Moment, collection: str, *match: Any) -> Any:
            reads.append(collection)
            if reads.count("aggregations") == 1 and collection == "aggregations":
                used.database.drop_collection("c_books")
                if remake:
                    used.database["c_books"].insert_one({"_id": "new"})
            return plain(moment, collection, *match)

        monkeypatch.setattr(Moment, "read", read)
        content, taken = await take(portable_of(services), used.project.id)
        assert reads.count("aggregations") == 2
        assert taken.manifest.counts.get("c_books") == (1 if remake else None)
        with opened(content) as backup:
            assert ("c_books" in backup.collections) is remake

    async def test_g2_collections_that_change_in_each_attempt_end_it(
        self, used: Api, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = 0

        async def copy(database: ProjectDatabase, *others: Any) -> Any:
            nonlocal made
            made += 1
            raise CatalogChanged

        monkeypatch.setattr(taking, "copy_project", copy)
        with pytest.raises(ProjectBusy):
            await take(portable_of(services), used.project.id)
        assert made == taking.ATTEMPTS

    async def test_an_attempt_that_ended_leaves_no_directory_in_its_sink(
        self, used: Api, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`zipfile` writes one when an archive is closed, and what stdout had would look like a whole ZIP."""
        sink = io.BytesIO()

        async def copy(*_: Any) -> Any:
            raise CatalogChanged

        monkeypatch.setattr(taking, "copy_project", copy)
        with pytest.raises(ProjectBusy):
            await take_backup(portable_of(services), Wanted(used.project.id, attempts=1), lambda: sink)
        assert sink.getvalue().startswith(b"PK")
        assert not zipfile.is_zipfile(sink)


class TestHold:
    """A file that the moment has is there until its chunks were read."""

    async def test_a_replaced_file_stays_while_it_is_held(self, used: Api) -> None:
        database = used.project.database
        await begin_hold(database)
        await replace_cover(used)
        assert used.database["files.files"].count_documents({"filename": {"$ne": HOLD}}) == 3
        await end_hold(database)
        await sweep(database)
        assert used.database["files.files"].count_documents({}) == 2
        assert used.database["uploads"].count_documents({}) == 0

    async def test_a_collection_is_deleted_while_its_files_are_held(self, used: Api) -> None:
        database = used.project.database
        await begin_hold(database)
        assert (await used.request("DELETE", "/api/collections/books")).status_code == 204
        assert used.database["files.files"].count_documents({}) == 2
        await end_hold(database)
        await sweep(database)
        assert used.database["files.files"].count_documents({}) == 1

    async def test_a_hold_that_ran_out_holds_nothing_and_is_swept(self, used: Api) -> None:
        database = used.project.database
        await begin_hold(database)
        ended = [{"$set": {"until": {"$subtract": ["$$NOW", 1]}, "touched": {"$subtract": ["$$NOW", 4_000_000]}}}]
        used.database["uploads"].update_one({"_id": HOLD}, ended)
        await replace_cover(used)
        assert used.database["files.files"].count_documents({}) == 2
        await sweep(database)
        assert used.database["uploads"].count_documents({}) == 0

    async def test_a_backup_whose_hold_ran_out_begins_again(
        self, used: Api, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plain, attempts = Moment.read, list[int]()

        def read(moment: Moment, collection: str, *match: Any) -> Any:
            if collection == "aggregations":
                attempts.append(1)
                if len(attempts) == 1:
                    used.database["uploads"].delete_one({"_id": HOLD})
            return plain(moment, collection, *match)

        monkeypatch.setattr(Moment, "read", read)
        await take(portable_of(services), used.project.id)
        assert len(attempts) == 2

    async def test_g1_a_file_replaced_during_a_backup_is_in_it(
        self, used: Api, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The files of the moment are replaced before their chunks are read."""
        plain = Moment.read

        async def replace_and_read(moment: Moment, collection: str, *match: Any) -> Any:
            if collection == "files.files":
                await replace_cover(used)
            async for batch in plain(moment, collection, *match):
                yield batch

        before = {each["cover"] for each in covers(list(used.database["c_books"].find()))}
        monkeypatch.setattr(Moment, "read", replace_and_read)
        content, taken = await take(portable_of(services), used.project.id)
        assert taken.manifest.warnings == []
        assert {each["cover"] for each in covers(documents_of(content, "c_books"))} == before
        assert {each["files_id"] for each in documents_of(content, "files.chunks")} >= before


async def replace_cover(api: Api) -> None:
    """Replaces the file of the one document that has one."""
    document = api.database["c_books"].find_one({"data.cover": {"$exists": True}}) or {}
    content = form(file_part("cover", "b.svg", SVG))
    answer = await api.request("PATCH", f"{BOOKS}/{document['_id']}", content=content, headers=FORM_TYPE)
    assert answer.status_code == 200, answer.text


def covers(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each["data"] for each in documents if "cover" in each["data"]]
