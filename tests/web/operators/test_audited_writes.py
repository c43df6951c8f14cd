"""Writes of data by operators: an entry begins before each, and gets its status, with names of fields and no values."""

from typing import Any

import pytest

from service.domain.audit.audit import Audit
from service.errors import Unavailable
from service.services import Services
from tests.conftest import Api
from tests.web.operators.conftest import Console, Join

SCHEMA = {"name": "notes", "schema": {"text": {"type": "string"}, "stars": {"type": "integer"}}}


@pytest.fixture
async def place(owner: Console, api: Api) -> str:
    path = f"/admin/v1/projects/{api.project.id}"
    assert (await owner.post(f"{path}/api/collections", SCHEMA)).status_code == 201
    return path


async def entries(owner: Console, place: str) -> list[dict[str, Any]]:
    """Those of writes of data, the oldest first."""
    found = (await owner.get(f"{place}/audit?limit=200")).json()["entries"]
    return [entry for entry in reversed(found) if entry["action"].startswith("data.")]


async def test_each_write_has_its_status_and_the_names_of_its_fields(owner: Console, place: str) -> None:
    documents = f"{place}/api/collections/notes/documents"
    made = (await owner.post(documents, {"data": {"text": "hunter2", "stars": 1}})).json()
    await owner.request("PATCH", f"{documents}/{made['id']}", json={"data": {"stars": 2}})
    refused = await owner.post(documents, {"data": {"stars": "many"}})
    assert refused.status_code == 422
    stale = await owner.request(
        "PATCH", f"{documents}/{made['id']}", json={"data": {"stars": 3}}, headers={"if-match": '"v9"'}
    )
    assert stale.status_code == 412
    await owner.delete(f"{documents}/{made['id']}")
    found = await entries(owner, place)
    assert [(each["action"], each["status"]) for each in found] == [
        ("data.createDocument", 201),
        ("data.mergeDocument", 200),
        ("data.createDocument", 422),
        ("data.mergeDocument", 412),
        ("data.deleteDocument", 204),
    ]
    assert [[change["path"] for change in each["changes"]] for each in found] == [
        [["data", "stars"], ["data", "text"]],
        *([["data", "stars"]],) * 3,
        [],
    ]
    assert found[1]["target"] == {"type": "document", "id": made["id"], "name": "notes"}
    assert found[0]["target"] == {"type": "collection", "id": "notes", "name": None}
    assert all(change["before"] is change["after"] is None for each in found for change in each["changes"])
    assert "hunter2" not in str(found)
    assert {each["actor"]["name"] for each in found} == {"Olga"}


async def test_reads_and_dry_runs_have_none_and_exports_have_one(owner: Console, place: str) -> None:
    collection = f"{place}/api/collections/notes"
    await owner.get(f"{collection}/documents")
    await owner.post(f"{collection}/query", {})
    await owner.post(f"{collection}/update?dry_run=true", {"where": {}, "data": {"stars": 1}})
    assert await entries(owner, place) == []
    assert (await owner.get(f"{collection}/export")).status_code == 200
    assert [(each["action"], each["status"]) for each in await entries(owner, place)] == [("data.exportDocuments", 200)]


async def test_users_are_data_too(owner: Console, api: Api, place: str) -> None:
    users = f"{place}/auth-collections/users"
    body = {"email": "ann@example.com", "password": "correct horse", "data": {"name": "Ann"}}
    made = await owner.post(users, body)
    assert made.status_code == 201, made.text
    await owner.delete(f"{users}/{made.json()['id']}")
    first, second = await entries(owner, place)
    assert (first["status"], first["target"]["type"], first["changes"][0]["path"]) == (201, "users", ["data", "name"])
    assert (second["status"], second["target"]["type"], second["target"]["id"]) == (204, "user", made.json()["id"])
    assert "correct horse" not in str((first, second))


async def test_what_is_refused_before_the_handler_has_none(join: Join, owner: Console, api: Api, place: str) -> None:
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    assert (await viewer.post(f"{place}/api/collections/notes/documents", {"data": {}})).status_code == 403
    assert await entries(owner, place) == []


async def test_c16_a_process_that_dies_in_between_leaves_begun(
    owner: Console, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(Audit, "finish", die)
        made = await owner.post(f"{place}/api/collections/notes/documents", {"data": {"text": "x"}})
    assert made.status_code == 201
    assert [each["status"] for each in await entries(owner, place)] == ["begun"]


async def test_there_is_no_write_where_its_entry_cannot_begin(
    owner: Console, api: Api, place: str, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> str:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(Audit, "begin", fail)
        refused = await owner.post(f"{place}/api/collections/notes/documents", {"data": {"text": "x"}})
    assert refused.status_code == 503
    assert (await api.request("GET", "/api/collections/notes/documents")).json()["total"] == 0


async def test_writes_by_a_secret_key_have_none(owner: Console, api: Api, place: str) -> None:
    made = await api.request("POST", "/api/collections/notes/documents", json={"data": {"text": "x"}})
    assert made.status_code == 201
    assert await entries(owner, place) == []
