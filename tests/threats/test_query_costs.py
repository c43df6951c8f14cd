"""Costs of conditions and changes are bounded, for any contents."""

import json
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import pytest

from service.bounds import (
    MAX_CONTAINS,
    MAX_DOCUMENT_BYTES,
    MAX_IN,
    MAX_LISTED,
    MAX_LISTS,
    MAX_LOOKUPS,
    MAX_SEARCH_CHARACTERS,
)
from service.domain.documents import changes
from service.query import images
from service.services import Services
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


def searches_of(characters: int, operator: str = "contains") -> dict[str, Any]:
    whole, rest = divmod(characters, MAX_CONTAINS)
    texts = ["a" * length for length in (*[MAX_CONTAINS] * whole, *([rest] if rest else []))]
    return {"or": [{f"note_{operator}": text} for text in texts]}


# By what the filter belongs to: the path behind the collection's, the body around `where`, where the 422 is, and the
# status of what is not refused.
FILTERS: dict[str, tuple[str, str, dict[str, Any], tuple[str, ...], int]] = {
    "list": ("POST", "query", {}, ("body", "where"), 200),
    "bulk write": ("POST", "update?dry_run=true", {"data": {"name": "y"}}, ("body", "where"), 200),
    "aggregation": ("POST", "aggregate", {"values": {"n": "count"}}, ("body", "where"), 200),
    "guard": ("PATCH", f"documents/{'0' * 24}", {"data": {"name": "y"}}, ("body", "where"), 404),
}


@pytest.mark.parametrize("operator", ["contains", "icontains"])
@pytest.mark.parametrize("kind", FILTERS)
async def test_q7_the_searches_of_a_filter_have_so_many_characters_together(
    things: Api, commands: CommandRecorder, kind: str, operator: str
) -> None:
    method, path, body, loc, status = FILTERS[kind]
    url = f"/api/collections/things/{path}"
    within = {**body, "where": searches_of(MAX_SEARCH_CHARACTERS, operator)}
    assert (await things.request(method, url, json=within)).status_code == status
    commands.commands.clear()
    refused = await things.request(
        method, url, json={**body, "where": searches_of(MAX_SEARCH_CHARACTERS + 1, operator)}
    )
    assert violations(refused) == [(*loc, "too_long")]
    assert refused.json()["detail"][0]["msg"] == (
        f"The texts of all _contains and _icontains have {MAX_SEARCH_CHARACTERS + 1:,} characters together, and at most "
        f"{MAX_SEARCH_CHARACTERS:,} are allowed; shorten them, or use _startswith"
    )
    assert commands.names == []


async def test_q7_the_searches_of_all_parts_of_a_list_count_together(things: Api) -> None:
    text = "a" * MAX_CONTAINS
    for path in ("/api/collections/things/documents", "/auth-collections/users"):
        full = "&".join(f"{relation}note_contains={text}" for relation in ("", "data."))
        where = quote(json.dumps(searches_of(MAX_SEARCH_CHARACTERS - 2 * MAX_CONTAINS)))
        assert (await things.request("GET", f"{path}?{full}&where={where}")).status_code == 200
        refused = await things.request("GET", f"{path}?{full}&where={where}&name_icontains=a")
        assert violations(refused) == [("query", "too_long")]


async def test_q7_a_text_at_its_beginning_is_not_searched_for(things: Api) -> None:
    where = searches_of(4 * MAX_SEARCH_CHARACTERS, "startswith")
    assert (await things.request("POST", QUERY, json={"where": where})).status_code == 200


async def test_q7_the_searches_of_a_batch_are_counted_for_each_guard(things: Api) -> None:
    id_ = await added(things, {"note": "a" * MAX_CONTAINS})
    within = {"data": {"name": "y"}, "where": searches_of(MAX_SEARCH_CHARACTERS)}
    beyond = {**within, "where": searches_of(MAX_SEARCH_CHARACTERS + 1)}
    operation = {"op": "update", "collection": "things", "id": id_}
    done = await things.request("POST", BATCH, json={"operations": [{**operation, **within}] * 2})
    assert done.status_code == 200, done.text
    refused = await things.request(
        "POST", BATCH, json={"operations": [{**operation, **within}, {**operation, **beyond}]}
    )
    assert violations(refused) == [("body", "operations", 1, "where", "too_long")]
    assert (await things.request("GET", f"{DOCUMENTS}/{id_}")).json()["version"] == 3


async def test_q7_a_guard_that_searches_takes_a_place_of_its_projects_lists(
    things: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = services.documents.lists._shares  # noqa: SLF001
    # However quick the lists of the project were.
    monkeypatch.setattr(shares, "_paces", None)
    id_ = await added(things, {"note": "abc"})
    searching = {"data": {"name": "y"}, "where": {"note_contains": "b"}}
    plain = {"data": {"name": "y"}, "where": {"note_eq": "abc"}}
    async with AsyncExitStack() as taken:
        for _ in range(MAX_LISTS):
            await taken.enter_async_context(shares.take(things.database.name))
        assert (await things.request("PATCH", f"{DOCUMENTS}/{id_}", json=plain)).status_code == 200
        busy = await things.request("PATCH", f"{DOCUMENTS}/{id_}", json=searching)
        assert (busy.status_code, busy.json()["code"]) == (503, "busy")
    assert (await things.request("PATCH", f"{DOCUMENTS}/{id_}", json=searching)).status_code == 200


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
    # A change that removes, or adds little, goes on.
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
