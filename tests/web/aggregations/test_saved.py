"""Saved aggregations: definitions, their parameters, and what becomes of them when a schema changes."""

from datetime import datetime
from typing import Any

import pytest
from pymongo.database import Database

from service.bounds import MAX_AGGREGATIONS
from service.query import names
from tests.conftest import Api

PATH = "/api/aggregations/by_status"
MOMENT = datetime(2026, 1, 31)  # noqa: DTZ001 - as MongoDB keeps it
DEFINITION: dict[str, Any] = {
    "collection": "orders",
    "aggregate": {
        "where": {"total_gte": "$least", "or": [{"status_in": ["paid", "$$odd"]}, {"status_eq": "$status"}]},
        "group": {"status": "status"},
        "values": {"n": "count"},
        "having": {"n_gte": "$many"},
    },
    "parameters": {"least": {"type": "number"}, "status": {"type": "string"}, "many": {"type": "integer"}},
}


async def put(api: Api, definition: Any, path: str = PATH) -> Any:
    return await api.request("PUT", path, json=definition)


async def refusal(api: Api, definition: Any) -> tuple[Any, ...]:
    answer = await put(api, definition)
    (violation,) = answer.json()["detail"]
    return answer.status_code, violation["loc"], violation["type"]


def orders(database: Database[dict[str, Any]], *records: dict[str, Any]) -> None:
    times = {"created_at": MOMENT, "updated_at": MOMENT}
    database["c_orders"].insert_many([{"_id": f"{n:024x}", "data": data, **times} for n, data in enumerate(records)])


async def test_a_definition_is_saved_listed_run_replaced_and_deleted(shop_api: Api) -> None:
    orders(
        shop_api.database, *({"status": s, "total": t} for s, t in (("paid", 5), ("paid", 7), ("open", 9), ("$odd", 9)))
    )
    made = await put(shop_api, DEFINITION)
    assert made.status_code == 201, made.text
    saved = made.json()
    assert {name: saved[name] for name in DEFINITION} == DEFINITION
    assert (saved["name"], saved["created_at"]) == ("by_status", saved["updated_at"])
    listed = await shop_api.request("GET", "/api/aggregations")
    assert (listed.status_code, listed.json()) == (200, {"aggregations": [saved], "total": 1})
    ran = await shop_api.request("GET", f"{PATH}?least=6&status=open&many=1")
    rows = [{"status": "$odd", "n": 1}, {"status": "open", "n": 1}, {"status": "paid", "n": 1}]
    assert (ran.status_code, ran.json()) == (200, {"rows": rows, "limit": 100})
    changed = await put(shop_api, {"collection": "users", "aggregate": {"values": {"n": "count"}}})
    assert changed.status_code == 200
    assert changed.json()["created_at"] == saved["created_at"]
    assert changed.json()["parameters"] == {}
    assert (await shop_api.request("GET", PATH)).json() == {"rows": [{"n": 0}], "limit": 100}
    assert (await shop_api.request("DELETE", PATH)).status_code == 204
    for gone in (await shop_api.request("DELETE", PATH), await shop_api.request("GET", PATH)):
        expected = {"detail": "Aggregation not found", "code": "aggregation_not_found"}
        assert (gone.status_code, gone.json()) == (404, expected)


