"""What conditions and changes cost: bounded, whatever they are made of."""

from typing import Any

import pytest

from service.bounds import MAX_DOCUMENT_BYTES, MAX_IN, MAX_LISTED, MAX_LOOKUPS
from service.domain.documents import changes
from service.query import images
from service.storage import operators
from tests.conftest import Api, CommandRecorder
from tests.declared import added, declare, violations
from tests.web.rules.conftest import save, sign_up

QUERY = "/api/collections/things/query"
DOCUMENTS = "/api/collections/things/documents"
BATCH = "/api/batch"
SCHEMA: dict[str, Any] = {
    "name": {"type": "string"},
    "note": {"type": "string"},
    "tags": {"type": "array"},
    "bag": {"type": "any"},
    "maker_id": {"type": "reference", "collection": "makers"},
}


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, {"name": {"type": "string"}}, "makers")
    await declare(api, SCHEMA)
    return api


def looked_for(count: int, word: str = "or") -> dict[str, Any]:
    return {word: [{"maker.name_icontains": f"a{number}"} for number in range(count)]}


@pytest.mark.parametrize("word", ["or", "and"])
async def test_conditions_search_for_related_records_a_few_times(
    things: Api, commands: CommandRecorder, word: str
) -> None:
    commands.commands.clear()
    assert (await things.request("POST", QUERY, json={"where": looked_for(MAX_LOOKUPS, word)})).status_code == 200
    assert len(commands.names) <= MAX_LOOKUPS + 2
    commands.commands.clear()
    refused = await things.request("POST", QUERY, json={"where": looked_for(MAX_LOOKUPS + 1, word)})
    assert violations(refused) == [("body", "where", "too_many")]
    assert commands.names == []


async def test_conditions_of_one_object_on_one_relation_are_one_search(things: Api, commands: CommandRecorder) -> None:
    conditions = {f"maker.name_{operator}": "a" for operator in ("ne", "icontains", "contains", "startswith", "eq")}
    commands.commands.clear()
    assert (await things.request("POST", QUERY, json={"where": conditions, "count": False})).status_code == 200
    assert commands.names == ["find", "find"]


@pytest.mark.parametrize("path", ["update", "delete"])
async def test_bulk_writes_search_no_more_often_than_lists(things: Api, path: str) -> None:
    change = {"data": {"name": "y"}} if path == "update" else {}
    body = {"where": looked_for(MAX_LOOKUPS + 1), "expect": 0, **change}
    answer = await things.request("POST", f"/api/collections/things/{path}", json=body)
    assert violations(answer) == [("body", "where", "too_many")]


def lists_of(values: int) -> dict[str, Any]:
    whole, rest = divmod(values, MAX_IN)
    return {"or": [{"name_in": ["a"] * count} for count in (*[MAX_IN] * whole, *([rest] if rest else []))]}


async def test_the_lists_of_a_query_have_so_many_values_together(things: Api) -> None:
    assert (await things.request("POST", QUERY, json={"where": lists_of(MAX_LISTED)})).status_code == 200
    refused = await things.request("POST", QUERY, json={"where": lists_of(MAX_LISTED + 1)})
    assert violations(refused) == [("body", "where", "too_many")]
    assert refused.json()["detail"][0]["msg"] == f"The lists of all conditions may have {MAX_LISTED:,} values together"


async def test_the_lists_of_a_rule_have_so_many_values_together(things: Api) -> None:
    for values, status in ((MAX_LISTED, 200), (MAX_LISTED + 1, 422)):
        answer = await save(things, {"collections": {"things": {"read": lists_of(values)}}})
        assert answer.status_code == status, answer.text


LARGE = "x" * 1_000_000


def in_batch(id_: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"operations": [{"op": "update", "collection": "things", "id": id_, **body}]}


