"""Aggregations over HTTP: what each part means, and every refusal."""

from datetime import datetime
from typing import Any

import pytest

from faults.aggregations.shop import SCHEMAS
from service.domain.aggregations import aggregations
from service.domain.aggregations.runs import AggregationRuns
from service.errors import Busy
from service.query.aggregate.bind import bind_aggregation
from service.query.aggregate.grammar import read_aggregation
from service.query.shapes import DocumentShape
from service.schema.fields import parse
from tests.conftest import Api, MakeApi
from tests.web.aggregations.conftest import rows_of

ORDERS = "/api/collections/orders/aggregate"
USERS = "/auth-collections/users/aggregate"


def put(api: Api, collection: str, *records: dict[str, Any]) -> None:
    """Records past the service, with ids 0, 1, ..."""
    stored = []
    for number, data in enumerate(records):
        at = data.pop("created_at", datetime(2026, 1, 31, 12))  # noqa: DTZ001 - as MongoDB keeps it
        stored.append({"_id": f"{number:024x}", "data": data, "created_at": at, "updated_at": at})
    api.database[f"c_{collection}"].insert_many(stored)


async def refusal(api: Api, body: Any, path: str = ORDERS) -> tuple[Any, ...]:
    answer = await api.request("POST", path, json=body)
    found = answer.json()
    if answer.status_code != 422:
        return answer.status_code, found["code"], found["detail"]
    (violation,) = found["detail"]
    return answer.status_code, found["code"], violation["loc"], violation["msg"], violation["type"]


async def test_the_specified_example_gives_its_rows(shop_api: Api) -> None:
    put(shop_api, "buyers", {"city": "Paris"}, {"city": "Lyon"})
    paid = {"status": "paid", "total": 60}
    late = datetime(2026, 1, 31, 23, 30)  # noqa: DTZ001 - in Paris it is February
    put(
        shop_api,
        "orders",
        {**paid, "buyer_id": f"{0:024x}"},
        {**paid, "buyer_id": f"{0:024x}", "created_at": late},
        {**paid, "buyer_id": f"{0:024x}", "created_at": late},
        {**paid, "buyer_id": f"{1:024x}"},
        {"status": "open", "total": 1000, "buyer_id": f"{0:024x}"},
    )
    answer = await shop_api.request(
        "POST",
        ORDERS,
        json={
            "where": {"status_eq": "paid"},
            "group": {
                "month": {"field": "created_at", "every": "month", "timezone": "Europe/Paris"},
                "city": "buyer.city",
            },
            "values": {"orders": "count", "revenue": {"sum": "total"}, "buyers": {"count_distinct": "buyer_id"}},
            "having": {"revenue_gte": 100},
            "sort_by": ["-revenue"],
            "limit": 100,
        },
    )
    row = {"month": "2026-01-31T23:00:00.000Z", "city": "Paris", "orders": 2, "revenue": 120, "buyers": 1}
    assert (answer.status_code, answer.json()) == (200, {"rows": [row], "limit": 100})


async def test_null_and_absent_are_one_group_and_so_are_relations_that_name_nothing(shop_api: Api) -> None:
    put(shop_api, "buyers", {"city": "Paris"}, {"city": None}, {})
    ids = [{"buyer_id": f"{n:024x}"} for n in (0, 1, 2, 3)]
    put(shop_api, "orders", *ids, {"buyer_id": None}, {})
    by_city = {"group": {"city": "buyer.city"}, "values": {"n": "count"}}
    assert await rows_of(shop_api, by_city) == [{"city": None, "n": 5}, {"city": "Paris", "n": 1}]
    put(shop_api, "companies", {"name": None}, {}, {"name": ""})
    by_name = {"group": {"name": "name"}, "values": {"n": "count"}}
    assert await rows_of(shop_api, by_name, ORDERS.replace("orders", "companies")) == [
        {"name": None, "n": 2},
        {"name": "", "n": 1},
    ]


