"""Deleting a project while others still write to it: nothing of it is left, and nothing comes back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from faults.waiting import until, waiting_for
from service.domain.projects import deletion, lookup
from service.domain.projects.admin import ProjectAdmin
from service.errors import Conflict, InvalidApiKey, ProjectNotFound
from service.services import Services
from service.storage.files import uploads
from service.storage.leases import LEADER, Leases
from service.storage.projects import ProjectStore
from service.web.http import forms
from tests.conftest import Api, MakeApi

BOUNDARY = "frontier"
# More than what is stored at once.
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 2_400_000
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


@pytest.fixture(autouse=True)
async def quiet(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server runs, and so little time must be quiet."""
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 1.0)
    monkeypatch.setattr(deletion, "LOOK_SECONDS", 0.1)
    await Leases(services.base.databases).take(LEADER, "another")


def everything(mongo: MongoClient[Any], prefix: str, project_id: str) -> list[str]:
    """The places of all records of a project, but for the audit log, which stays."""
    named = {"$or": [{"project_id": project_id}, {"_id": {"$regex": f"^{project_id}"}}]}
    system = mongo[f"{prefix}system"]
    found = [name for name in system.list_collection_names() if name != "audit" and system[name].find_one(named)]
    return found + [name for name in mongo.list_database_names() if name == f"{prefix}p_{project_id}"]


async def form(go_on: asyncio.Event, begun: asyncio.Event) -> AsyncIterator[bytes]:
    data = b'{"email": "late@example.com", "password": "correct horse"}'
    yield f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="data"\r\n\r\n'.encode() + data + b"\r\n"
    head = f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="picture"; filename="a.png"\r\n'
    yield f"{head}content-type: image/png\r\n\r\n".encode() + PNG
    begun.set()
    await go_on.wait()
    yield b"\0" * 1_000 + f"\r\n--{BOUNDARY}--\r\n".encode()


async def test_n5_what_is_under_way_at_a_deletion_leaves_nothing(
    api: Api,
    admin: ProjectAdmin,
    services: Services,
    mongo: MongoClient[Any],
    database_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signup with a file meets the drop half-way; a sign-in and a document come when all was dropped already."""
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 1_000.0)
    go_on, begun = asyncio.Event(), asyncio.Event()
    body = {"name": "things", "schema": {"a": {"type": "integer"}}}
    assert (await api.request("POST", "/api/collections", json=body)).status_code == 201
    signup = asyncio.create_task(
        api.request("POST", "/auth-collections/signup", content=form(go_on, begun), headers=FORM)
    )
    await begun.wait()
    stored = mongo[f"{database_prefix}p_{api.project.id}"]
    await until(lambda: stored["uploads"].count_documents({}))
    deleting = asyncio.create_task(admin.delete(api.project.id))
    await until(lambda: not stored.list_collection_names())
    go_on.set()
    assert 400 <= (await signup).status_code <= 503
    # Writes of a worker that still remembers the project.
    await asyncio.sleep(0.3)
    await api.project.database.records("users").insert({"_id": "ann", "email": "ann@example.com"})
    await services.base.databases.system["counters"].insert_one({"_id": f"{api.project.id}/auth/1", "used": 1})
    await services.base.databases.system["sign_in_states"].insert_one({"project_id": api.project.id})
    assert not deleting.done()
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 0.5)
    await asyncio.wait_for(deleting, 60)
    assert everything(mongo, database_prefix, api.project.id) == []


async def test_n5_keys_and_tokens_are_refused_at_once_and_the_id_is_taken_until_the_end(
    api: Api, admin: ProjectAdmin, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 1_000.0)
    token = (await api.signup()).json()["access_token"]
    deleting = asyncio.create_task(admin.delete(api.project.id))

    async def is_refused() -> bool:
        return (await api.users()).status_code == 401

    await until(is_refused)
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 401
    with pytest.raises(Conflict, match="is being deleted"):
        await admin.create("Again", api.project.id, {})
    with pytest.raises(ProjectNotFound, match="is being deleted"):
        await admin.find(api.project.id)
    assert await admin.list() == []
    assert not deleting.done()
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 0.1)
    await asyncio.wait_for(deleting, 60)
    again, keys = await admin.create("Again", api.project.id, {})
    assert (await services.base.projects.by_api_key(keys.secret)).id == again.id


async def test_n5_a_deletion_that_was_interrupted_is_finished_by_the_job(
    make_api: MakeApi, admin: ProjectAdmin, services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    """Ctrl-C cancels the command. The other project stays as it is."""
    api, other = await make_api(), await make_api()
    await api.signup()
    await other.signup()
    deleting = asyncio.create_task(admin.delete(api.project.id))
    await until(lambda: services.base.databases.system["projects"].find_one({"deleting": {"$exists": True}}))
    deleting.cancel()
    await asyncio.gather(deleting, return_exceptions=True)
    (job,) = (job for job in services.jobs.jobs if job.name == "delete_projects")
    assert job.for_deployment
    async with waiting_for("the end of the deletion"):
        while everything(mongo, database_prefix, api.project.id):
            await job.run()
            await asyncio.sleep(0.1)
    assert (await other.users()).json()["total"] == 1


async def test_n5_what_comes_back_begins_the_wait_anew(
    api: Api, services: Services, mongo: MongoClient[Any], database_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that was let in late writes late, and another may still follow it."""
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 1_000.0)
    projects = mongo[f"{database_prefix}system"]["projects"]
    store, leases = ProjectStore(services.base.databases), Leases(services.base.databases)
    deletions = deletion.Deletions(services.base.databases, store, leases, leader=LEADER)
    await services.base.admin.begin_deletion(api.project.id)

    async def advance() -> list[bool]:
        """The results of two steps, if no late write came for long enough before the first."""
        long_ago = datetime.now(UTC) - timedelta(seconds=2_000)
        projects.update_one({"_id": api.project.id}, {"$set": {"deleting": long_ago}})
        return [await deletions.advance(api.project.id) for _ in range(2)]

    assert await advance() == [False, False]
    await services.base.databases.system["counters"].insert_one({"_id": f"{api.project.id}/auth/1", "used": 1})
    assert await advance() == [False, False]
    await api.project.database.records("users").insert({"_id": "ann", "email": "ann@example.com"})
    assert await advance() == [False, False]
    assert await advance() == [True, True]
    assert everything(mongo, database_prefix, api.project.id) == []


