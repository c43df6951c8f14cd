"""Bulk writes: what is counted is what is changed, in chunks that happen whole or not at all."""

from typing import Any

import httpx2
import pytest

from service.services import Services
from tests.conftest import Api
from tests.declared import add, added, declare, violations
from tests.web.rules.conftest import guest_of, save, sign_up

SCHEMA = {
    "n": {"type": "integer", "max": 100},
    "sku": {"type": "string", "unique": True},
    "status": {"type": "string", "default": "draft"},
    "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
    "owner_id": {"type": "reference", "collection": "users"},
    "part_of_id": {"type": "reference", "collection": "things"},
}
COLLECTION = "/api/collections/things"


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def fill(api: Api, count: int) -> None:
    body = "".join(f'{{"data": {{"n": {number}}}}}\n' for number in range(count))
    headers = {"content-type": "application/x-ndjson"}
    answer = await api.request("POST", f"{COLLECTION}/import", content=body, headers=headers)
    assert answer.json()["created"] == count


async def bulk(api: Api, action: str, body: Any, query: str = "") -> httpx2.Response:
    return await api.request("POST", f"{COLLECTION}/{action}{query}", json=body)


def stored(api: Api, **match: Any) -> int:
    return api.database["c_things"].count_documents(match)


async def test_a_dry_run_counts_and_changes_nothing(things: Api) -> None:
    await fill(things, 30)
    for action, body in (("update", {"where": {"n_gte": 10}, "data": {"status": "done"}}), ("delete", {"where": {}})):
        answer = await bulk(things, action, body, "?dry_run=true")
        matched = 20 if action == "update" else 30
        assert answer.status_code == 200
        assert answer.json().keys() == {"matched", "sample"}
        assert answer.json()["matched"] == matched
        first = things.database["c_things"].find({"data.n": {"$gte": 30 - matched}}).sort("_id").limit(10)
        assert answer.json()["sample"] == [each["_id"] for each in first]
    assert stored(things, **{"data.status": "draft", "version": 1}) == 30


async def test_an_update_changes_what_was_expected(things: Api) -> None:
    await fill(things, 5)
    body = {
        "where": {"n_gte": 3},
        "data": {"status": "done"},
        "increment": {"n": 10},
        "push": {"tags": "a"},
        "expect": 2,
    }
    answer = await bulk(things, "update", body)
    assert answer.json() == {"matched": 2, "changed": 2, "next": None}
    changed = list(things.database["c_things"].find({"data.status": "done"}).sort("data.n"))
    assert [(each["data"]["n"], each["data"]["tags"], each["version"]) for each in changed] == [
        (13, ["a"], 2),
        (14, ["a"], 2),
    ]
    assert all(each["updated_at"] > each["created_at"] for each in changed)
    assert stored(things, version=1) == 3


async def test_a_deletion_takes_what_was_expected(things: Api) -> None:
    await fill(things, 5)
    answer = await bulk(things, "delete", {"where": {"not": {"n_in": [0, 1]}}, "expect": 3})
    assert answer.json() == {"matched": 3, "changed": 3, "next": None}
    assert sorted(each["data"]["n"] for each in things.database["c_things"].find()) == [0, 1]


