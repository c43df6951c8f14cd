"""THREATS row V17: a worker leaves data alone that a newer version of the service has written."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymongo import MongoClient
from pymongo.database import Database

from faults.commands import Shell, free_port
from service.services import Services
from tests.conftest import Api, MakeApi

NEWER = 99


@contextmanager
def newer(database: Database[dict[str, Any]]) -> Iterator[None]:
    """Meanwhile the data is that of a newer version."""
    versions = database["migrations"]
    before = versions.find_one({"_id": "version"}) or {"number": 0}
    versions.update_one({"_id": "version"}, {"$set": {"number": NEWER}}, upsert=True)
    try:
        yield
    finally:
        versions.update_one({"_id": "version"}, {"$set": {"number": before["number"]}})


def test_v17_neither_serve_nor_a_command_begins_on_newer_data(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p")
    before = shell.json("project", "show", "p")
    with newer(mongo[f"{shell.environment['DATABASE_PREFIX']}system"]):
        for command in (["serve", "--port", str(free_port())], ["project", "set", "p", "TIER=pro"], ["migrate"]):
            refused = shell.run(*command)
            assert refused.returncode == 1
            assert refused.stderr.splitlines()[-1] == (
                "auth-collections: a newer version of the service has written the system's database; "
                "run that version, or put back a backup that this one has written"
            )
    assert shell.json("project", "show", "p") == before


async def test_v17_a_running_worker_stops_writing_and_goes_on_reading(
    api: Api, services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    assert (await api.signup()).status_code == 201
    try:
        with newer(mongo[f"{database_prefix}system"]):
            await services.base.versions.look()
            ready = await api.http.get("/health/ready")
            refused = await api.signup("bob@example.com")
            read = await api.users()
            assert (await api.http.get("/health/live")).status_code == 200
    finally:
        await services.base.versions.look()
    for answer in (ready, refused):
        assert (answer.status_code, answer.json()["code"]) == (503, "newer_data")
        assert int(answer.headers["retry-after"]) >= 1
    assert (read.status_code, read.json()["total"]) == (200, 1)
    assert api.database["users"].count_documents({}) == 1
    assert (await api.http.get("/health/ready")).status_code == 200
    assert (await api.signup("bob@example.com")).status_code == 201


async def test_v17_a_project_of_a_newer_version_is_closed_and_no_other(
    make_api: MakeApi, services: Services, api: Api
) -> None:
    other = await make_api()
    with newer(api.database):
        services.base.projects.forget_all()
        for answer in (await api.users(), await api.signup()):
            assert (answer.status_code, answer.json()["code"]) == (503, "newer_data")
        assert (await other.signup()).status_code == 201
        assert (await api.http.get("/health/ready")).status_code == 200
        assert api.database["users"].count_documents({}) == 0
    assert (await api.users()).status_code == 200