async def test_n5_a_deletion_can_be_repeated_and_one_of_nobody_is_an_error(
    api: Api, admin: ProjectAdmin, mongo: MongoClient[Any], database_prefix: str
) -> None:
    await asyncio.gather(admin.delete(api.project.id), admin.delete(api.project.id))
    assert everything(mongo, database_prefix, api.project.id) == []
    with pytest.raises(ProjectNotFound, match="There is no project"):
        await admin.delete(api.project.id)


async def test_n5_two_that_drop_one_database_at_once_both_go_on(api: Api) -> None:
    """MongoDB refuses to drop a database that is being dropped (code 215, DatabaseDropPending)."""
    for number in range(5):
        await api.project.database.records("users").insert({"_id": f"u{number}", "email": f"u{number}@example.com"})
        await asyncio.gather(*(api.project.database.drop() for _ in range(8)))
        assert not await api.project.database.is_there()


async def test_n5_where_no_server_runs_nothing_is_waited_for(
    api: Api, admin: ProjectAdmin, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> bool:
        """Else the application of the tests has the lead again at once."""
        return False

    monkeypatch.setattr(deletion, "QUIET_SECONDS", 1_000.0)
    monkeypatch.setattr(Leases, "take", refuse)
    await services.base.databases.system["leases"].delete_many({})
    await asyncio.wait_for(admin.delete(api.project.id), 60)


async def test_n5_a_body_that_comes_slowly_looks_again_for_its_project(
    api: Api, admin: ProjectAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow sender, longer than a worker remembers a project, is refused before anything is written."""
    from service.web.http import json_body as web

    monkeypatch.setattr(web, "CACHE_SECONDS", 0)
    go_on, begun = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"email": "late@example.com",'
        begun.set()
        await go_on.wait()
        yield b'"password": "correct horse"}'

    headers = {"content-type": "application/json"}
    signup = asyncio.create_task(api.request("POST", "/auth-collections/signup", content=slow(), headers=headers))
    await begun.wait()
    await asyncio.wait_for(admin.delete(api.project.id), 60)
    go_on.set()
    assert (await signup).status_code == 404
    assert not await api.project.database.is_there()


@pytest.mark.parametrize("late", ["data", "file"])
async def test_n5_a_form_that_comes_slowly_looks_again_for_its_project(
    api: Api, admin: ProjectAdmin, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """The first bytes of a file are written as they come, so it is looked before them."""
    monkeypatch.setattr(forms, "CACHE_SECONDS", 0)
    monkeypatch.setattr(uploads, "CONFIRM_AFTER", 0)
    go_on, begun = asyncio.Event(), asyncio.Event()
    whole = b"".join([piece async for piece in form(_set_event(), asyncio.Event())])
    place = {"data": whole.index(b"\r\n--"), "file": whole.index(PNG)}[late]
    rest = f"\r\n--{BOUNDARY}--\r\n".encode() if late == "data" else whole[place:]

    async def slow() -> AsyncIterator[bytes]:
        yield whole[:place]
        begun.set()
        await go_on.wait()
        yield rest

    signup = asyncio.create_task(api.request("POST", "/auth-collections/signup", content=slow(), headers=FORM))
    await begun.wait()
    await asyncio.wait_for(admin.delete(api.project.id), 60)
    go_on.set()
    assert (await signup).status_code == 404
    assert not await api.project.database.is_there()


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def test_n5_keys_and_tokens_are_refused_from_the_first_write(api: Api, services: Services) -> None:
    """Before anything is removed."""
    token = (await api.signup()).json()["access_token"]
    await services.base.admin.begin_deletion(api.project.id)
    assert (await api.users()).status_code == 401
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 401
    assert api.database["users"].count_documents({}) == 1


async def test_n5_a_key_is_not_found_again(api: Api, admin: ProjectAdmin, services: Services) -> None:
    await admin.delete(api.project.id)
    with pytest.raises(InvalidApiKey):
        await services.base.projects.by_api_key(api.key)
    assert lookup.CACHE_SECONDS + deletion.REQUEST_SECONDS <= 40