async def test_without_a_group_there_is_one_row_even_of_nothing(shop_api: Api) -> None:
    values = {
        "n": "count",
        "different": {"count_distinct": "status"},
        "other": {"count_distinct": "total"},
        "sum": {"sum": "total"},
        "avg": {"avg": "total"},
        "min": {"min": "status"},
        "max": {"max": "at"},
    }
    nothing = {"n": 0, "different": 0, "other": 0, "sum": 0, "avg": None, "min": None, "max": None}
    assert await rows_of(shop_api, {"values": values}) == [nothing]
    assert await rows_of(shop_api, {"values": values, "having": {"n_eq": 0}}) == [nothing]
    assert await rows_of(shop_api, {"values": values, "having": {"n_gt": 0}}) == []
    assert await rows_of(shop_api, {"values": values, "group": {"s": "status"}}) == []
    put(shop_api, "orders", {"status": "paid", "total": 3}, {"status": "open", "total": 4})
    (row,) = await rows_of(shop_api, {"values": values, "sort_by": ["n"]})
    assert row == {"n": 2, "different": 2, "other": 2, "sum": 7, "avg": 3.5, "min": "open", "max": None}


async def test_an_array_is_one_value_and_with_each_its_elements_are(shop_api: Api) -> None:
    put(shop_api, "orders", {"tags": ["a", "b"]}, {"tags": ["a", "b"]}, {"tags": ["b", None]}, {"tags": []}, {})
    whole = {"group": {"tags": "tags"}, "values": {"n": "count"}}
    assert await rows_of(shop_api, whole) == [
        {"tags": None, "n": 1},
        {"tags": [], "n": 1},
        {"tags": ["a", "b"], "n": 2},
        {"tags": ["b", None], "n": 1},
    ]
    each = {"group": {"tag": {"field": "tags", "each": True}}, "values": {"n": "count"}}
    assert await rows_of(shop_api, each) == [{"tag": None, "n": 1}, {"tag": "a", "n": 2}, {"tag": "b", "n": 3}]


async def test_rows_are_sorted_by_arrays_as_they_are(shop_api: Api) -> None:
    put(
        shop_api, "orders", {"tags": ["b"], "marks": [1]}, {"tags": ["a", "c"], "marks": [2]}, {"tags": [], "marks": []}
    )
    body = {"group": {"tags": "tags", "marks": "marks"}, "sort_by": ["-tags", "marks"]}
    assert [row["tags"] for row in await rows_of(shop_api, body)] == [["b"], ["a", "c"], []]


async def test_dates_have_buckets_by_the_clocks_of_a_zone(shop_api: Api) -> None:
    # The night in which the clocks of Paris go from 2:00 to 3:00, and the Sunday of that week.
    moments = [datetime(2026, 3, 28, 23, 30), datetime(2026, 3, 29, 0, 30), datetime(2026, 3, 29, 22, 30)]  # noqa: DTZ001
    put(shop_api, "orders", *({"at": moment} for moment in moments), {"at": None})

    async def buckets(**key: str) -> list[Any]:
        rows = await rows_of(shop_api, {"group": {"k": {"field": "at", **key}}, "values": {"n": "count"}})
        return [(row["k"] and row["k"].removesuffix(":00.000Z"), row["n"]) for row in rows]

    paris = {"timezone": "Europe/Paris"}
    assert await buckets(every="day", **paris) == [(None, 1), ("2026-03-28T23:00", 2), ("2026-03-29T22:00", 1)]
    assert await buckets(every="day") == [(None, 1), ("2026-03-28T00:00", 1), ("2026-03-29T00:00", 2)]
    assert await buckets(every="week", **paris) == [(None, 1), ("2026-03-22T23:00", 2), ("2026-03-29T22:00", 1)]
    assert await buckets(every="hour", **paris) == [
        (None, 1),
        ("2026-03-28T23:00", 1),
        ("2026-03-29T00:00", 1),
        ("2026-03-29T22:00", 1),
    ]
    assert await buckets(every="quarter", **paris) == [(None, 1), ("2025-12-31T23:00", 3)]
    assert await buckets(every="year", timezone="+05:30") == [(None, 1), ("2025-12-31T18:30", 3)]


