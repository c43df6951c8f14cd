"""Data of the version before is read and migrated; a step runs in one process at a time, and again after it was cut short."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from bson import json_util
from pymongo import MongoClient

from faults.commands import Shell
from faults.waiting import until
from service.domain.projects.data_versions import Migrator
from service.services import Services
from service.storage import migrations
from service.storage.databases import ProjectDatabase
from service.storage.leases import Leases
from service.storage.migrations import PROJECT_MIGRATIONS, Migration, read_version, write_version
from tests.conftest import Api

DUMP = Path(__file__).parent / "dumps" / "version_0.json"
PASSWORD = "correct horse"


@pytest.fixture
def dump(mongo: MongoClient[Any], database_prefix: str, emptied: None) -> Iterator[dict[str, Any]]:
    """The data of the first version: two users who signed up, one with a file, one of a provider, and a collection."""
    found: dict[str, Any] = json_util.loads(DUMP.read_text())
    for name in ("system", "p_before"):
        for collection, stored in found[name].items():
            target = mongo[f"{database_prefix}{name}"]
            if name == "p_before":
                target.create_collection(collection, **stored["options"])
                for index in stored["indexes"]:
                    keys = list(index.pop("key").items())
                    target[collection].create_index(keys, **index)
            if stored["documents"]:
                target[collection].insert_many(stored["documents"])
    yield found
    mongo.drop_database(f"{database_prefix}p_before")


async def migrated(services: Services, project_id: str) -> None:
    """Returns when the worker, which has met the project, has migrated it."""
    database = services.base.databases.project(project_id).database

    async def is_migrated() -> bool:
        return await read_version(database) >= len(PROJECT_MIGRATIONS)

    await until(is_migrated)


async def assert_all_is_read(dump: dict[str, Any], http: httpx2.AsyncClient) -> None:
    key = {"x-api-key": dump["api_key"]}
    login = {"email": "ann@example.com", "password": PASSWORD}
    ann = (await http.post("/auth-collections/login", json=login, headers=key)).json()
    token = {"authorization": f"Bearer {ann['access_token']}"}
    profile = (await http.get("/auth-collections/user", headers=token)).json()
    picture = await http.get("/files/" + profile["data"]["picture"].rpartition("/")[2])
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    users = (await http.get("/auth-collections/users?populate=friend&sort_by=email", headers=key)).json()["users"]
    assert [user["email"] for user in users] == [f"{name}@example.com" for name in ("ann", "bob", "cleo")]
    assert users[1]["data"]["friend"]["email"] == "ann@example.com"
    refused = {"email": "cleo@example.com", "password": "cleo@example.com"}
    assert (await http.post("/auth-collections/login", json=refused, headers=key)).status_code == 401
    documents = (await http.get("/api/collections/movies/documents?populate=seen_by", headers=key)).json()["documents"]
    assert [each["data"]["title"] for each in documents] == ["Alien", "Brazil"]
    assert documents[0]["data"]["seen_by"]["email"] == "ann@example.com"


async def test_data_of_the_version_before_is_read_and_migrated(
    dump: dict[str, Any], http: httpx2.AsyncClient, services: Services
) -> None:
    await assert_all_is_read(dump, http)
    await migrated(services, "before")
    await assert_all_is_read(dump, http)
    database = services.base.databases.project("before")
    assert await database.missing_indexes() == []
    assert all("files" in user for user in await database.database["users"].find().to_list())
    assert "oauth_id" not in await database.database["users"].index_information()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the only two steps."""
    done: list[str] = []

    async def first(project: ProjectDatabase) -> None:
        done.append("first")
        await asyncio.sleep(0.1)

    async def second(project: ProjectDatabase) -> None:
        done.append("second")
        if done.count("second") == 1:
            raise KeyError

    monkeypatch.setattr(migrations, "PROJECT_MIGRATIONS", (Migration("one", first), Migration("two", second)))
    return done


async def test_a_step_is_run_by_one_process_at_a_time_and_what_failed_begins_again(
    api: Api, services: Services, steps: list[str]
) -> None:
    await write_version(api.project.database.database, 0)
    workers = [Migrator(services.base.migrations) for _ in range(4)]
    for worker in workers:
        worker.note(api.project.id)
    ended = await asyncio.gather(*(worker.run_pending() for worker in workers), return_exceptions=True)
    assert steps == ["first", "second", "second"]
    assert sorted(type(each).__name__ for each in ended) == ["KeyError", "NoneType", "NoneType", "NoneType"]
    assert await read_version(api.project.database.database) == 2


async def test_a_project_that_cannot_be_migrated_does_not_stop_the_others(
    api: Api, services: Services, steps: list[str]
) -> None:
    await write_version(api.project.database.database, 1)
    worker = Migrator(services.base.migrations)
    worker.note(api.project.id)
    worker.note("nobody")
    with pytest.raises(KeyError):
        await worker.run_pending()
    await worker.run_pending()
    assert steps == ["second", "second"]


async def test_what_is_in_the_present_form_costs_a_worker_one_read(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Leases, "run_alone", None)  # calling it fails
    assert await services.base.migrations.migrate_project(api.project.id) == []


async def test_a_database_that_is_being_deleted_is_not_made_again(
    api: Api, services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    mongo[f"{database_prefix}system"]["projects"].update_one({}, {"$set": {"deleting": 1}})
    await api.project.database.drop()
    assert await services.base.migrations.migrate_project(api.project.id) == []
    assert not await api.project.database.is_there()


def test_check_only_reads_and_migrate_mends(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p")
    project = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]
    project["users"].drop_index("data")
    project["files.chunks"].drop_indexes()
    project["migrations"].delete_many({})
    first = shell.run("check")
    assert first.returncode == 1
    assert "WRONG project p: lacks the indexes users.data, files.chunks.files_id_1_n_1" in first.stdout
    assert (
        f"is in the form of version 0 of {len(PROJECT_MIGRATIONS)} (mend it by `auth-collections migrate`)"
        in first.stdout
    )
    assert "data" not in project["users"].index_information()
    made = shell.run("migrate")
    assert "system: nothing to do" in made.stdout
    assert "project p: made the index users.data, the index files.chunks.files_id_1_n_1" in made.stdout
    assert shell.run("check").returncode == 0
    assert shell.run("migrate").stdout == "system: nothing to do\nproject p: nothing to do\n"
    project["migrations"].update_one({}, {"$set": {"number": 99}})
    assert "project p: was written by a newer version" in shell.run("check").stdout