async def test_conditions_may_follow_relations(things: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        id_ = await added(things, {"sku": f"a{number}", "n": number})
        await add(things, {"part_of_id": id_})
    few = await bulk(things, "update", {"where": {"part_of.sku_eq": "a1"}, "data": {"n": 7}, "expect": 1})
    assert few.json()["changed"] == 1
    monkeypatch.setattr("service.query.commands.PROBE_LIMIT", 1)
    many = await bulk(things, "delete", {"where": {"part_of.n_gte": 0}, "expect": 3})
    assert many.json() == {"matched": 3, "changed": 3, "next": None}
    assert stored(things) == 3


@pytest.mark.parametrize("action", ["update", "delete"])
async def test_another_number_than_expected_changes_nothing(things: Api, action: str) -> None:
    await fill(things, 3)
    body = {"where": {"n_gt": 0}, "expect": 3} | ({"data": {"n": 5}} if action == "update" else {})
    answer = await bulk(things, action, body)
    assert answer.status_code == 409
    assert answer.json() == {
        "detail": "There are 2 such documents; nothing was changed",
        "code": "count_changed",
        "matched": 2,
    }
    assert stored(things, version=1) == 3


async def test_many_are_changed_in_calls_that_go_on(things: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.documents.bulk.CHUNK", 10)
    monkeypatch.setattr("service.domain.documents.bulk.MAX_BULK", 20)
    await fill(things, 45)
    body = {"where": {}, "multiply": {"n": 2}, "expect": 45}
    seen, query = [], ""
    while True:
        answer = (await bulk(things, "update", body, query)).json()
        seen.append((answer["matched"], answer["changed"]))
        if answer["next"] is None:
            break
        query = f"?cursor={answer['next']}"
    assert seen == [(45, 20), (25, 20), (5, 5)]
    assert sorted(each["data"]["n"] for each in things.database["c_things"].find()) == [n * 2 for n in range(45)]
    other = await bulk(things, "update", {**body, "multiply": {"n": 3}}, query)
    assert violations(other)[0][:2] == ("query", "cursor")


async def test_a_chunk_that_breaks_the_schema_is_unchanged(things: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.documents.bulk.CHUNK", 10)
    await fill(things, 20)
    body = {"where": {}, "increment": {"n": 85}, "expect": 20}
    assert violations(await bulk(things, "update", body)) == [("body", "data", "n", "less_than_equal")]
    values = [each["data"]["n"] for each in things.database["c_things"].find().sort("_id")]
    assert values == [*(n + 85 for n in range(10)), *range(10, 20)]


async def test_an_operator_that_does_not_fit_one_document_changes_none(things: Api) -> None:
    await fill(things, 3)
    odd = {"$set": {"data.n": "two"}}
    things.database["c_things"].update_one({"data.n": 1}, odd, bypass_document_validation=True)
    answer = await bulk(things, "update", {"where": {}, "increment": {"n": 1}, "expect": 3})
    assert violations(answer)[0][:3] == ("body", "increment", "n")
    assert "in document" in answer.json()["detail"][0]["msg"]
    assert stored(things, version=1) == 3


async def test_a_unique_value_cannot_be_given_to_two(things: Api) -> None:
    await fill(things, 2)
    answer = await bulk(things, "update", {"where": {}, "data": {"sku": "a"}, "expect": 2})
    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_value")
    assert stored(things, version=1) == 2


REFUSED: list[tuple[str, Any, str, tuple[Any, ...]]] = [
    ("update", {"data": {"n": 1}, "expect": 1}, "", ("body", "where", "missing")),
    ("update", {"where": {}, "data": {"n": 1}}, "", ("body", "expect", "missing")),
    ("delete", {"where": {}}, "", ("body", "expect", "missing")),
    ("delete", {"where": {}, "data": {}}, "", ("body", "data", "extra_forbidden")),
    ("delete", {"where": {}, "expect": -1}, "", ("body", "expect", "greater_than_equal")),
    ("delete", {"where": {}, "expect": 1.5}, "", ("body", "expect", "int_type")),
    ("update", {"where": {}, "expect": 1}, "", ("body", "data", "missing")),
    (
        "update",
        {"where": {}, "expect": 1, "data": {"more": 1}},
        "",
        ("body", "data", "more", "extra_forbidden"),
    ),
    ("update", {"where": {}, "expect": 1, "increment": {"status": 1}}, "", ("body", "increment", "status")),
    ("update", {"where": {}, "expect": 1, "push": {"tags": "A"}}, "", ("body", "push", "tags")),
    ("update", {"where": {}, "expect": 1, "data": {"owner_id": "0" * 24}}, "", ("body", "data", "owner_id")),
    ("delete", {"where": {"more_eq": 1}, "expect": 1}, "", ("body", "where", "more_eq")),
    ("delete", {"where": {}, "expect": 1}, "?cursor=x", ("query", "cursor")),
    ("delete", {"where": {}, "expect": 1}, "?dry_run=yes", ("query", "dry_run", "bool_parsing")),
    ("delete", {"where": {}, "expect": 1}, "?limit=1", ("query", "limit", "extra_forbidden")),
]


async def test_a_bad_bulk_write_is_refused(things: Api) -> None:
    await fill(things, 1)
    for action, body, query, expected in REFUSED:
        answer = await bulk(things, action, body, query)
        assert expected == violations(answer)[0][: len(expected)], (action, body, query, answer.json())
    assert stored(things, version=1) == 1


async def test_only_servers_write_in_bulk(things: Api) -> None:
    await save(things, {"collections": {"things": {"read": "anyone", "update": "anyone", "delete": "anyone"}}})
    user, guest = await sign_up(things, "ann"), guest_of(things)
    for path in ("update", "delete"):
        by_user = await user.ask("POST", f"{COLLECTION}/{path}", json={"where": {}})
        assert (by_user.status_code, by_user.json()["code"]) == (401, "invalid_api_key")
        by_guest = await guest.ask("POST", f"{COLLECTION}/{path}", json={"where": {}})
        assert (by_guest.status_code, by_guest.json()["code"]) == (403, "secret_key_required")


async def test_an_unknown_collection_has_no_bulk_writes(api: Api) -> None:
    answer = await bulk(api, "delete", {"where": {}, "expect": 0})
    assert answer.json()["code"] == "collection_not_found"


async def test_n7_bulk_writes_wait_for_no_place(things: Api, services: Services) -> None:
    shares = services.documents.transfers
    async with shares.take(things.project.id), shares.take(things.project.id):
        answer = await bulk(things, "delete", {"where": {}, "expect": 0})
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert (await bulk(things, "delete", {"where": {}, "expect": 0})).json()["changed"] == 0