async def test_quarters_of_an_hour_are_not_relied_on_where_clocks_did_not_go_by_them(shop_api: Api) -> None:
    # Kiritimati was 10 hours and 40 minutes behind UTC until October 1979, Monrovia 44:30 minutes until 1972.
    put(shop_api, "orders", {"at": datetime(1979, 6, 1, 10, 35)}, {"at": datetime(1979, 6, 1, 10, 42)})  # noqa: DTZ001
    body = {
        "group": {"k": {"field": "at", "every": "day", "timezone": "Pacific/Kiritimati"}},
        "values": {"n": "count"},
    }
    assert await rows_of(shop_api, body) == [
        {"k": "1979-05-31T10:40:00.000Z", "n": 1},
        {"k": "1979-06-01T10:40:00.000Z", "n": 1},
    ]


async def test_numbers_have_buckets_down_to_their_lower_bound(shop_api: Api) -> None:
    put(shop_api, "orders", *({"price": price} for price in (-0.5, 0, 9.99, 10, 0.3, 20.0)), {"price": None})

    async def buckets(step: float) -> list[Any]:
        rows = await rows_of(shop_api, {"group": {"k": {"field": "price", "step": step}}, "values": {"n": "count"}})
        return [(row["k"], row["n"]) for row in rows]

    assert await buckets(10) == [(None, 1), (-10, 1), (0, 3), (10, 1), (20, 1)]
    assert await buckets(0.1) == [(None, 1), (-0.5, 1), (0, 1), (0.3, 1), (9.9, 1), (10, 1), (20, 1)]
    assert await buckets(1e-300) == [(None, 7)] or len(await buckets(1e-300)) > 1
    assert await buckets(2**62) == [(None, 1), (-(2**62), 1), (0, 5)]


async def test_sums_beyond_what_json_holds_are_null(shop_api: Api) -> None:
    put(shop_api, "orders", {"price": 1.7e308}, {"price": 1.7e308}, {"total": 2**63 - 1}, {"total": 2**63 - 1})
    values = {"s": {"sum": "price"}, "a": {"avg": "price"}, "t": {"sum": "total"}}
    assert await rows_of(shop_api, {"values": values}) == [{"s": None, "a": None, "t": 2.0**64}]


async def test_having_and_order_speak_of_columns(shop_api: Api) -> None:
    late, early = datetime(2026, 2, 1), datetime(2026, 1, 1)  # noqa: DTZ001
    put(
        shop_api,
        "orders",
        *({"status": s, "at": at} for s in "ab" for at in (early, late)),
        {"status": "b", "at": late},
    )
    month = {"field": "at", "every": "month"}
    body = {"group": {"month": month, "s": "status"}, "values": {"n": "count"}}
    found = await rows_of(shop_api, body | {"having": {"month_gte": "2026-01-15", "not": {"s_eq": "a"}}})
    assert found == [{"month": "2026-02-01T00:00:00.000Z", "s": "b", "n": 2}]
    # Ties are broken by the keys, ascending.
    ordered = await rows_of(shop_api, body | {"sort_by": ["-n"], "limit": 3})
    assert [(row["month"][:7], row["s"]) for row in ordered] == [("2026-02", "b"), ("2026-01", "a"), ("2026-01", "b")]


async def test_more_groups_than_the_limit_are_cut_off(shop_api: Api) -> None:
    put(shop_api, "orders", *({"total": n} for n in range(105)))
    body: dict[str, Any] = {"group": {"t": "total"}}
    answer = await shop_api.request("POST", ORDERS, json=body)
    assert (len(answer.json()["rows"]), answer.json()["limit"]) == (100, 100)
    assert await rows_of(shop_api, body | {"limit": 2}) == [{"t": 0}, {"t": 1}]
    assert len(await rows_of(shop_api, body | {"limit": 1000})) == 105