REFUSED: list[tuple[dict[str, Any], list[str], str]] = [
    ({"collection": None}, ["collection"], "type_error"),
    ({"aggregate": []}, ["aggregate"], "type_error"),
    ({"query": {}}, ["query"], "extra_forbidden"),
    ({"parameters": []}, ["parameters"], "dict_type"),
    ({"parameters": {"least": {"type": "text"}}}, ["parameters", "least"], "enum"),
    ({"parameters": DEFINITION["parameters"] | {"x": {"type": "string"}}}, ["parameters", "x"], "unused"),
    (
        {"aggregate": {"values": {"n": "count"}}, "parameters": {"x": {"type": "string"}}},
        ["parameters", "x"],
        "unused",
    ),
    (
        {"aggregate": {"values": {"n": "count"}, "where": {"status_eq": "$x"}}, "parameters": {}},
        ["aggregate", "where", "status_eq"],
        "unknown_parameter",
    ),
    (
        {
            "aggregate": {"values": {"n": "count"}, "where": {"total_eq": "$x"}},
            "parameters": {"x": {"type": "string"}},
        },
        ["aggregate", "where", "total_eq"],
        "value_error",
    ),
    ({"aggregate": {"values": {"n": "sum"}}, "parameters": {}}, ["aggregate", "values", "n"], "value"),
    ({"aggregate": {"group": {"k": "colour"}}, "parameters": {}}, ["aggregate", "group", "k"], "value_error"),
    (
        {"aggregate": {"group": {"k": {"field": "at", "every": "day", "timezone": "No/Where"}}}, "parameters": {}},
        ["aggregate", "group"],
        "timezone",
    ),
    ({"run": "everybody"}, ["run"], "rule"),
    ({"run": {"status_eq": "paid"}}, ["run", "status_eq"], "value_error"),
    ({"run": {"$sets.teams_eq": "a"}}, ["run", "$sets.teams_eq"], "unknown_variable"),
]


async def test_a_definition_is_refused(shop_api: Api) -> None:
    for change, place, type_ in REFUSED:
        assert await refusal(shop_api, DEFINITION | change) == (422, ["body", *place], type_), change
    assert (await shop_api.request("GET", "/api/aggregations")).json()["total"] == 0


async def test_a_definition_needs_both_of_its_parts_and_a_good_name(shop_api: Api) -> None:
    found = (await put(shop_api, {})).json()["detail"]
    assert [(each["loc"], each["type"]) for each in found] == [
        (["body", "collection"], "missing"),
        (["body", "aggregate"], "missing"),
    ]
    bad = await put(shop_api, DEFINITION, "/api/aggregations/1st")
    assert (bad.status_code, bad.json()["detail"][0]["loc"]) == (422, ["path", "name"])
    absent = await put(shop_api, DEFINITION | {"collection": "nothing"})
    assert (absent.status_code, absent.json()["code"]) == (404, "collection_not_found")


async def test_a_definition_has_at_most_65536_bytes(shop_api: Api) -> None:
    large = DEFINITION | {"aggregate": {"values": {"n": "count"}, "where": {"status_eq": "x" * 65_536}}}
    assert (await put(shop_api, large)).status_code == 413


async def test_a_project_has_at_most_100(shop_api: Api) -> None:
    saved = {"collection": "users", "text": '{"aggregate": {}}', "created_at": MOMENT, "updated_at": MOMENT}
    full = [{"_id": f"a{n}", **saved} for n in range(MAX_AGGREGATIONS)]
    shop_api.database["aggregations"].insert_many(full)
    refused = await put(shop_api, DEFINITION)
    detail = "The project may have at most 100 saved aggregations"
    assert (refused.status_code, refused.json()) == (409, {"detail": detail, "code": "aggregation_limit"})
    assert shop_api.database["aggregations"].count_documents({}) == MAX_AGGREGATIONS
    assert (await put(shop_api, DEFINITION, "/api/aggregations/a1")).status_code == 200


QUERIES: list[tuple[str, list[Any]]] = [
    ("least=1&status=x", [(["query", "many"], "missing")]),
    ("", [(["query", "least"], "missing"), (["query", "many"], "missing"), (["query", "status"], "missing")]),
    ("least=x&status=x&many=1", [(["query", "least"], "value_error")]),
    ("least=1&status=x&many=1.5", [(["query", "many"], "value_error")]),
    ("least=1&status=x&many=1&most=9", [(["query", "most"], "value_error")]),
    ("least=1&status=x&many=1&many=2", [(["query", "many"], "repeated")]),
]


async def test_each_parameter_is_sent_once_in_its_type(shop_api: Api) -> None:
    assert (await put(shop_api, DEFINITION)).status_code == 201
    for query, expected in QUERIES:
        answer = await shop_api.request("GET", f"{PATH}?{query}")
        assert answer.status_code == 422, answer.text
        assert [(each["loc"], each["type"]) for each in answer.json()["detail"]] == expected


