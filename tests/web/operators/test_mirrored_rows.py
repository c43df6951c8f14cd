"""Rows of a secret key below a project of the Admin API: the same answers, for operators with the access."""

from tests.conftest import Api
from tests.web.operators.conftest import Console, Join


def place(api: Api) -> str:
    return f"/admin/v1/projects/{api.project.id}"


async def test_an_operator_does_what_a_secret_key_does(owner: Console, api: Api) -> None:
    schema = {"name": "notes", "schema": {"text": {"type": "string"}}}
    made = await owner.post(f"{place(api)}/api/collections", schema)
    assert made.status_code == 201
    by_key = await api.request("GET", "/api/collections")
    by_operator = await owner.get(f"{place(api)}/api/collections")
    assert by_operator.json() == by_key.json()


async def test_a_refusal_names_the_missing_permission(join: Join, owner: Console, api: Api) -> None:
    await owner.post(f"{place(api)}/api/collections", {"name": "notes", "schema": {"text": {"type": "string"}}})
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    refused = await viewer.post(f"{place(api)}/api/collections/notes/documents", {"data": {"text": "x"}})
    assert refused.status_code == 403
    assert refused.json()["needs"] == f"{api.project.id}:data:write"
    assert (await viewer.get(f"{place(api)}/api/collections/notes/documents")).json()["total"] == 0


async def test_a_viewer_reads_the_contract_of_a_project(join: Join, api: Api) -> None:
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    for name in ("openapi.json", "types?language=python"):
        by_operator, by_key = await viewer.get(f"{place(api)}/{name}"), await api.request("GET", f"/api/{name}")
        assert by_operator.status_code == 200
        assert by_operator.text == by_key.text
