"""Rows of a secret key below a project of the Admin API: the same answers, for operators with the access."""

from typing import Any

from tests.conftest import Api
from tests.web.operators.conftest import Browse, Console, Join


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


async def test_a_token_of_data_alone_reads_no_user_through_relations(owner: Console, api: Api, browse: Browse) -> None:
    user = (await api.signup("ann@example.com")).json()["user"]
    schema = {"text": {"type": "string"}, "author_id": {"type": "reference", "collection": "users"}}
    await owner.post(f"{place(api)}/api/collections", {"name": "notes", "schema": schema})
    notes = f"{place(api)}/api/collections/notes"
    await owner.post(f"{notes}/documents", {"data": {"text": "x", "author_id": user["id"]}})
    by_email = {"group": {"who": "author.email"}, "values": {"n": "count"}}
    saved = {"collection": "users", "aggregate": {"group": {"who": "email"}, "values": {"n": "count"}}}
    pipeline = browse()
    token = await owner.token(f"{api.project.id}:data:write", f"{api.project.id}:schema:write")
    pipeline.headers = {"authorization": f"Bearer {token}"}
    put = await pipeline.request("PUT", f"{place(api)}/api/aggregations/people", json=saved)
    assert put.status_code == 201, put.text
    where = {"author.email_eq": "ann@example.com"}
    reads: list[tuple[str, str, Any]] = [
        ("GET", f"{notes}/documents?populate=author", None),
        ("GET", f"{notes}/documents?populate=*", None),
        ("GET", f"{notes}/documents?author.email_eq=ann@example.com", None),
        ("GET", f"{notes}/distinct?field=text&author.email_eq=ann@example.com", None),
        ("GET", f"{notes}/export?author.email_eq=ann@example.com", None),
        ("POST", f"{notes}/query", {"where": where}),
        ("POST", f"{notes}/delete?dry_run=true", {"where": where}),
        ("POST", f"{notes}/aggregate", by_email),
        ("GET", f"{place(api)}/api/aggregations/people", None),
    ]
    for method, path, body in reads:
        refused = await pipeline.request(method, path, json=body)
        assert (refused.status_code, refused.json().get("needs")) == (403, f"{api.project.id}:users:read"), path
        allowed = await owner.request(method, path, json=body)
        assert allowed.status_code == 200, (path, allowed.text)
    plain = await pipeline.get(f"{notes}/documents")
    assert plain.json()["documents"][0]["data"]["author_id"] == user["id"]
    pipeline.headers["authorization"] = f"Bearer {await owner.token(f'{api.project.id}:*:read')}"
    assert (await pipeline.get(f"{notes}/documents?populate=author")).status_code == 200