async def test_users_are_aggregated_by_their_free_form_data(api: Api) -> None:
    for name, city in (("ann", "Paris"), ("bob", "Paris"), ("cid", 7)):
        await api.signup(f"{name}@example.com", city=city, langs=["fr", "en"][: len(name)])
    body = {"group": {"city": "city"}, "values": {"n": "count", "first": {"min": "email"}}}
    assert await rows_of(api, body, USERS) == [
        {"city": 7, "n": 1, "first": "cid@example.com"},
        {"city": "Paris", "n": 2, "first": "ann@example.com"},
    ]
    each = {"group": {"lang": {"field": "langs", "each": True}}, "values": {"n": "count"}}
    assert await rows_of(api, each, USERS) == [{"lang": "en", "n": 3}, {"lang": "fr", "n": 3}]


async def test_users_follow_their_own_relations_and_hidden_fields_have_no_name(api: Api) -> None:
    first = (await api.signup("ann@example.com", city="Paris")).json()["user"]["id"]
    await api.signup("bob@example.com", boss_id=first)
    await api.signup("cid@example.com", boss_id=[first])
    body = {"group": {"city": "boss.city"}, "values": {"n": "count"}}
    # An array names no one record.
    assert await rows_of(api, body, USERS) == [{"city": None, "n": 2}, {"city": "Paris", "n": 1}]
    for name in ("password", "token_version", "boss.password", "data.password", "files"):
        hidden = await rows_of(api, {"group": {"k": name}, "values": {"m": {"max": "password"}}}, USERS)
        assert hidden == [{"k": None, "m": None}]


async def test_the_files_of_users_are_shown_by_their_urls(api: Api) -> None:
    await api.signup()
    name = "demo-" + "0" * 32 + ".png"
    api.database["users"].update_one({}, {"$set": {"data.picture": name, "files": {"picture": name}}})
    body = {"group": {"p": "picture", "l": "length"}, "values": {"m": {"max": "picture"}}}
    (row,) = await rows_of(api, body, USERS)
    assert row["p"] == row["m"]
    assert row["p"].endswith(f"/files/{name}")
    assert row["p"].startswith("http")
    found = await rows_of(api, {**body, "where": {"picture_eq": row["p"]}}, USERS)
    assert found == [row]


async def test_what_does_not_fit_is_refused(shop_api: Api) -> None:
    part = {"group": {"k": "colour"}}
    msg = "There is no such field in this collection"
    assert await refusal(shop_api, part) == (422, "validation_error", ["body", "group", "k"], msg, "value_error")


async def test_a_time_zone_that_mongodb_does_not_know_is_refused(shop_api: Api) -> None:
    body = {"group": {"k": {"field": "at", "every": "day", "timezone": "Europe/Atlantis"}}}
    msg = "MongoDB knows no time zone of such a name; write it as in Europe/Paris"
    refused = (422, "validation_error", ["body", "group"], msg, "timezone")
    assert await refusal(shop_api, body) == refused
    put(shop_api, "orders", {"at": datetime(2026, 1, 1)})  # noqa: DTZ001
    assert await refusal(shop_api, body) == refused


TOO_LARGE = "A text, an object or an array of more than 1,000 bytes cannot be a key, a min or a max"


LARGE: list[dict[str, Any]] = [
    {"group": {"k": "status"}},
    {"values": {"v": {"max": "status"}}},
    {"values": {"v": {"min": "tags"}}},
    {"group": {"k": "tags"}},
    {"group": {"k": "extra"}},
    {"group": {"k": "buyer.city"}},
    {"group": {"k": {"field": "tags", "each": True}}},
]


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """So large an aggregation may meet its time before its size on a busy machine."""
    monkeypatch.setattr(aggregations, "AD_HOC_SECONDS", 19.0)


async def test_a_value_of_more_than_1000_bytes_is_refused(shop_api: Api) -> None:
    long = "é" * 501
    put(shop_api, "buyers", {"city": long})
    put(shop_api, "orders", {"status": long, "tags": [long], "extra": {"note": long}, "buyer_id": f"{0:024x}"})
    for body in LARGE:
        found = await refusal(shop_api, body)
        assert found == (422, "aggregation_too_large", ["body"], TOO_LARGE, "aggregation_too_large"), body