async def test_a_document_does_not_grow_without_end_by_operators(things: Api) -> None:
    id_ = await added(things, {"tags": [], "bag": {}})
    path = f"{DOCUMENTS}/{id_}"
    for operator in ("push", "add"):
        assert (await things.request("PATCH", path, json={operator: {"tags": LARGE + operator}})).status_code == 200
    grown: dict[str, Any] = {"push": {"tags": LARGE}}
    many: dict[str, Any] = {"increment": {"bag." + "n" * 120 + f"{number:03}": 1 for number in range(1_000)}}
    added_once: dict[str, Any] = {"add": {"tags": LARGE}}
    for change in (grown, added_once, {"push": {"bag.list": {"each": [LARGE]}}}, many):
        refused = await things.request("PATCH", path, json=change)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large"), refused.text
        assert refused.json()["detail"] == changes.OUTGROWN
    together = await things.request("POST", BATCH, json=in_batch(id_, grown))
    assert (together.status_code, together.json()["code"], together.json()["operation"]) == (413, "too_large", 0)
    bulk = await things.request("POST", "/api/collections/things/update", json={"where": {}, "expect": 1, **grown})
    assert (bulk.status_code, bulk.json()["detail"]) == (413, f"{changes.OUTGROWN} (document {id_})")
    stored = (await things.request("GET", path)).json()
    assert (stored["version"], len(stored["data"]["tags"])) == (3, 2)
    # What takes away, and what adds little, goes on.
    for small in ({"unset": ["name"]}, {"pull": {"tags": "a"}}, {"data": {"name": "small"}}):
        assert (await things.request("PATCH", path, json=small)).status_code == 200


async def test_add_and_pull_compare_so_many_elements_with_an_array(
    things: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (images, operators):
        monkeypatch.setattr(module, "MAX_COMPARISONS", 100)
    id_ = await added(things, {"tags": list(range(6))})
    path, many = f"{DOCUMENTS}/{id_}", {"tags": {"each": list(range(17))}}
    for operator in ("add", "pull"):
        refused = await things.request("PATCH", path, json={operator: many})
        assert violations(refused) == [("body", operator, "tags", "too_long")]
        together = await things.request("POST", BATCH, json=in_batch(id_, {operator: many}))
        assert violations(together) == [("body", "operations", 0, operator, "tags", "too_long")]
        few = {"tags": {"each": list(range(16))}}
        assert (await things.request("PATCH", path, json={operator: few})).status_code == 200


async def test_a_document_does_not_grow_without_end_field_by_field(things: Api) -> None:
    id_ = await added(things, {})
    path = f"{DOCUMENTS}/{id_}"
    for name in ("name", "note", "name"):
        # The third takes the place of the first.
        assert (await things.request("PATCH", path, json={"data": {name: LARGE}})).status_code == 200
    refused = await things.request("PATCH", path, json={"data": {"bag": LARGE}})
    assert (refused.status_code, refused.json()["detail"]) == (413, changes.OUTGROWN)
    assert (await things.request("PUT", path, json={"data": {"bag": LARGE}})).status_code == 200
    gone = await things.request("PATCH", f"{DOCUMENTS}/{'0' * 24}", json={"data": {"bag": LARGE}})
    assert gone.status_code == 404


async def test_upserts_do_not_let_a_document_grow_without_end(api: Api) -> None:
    await declare(api, {"sku": {"type": "string", "unique": True}, **{name: {"type": "string"} for name in "abc"}})
    path = f"{DOCUMENTS}?by=sku&on_conflict=merge"
    for name, status in (("a", 201), ("b", 200), ("a", 200)):
        merged = await api.request("PUT", path, json={"data": {"sku": "one", name: LARGE}})
        assert merged.status_code == status, merged.text
    more = {"sku": "one", "c": LARGE}
    refused = await api.request("PUT", path, json={"data": more})
    assert (refused.status_code, refused.json()["detail"]) == (413, changes.OUTGROWN)
    operation = {"op": "upsert", "collection": "things", "by": "sku", "on_conflict": "merge", "data": more}
    together = await api.request("POST", BATCH, json={"operations": [operation]})
    assert (together.status_code, together.json()["code"], together.json()["operation"]) == (413, "too_large", 0)
    new = await api.request("PUT", path, json={"data": {**more, "sku": "two"}})
    whole = await api.request("PUT", f"{DOCUMENTS}?by=sku", json={"data": more})
    assert (new.status_code, whole.status_code, set(whole.json()["data"])) == (201, 200, {"sku", "c"})


async def test_a_user_does_not_let_a_document_grow_either(things: Api) -> None:
    await save(things, {"collections": {"things": dict.fromkeys(("read", "create", "update"), "users")}})
    ann = await sign_up(things, "ann")
    id_ = (await ann.create("things", tags=[LARGE])).json()["id"]
    statuses = [
        (await ann.ask("PATCH", f"{DOCUMENTS}/{id_}", json={"push": {"tags": LARGE}})).status_code for _ in range(2)
    ]
    assert statuses == [200, 413]


def test_all_that_one_body_may_have_is_within_the_bound_of_a_document() -> None:
    """So that whatever was stored whole can be changed."""
    assert MAX_DOCUMENT_BYTES == 2 * 2**20
