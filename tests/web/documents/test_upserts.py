"""Upserts by a unique field: created or changed in one step, however many do the same."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.conftest import Api, CommandRecorder
from tests.declared import added, declare, find, one, violations
from tests.web.rules.conftest import Person, guest_of, save, server_of, sign_up

SCHEMA: dict[str, Any] = {
    "sku": {"type": "string", "unique": True, "nullable": True},
    "at": {"type": "datetime", "unique": True},
    "name": {"type": "string", "required": True, "max_length": 9},
    "stock": {"type": "integer", "default": 7},
    "note": {"type": "string"},
    "place": {"type": "object", "properties": {"city": {"type": "string"}}},
}
PATH = "/api/collections/things/documents"


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def upsert(api: Api, data: Any, query: str = "?by=sku") -> httpx2.Response:
    return await api.request("PUT", f"{PATH}{query}", json={"data": data})


@pytest.mark.parametrize("mode", ["", "&on_conflict=replace", "&on_conflict=merge", "&on_conflict=ignore"])
async def test_what_is_not_there_is_created(things: Api, mode: str) -> None:
    sent = {"sku": "a", "name": "x", "place": {"city": "Bonn"}}
    answer = await upsert(things, sent, f"?by=sku{mode}")
    assert (answer.status_code, answer.headers["etag"]) == (201, '"v1"'), answer.text
    body = answer.json()
    assert body["data"] == {**sent, "stock": 7}
    assert body["created_at"] == body["updated_at"]
    assert (await one(things, "GET", body["id"])).json() == body


@pytest.mark.parametrize(
    ("mode", "expected", "version"),
    [
        ("", {"sku": "a", "name": "y", "stock": 7}, 2),
        ("&on_conflict=replace", {"sku": "a", "name": "y", "stock": 7}, 2),
        ("&on_conflict=merge", {"sku": "a", "name": "y", "note": "n", "stock": 1}, 2),
        ("&on_conflict=ignore", {"sku": "a", "name": "x", "note": "n", "stock": 1}, 1),
    ],
)
async def test_what_is_there_is_changed(things: Api, mode: str, expected: dict[str, Any], version: int) -> None:
    id_ = await added(things, {"sku": "a", "name": "x", "note": "n", "stock": 1})
    before = (await one(things, "GET", id_)).json()
    answer = await upsert(things, {"sku": "a", "name": "y"}, f"?by=sku{mode}")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["data"], body["version"]) == (expected, version)
    assert (body["id"], body["created_at"]) == (id_, before["created_at"])
    assert (await find(things)).json()["total"] == 1


async def test_a_date_is_found_as_it_is_stored(things: Api) -> None:
    id_ = await added(things, {"at": "2026-01-31T12:00:00Z", "name": "x"})
    answer = await upsert(things, {"at": "2026-01-31T14:00:00+02:00", "name": "y"}, "?by=at")
    assert (answer.status_code, answer.json()["id"]) == (200, id_)


REFUSED: list[tuple[str, Any, list[tuple[Any, ...]]]] = [
    ("", {"sku": "a"}, [("query", "by", "missing")]),
    ("?by=name", {"name": "a"}, [("query", "by", "value_error")]),
    ("?by=unknown", {"name": "a"}, [("query", "by", "value_error")]),
    ("?by=sku&on_conflict=x", {"sku": "a"}, [("query", "on_conflict", "enum")]),
    ("?by=sku&limit=1", {"sku": "a"}, [("query", "limit", "extra_forbidden")]),
    ("?by=sku", {"name": "a"}, [("body", "data", "sku", "missing")]),
    ("?by=sku", {"name": "a", "sku": None}, [("body", "data", "sku", "value_error")]),
    ("?by=sku", {"name": "a", "sku": 1}, [("body", "data", "sku", "string_type")]),
    ("?by=sku", {"name": "a", "sku": {"$gt": ""}}, [("body", "data", "sku", "$gt", "field_name")]),
    ("?by=sku", {"name": "a", "sku": ["a"]}, [("body", "data", "sku", "string_type")]),
    ("?by=sku", {"sku": "b"}, [("body", "data", "name", "missing")]),
    ("?by=sku", {"sku": "a", "name": "x" * 10}, [("body", "data", "name", "string_too_long")]),
    ("?by=sku&on_conflict=merge", {"sku": "a", "stock": "x"}, [("body", "data", "stock", "int_type")]),
]


async def test_what_is_refused(things: Api) -> None:
    await added(things, {"sku": "a", "name": "x"})
    before = (await find(things)).json()
    for query, data, expected in REFUSED:
        assert violations(await upsert(things, data, query)) == expected, (query, data)
    assert (await find(things)).json() == before
    await added(things, {"at": "2026-01-31", "name": "x"})
    taken = await upsert(things, {"sku": "a", "at": "2026-01-31", "name": "x"})
    assert (taken.status_code, taken.json()["code"]) == (409, "duplicate_value")
    merged = await upsert(things, {"sku": "a", "note": "m"}, "?by=sku&on_conflict=merge")
    assert (merged.status_code, merged.json()["data"]["name"]) == (200, "x")


async def test_a_precondition_is_not_passed_over(things: Api) -> None:
    answer = await things.request(
        "PUT", f"{PATH}?by=sku", json={"data": {"sku": "a", "name": "x"}}, headers={"if-match": '"v1"'}
    )
    assert violations(answer) == [("header", "if-match", "extra_forbidden")]


async def test_an_upsert_is_one_round_trip(things: Api, commands: CommandRecorder) -> None:
    await find(things)
    commands.commands.clear()
    for status in (201, 200):
        assert (await upsert(things, {"sku": "a", "name": "x"})).status_code == status
    assert commands.names == ["findAndModify", "findAndModify"]


async def test_racing_upserts_are_all_applied_to_one_document_each(things: Api) -> None:
    sent = [({"sku": f"s{n % 4}", "name": f"n{n}"}, mode) for n in range(40) for mode in ("replace", "merge")]
    answers = await asyncio.gather(*(upsert(things, data, f"?by=sku&on_conflict={mode}") for data, mode in sent))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), statuses.count(200)) == (4, 76)
    documents = (await find(things)).json()["documents"]
    assert sorted(each["data"]["sku"] for each in documents) == ["s0", "s1", "s2", "s3"]
    assert [each["version"] for each in documents] == [20] * 4


OWNED = {"owner_id_eq": "$user.id"}


async def ruled(api: Api, **rules: Any) -> tuple[Person, Person]:
    schema = {**SCHEMA, "owner_id": {"type": "reference", "collection": "users"}}
    await declare(api, schema)
    fields = {"owner_id": {"set": "$user.id", "write": "create"}}
    document = {"read": OWNED, "create": "users", "update": OWNED, "fields": fields, **rules}
    saved = await save(api, {"collections": {"things": document}})
    assert saved.status_code == 200, saved.text
    return await sign_up(api, "ann"), await sign_up(api, "bob")


async def upsert_as(person: Person, data: Any, mode: str = "replace") -> Any:
    return await person.ask("PUT", f"{PATH}?by=sku&on_conflict={mode}", json={"data": data})


async def test_a_user_upserts_his_own(api: Api) -> None:
    ann, bob = await ruled(api)
    made = await upsert_as(ann, {"sku": "a", "name": "x", "note": "n"})
    assert (made.status_code, made.json()["data"]["owner_id"]) == (201, ann.id)
    for mode, name in (("replace", "y"), ("merge", "z"), ("ignore", "z")):
        changed = await upsert_as(ann, {"sku": "a", "name": name}, mode)
        assert (changed.status_code, changed.json()["data"]["name"]) == (200, name), changed.text
        assert changed.json()["data"]["owner_id"] == ann.id
    for mode in ("replace", "merge", "ignore"):
        taken = await upsert_as(bob, {"sku": "a", "name": "mine"}, mode)
        assert (taken.status_code, taken.json()["code"]) == (409, "duplicate_value")
    assert (await server_of(api).list("things")).json()["documents"][0]["data"]["name"] == "z"
    assert (await upsert_as(guest_of(api), {"sku": "b", "name": "x"})).status_code == 401


async def test_values_that_are_taken_cannot_be_guessed_by_upserts(api: Api) -> None:
    """As by creating: twenty an hour, and then every such write is refused."""
    ann, bob = await ruled(api)
    await upsert_as(ann, {"sku": "a", "name": "x"})
    statuses = [(await upsert_as(bob, {"sku": "a", "name": "x"})).status_code for _ in range(21)]
    assert statuses == [409] * 20 + [429]
    assert (await upsert_as(bob, {"sku": "b", "name": "x"})).status_code == 429


async def test_who_may_only_create_changes_nothing(api: Api) -> None:
    ann, _ = await ruled(api, update=False)
    assert (await upsert_as(ann, {"sku": "a", "name": "x"})).status_code == 201
    assert (await upsert_as(ann, {"sku": "a", "name": "y"})).status_code == 403
    assert (await upsert_as(ann, {"sku": "a", "name": "y"}, "ignore")).json()["data"]["name"] == "x"


async def test_a_hidden_field_is_none_to_upsert_by(api: Api) -> None:
    ann, _ = await ruled(api, fields={"sku": {"read": {"$user.roles_eq": "admin"}}})
    assert violations(await upsert_as(ann, {"sku": "a", "name": "x"})) == [("query", "by", "value_error")]


async def test_racing_upserts_of_a_user_make_one_document(api: Api) -> None:
    ann, _ = await ruled(api)
    answers = await asyncio.gather(*(upsert_as(ann, {"sku": "a", "name": f"n{n}"}) for n in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert (await server_of(api).list("things")).json()["total"] == 1


@pytest.mark.parametrize(
    ("kind", "first", "again"),
    [("integer", 5.0, 5), ("number", 5, 5.0), ("datetime", "2026-01-31T14:00:00+02:00", "2026-01-31T12:00:00Z")],
)
async def test_a_user_upserts_by_the_value_as_it_is_stored(api: Api, kind: str, first: Any, again: Any) -> None:
    await declare(api, {"by": {"type": kind, "unique": True}})
    await save(api, {"collections": {"things": {"read": "users", "create": "users", "update": "users"}}})
    ann = await sign_up(api, "ann")
    for sent, status in ((first, 201), (first, 200), (again, 200)):
        answer = await ann.ask("PUT", f"{PATH}?by=by", json={"data": {"by": sent}})
        assert answer.status_code == status, answer.text
    refused = await ann.ask("PUT", f"{PATH}?by=by", json={"data": {"by": [1]}})
    assert refused.status_code == 422