async def test_a_value_that_only_its_operator_refuses_is_named_by_its_parameter(shop_api: Api) -> None:
    aggregate = {"values": {"n": "count"}, "where": {"status_icontains": "$text"}}
    definition = {"collection": "orders", "aggregate": aggregate, "parameters": {"text": {"type": "string"}}}
    assert (await put(shop_api, definition)).status_code == 201
    answer = await shop_api.request("GET", f"{PATH}?text={'x' * 257}")
    assert answer.status_code == 422
    (violation,) = answer.json()["detail"]
    assert (violation["loc"], violation["msg"]) == (["query", "text"], "The value must have at most 256 characters")


async def test_searches_count_with_the_values_of_parameters(shop_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was saved under a larger bound is a conflict, as is what its collection has lost."""
    long = {"or": [{"status_contains": "a" * 255}] * 4, "status_icontains": "$text"}
    definition = {
        "collection": "orders",
        "aggregate": {"values": {"n": "count"}, "where": long},
        "parameters": {"text": {"type": "string"}},
    }
    assert (await put(shop_api, definition)).status_code == 201
    assert (await shop_api.request("GET", f"{PATH}?text=aaaa")).status_code == 200
    refused = await shop_api.request("GET", f"{PATH}?text=aaaaa")
    assert [(each["loc"], each["type"]) for each in refused.json()["detail"]] == [(["query", "text"], "too_long")]
    monkeypatch.setattr(names, "MAX_SEARCH_CHARACTERS", 1_000)
    conflict = await shop_api.request("GET", f"{PATH}?text=a")
    assert (conflict.status_code, conflict.json()["code"]) == (409, "aggregation_conflict")
    assert [(each["loc"], each["type"]) for each in conflict.json()["errors"]] == [(["aggregate", "where"], "too_long")]


async def test_what_a_schema_change_took_away_is_a_conflict_when_it_is_run(shop_api: Api) -> None:
    by_price = {"group": {"p": {"field": "price", "step": 10}}, "where": {"paid_eq": "$paid"}}
    definition = {"collection": "orders", "aggregate": by_price, "parameters": {"paid": {"type": "boolean"}}}
    assert (await put(shop_api, definition)).status_code == 201
    changed = await shop_api.request("PATCH", "/api/collections/orders", json={"schema": {"price": None}})
    assert changed.status_code == 200, changed.text
    answer = await shop_api.request("GET", f"{PATH}?paid=true")
    msg = "There is no such field in this collection"
    assert (answer.status_code, answer.json()) == (
        409,
        {
            "detail": "This aggregation names what is not there, or not to be read, any more; save it anew",
            "code": "aggregation_conflict",
            "errors": [{"loc": ["aggregate", "group", "p"], "msg": msg, "type": "value_error"}],
        },
    )
    # A field of that name and another type does not do either; one of the same type does.
    for type_, status in (("string", 409), ("number", 200)):
        schema = {"schema": {"price": {"type": type_}}}
        assert (await shop_api.request("PATCH", "/api/collections/orders", json=schema)).status_code == 200
        assert (await shop_api.request("GET", f"{PATH}?paid=true")).status_code == status
        assert (
            await shop_api.request("PATCH", "/api/collections/orders", json={"schema": {"price": None}})
        ).status_code == 200


async def test_a_collection_that_is_gone_is_not_found_and_may_come_back(shop_api: Api) -> None:
    definition = {"collection": "orders", "aggregate": {"values": {"n": "count"}}}
    assert (await put(shop_api, definition)).status_code == 201
    assert (await shop_api.request("DELETE", "/api/collections/orders")).status_code == 204
    answer = await shop_api.request("GET", PATH)
    assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")
    made = {"name": "orders", "schema": {"status": {"type": "string"}}}
    assert (await shop_api.request("POST", "/api/collections", json=made)).status_code == 201
    assert (await shop_api.request("GET", PATH)).json()["rows"] == [{"n": 0}]