async def test_groups_past_the_memory_of_mongodb_are_refused(shop_api: Api, unhurried: None) -> None:
    # Each pair of elements is a group: 120,000 of them, of 1,800 bytes.
    put(shop_api, "orders", {"tags": [f"{n:0900}" for n in range(350)]})
    each = {"field": "tags", "each": True}
    msg = "The groups take more memory than an aggregation may have; make fewer, or narrow it with where"
    found = await refusal(shop_api, {"group": {"a": each, "b": each}})
    assert found == (422, "aggregation_too_large", ["body"], msg, "aggregation_too_large")


async def test_rows_past_16_mb_are_refused(shop_api: Api, unhurried: None) -> None:
    put(shop_api, "orders", *({"status": f"{n:0990}", "total": n} for n in range(900)))
    keys, values = {f"k{n}": "status" for n in range(8)}, {f"v{n}": {"max": "status"} for n in range(16)}
    body = {"group": keys, "values": values, "limit": 1000}
    assert (await refusal(shop_api, body))[:3] == (422, "aggregation_too_large", ["body"])
    assert len(await rows_of(shop_api, body | {"limit": 500})) == 500


async def test_an_aggregation_that_takes_too_long_is_ended(shop_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/api/aggregations/slow"
    saved = {"collection": "orders", "aggregate": {"values": {"n": "count"}}}
    assert (await shop_api.request("PUT", path, json=saved)).status_code == 201
    monkeypatch.setattr(aggregations, "AD_HOC_SECONDS", 0.0)
    monkeypatch.setattr(aggregations, "SAVED_SECONDS", 0.0)
    msg = "The aggregation took longer than 0 seconds of database time; narrow it with where"
    ad_hoc = await shop_api.request("POST", ORDERS, json={"values": {"n": "count"}})
    for answer in (ad_hoc, await shop_api.request("GET", path)):
        assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (503, "query_too_slow", msg)
        assert answer.headers["retry-after"] == "1"


async def test_a_project_has_few_under_way_at_once(shop_api: Api) -> None:
    shape = DocumentShape("c_orders", parse(SCHEMAS["orders"]), lambda _: None)
    bound = bind_aggregation(read_aggregation({"values": {"n": "count"}}, ("body",)), shape, ("body",))
    full = AggregationRuns(most=0, waiting=0)
    with pytest.raises(Busy):
        await full.run(shop_api.project.database, bound, seconds=2, place=("body",))


async def test_a_value_of_1000_bytes_is_not_too_large_and_different_ones_may_be_any(shop_api: Api) -> None:
    put(shop_api, "orders", {"status": "é" * 500}, {"tags": ["x" * 5_000]})
    (first, second) = await rows_of(shop_api, {"group": {"k": "status"}, "values": {"m": {"max": "status"}}})
    assert (first["k"], second["k"], second["m"]) == (None, "é" * 500, "é" * 500)
    assert await rows_of(shop_api, {"values": {"n": {"count_distinct": "tags"}}}) == [{"n": 1}]


async def test_a_collection_that_is_not_there_is_not_found(api: Api) -> None:
    found = await refusal(api, {"values": {"n": "count"}}, "/api/collections/nothing/aggregate")
    assert found == (404, "collection_not_found", "Collection not found")


async def test_what_is_only_read_ignores_an_idempotency_key(shop_api: Api) -> None:
    body, headers = {"values": {"n": "count"}}, {"idempotency-key": "k1"}
    for path in (ORDERS, USERS):
        answer = await shop_api.request("POST", path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["rows"]) == (200, [{"n": 0}])
    saved = {"collection": "orders", "aggregate": body}
    refused = await shop_api.request("PUT", "/api/aggregations/a", json=saved, headers=headers)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["header", "idempotency-key"])


@pytest.mark.parametrize("path", [ORDERS, USERS])
async def test_ad_hoc_aggregations_take_the_secret_key(make_api: MakeApi, path: str) -> None:
    api = await make_api()
    token = (await api.signup()).json()["access_token"]
    body = {"values": {"n": "count"}}
    guest = await api.http.post(path, json=body, headers={"x-api-key": api.publishable_key})
    assert (guest.status_code, guest.json()["code"]) == (403, "secret_key_required")
    for answer in (await api.as_user(token, "POST", path, json=body), await api.http.post(path, json=body)):
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")
