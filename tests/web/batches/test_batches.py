"""Batches: all or nothing, or each for itself; by the same rules and limits as each operation alone."""

import asyncio
from typing import Any

import httpx2
import pytest

from faults.samples import picture
from service.domain.projects.settings import ProjectSettings
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.declared import added, change, declare, find, one
from tests.web.rules.conftest import Person, guest_of, save, server_of, sign_up

ORDERS: dict[str, Any] = {"city": {"type": "string", "required": True}, "sku": {"type": "string", "unique": True}}
LINES: dict[str, Any] = {
    "order_id": {"type": "reference", "collection": "orders"},
    "n": {"type": "integer", "min": 0, "default": 1},
    "tags": {"type": "array", "items": {"type": "string"}},
}
GONE = "0" * 24
Operations = list[dict[str, Any]]


@pytest.fixture
async def shop(api: Api) -> Api:
    await declare(api, ORDERS, "orders")
    await declare(api, LINES, "lines")
    return api


async def batch(api: Api, operations: Any, *, atomic: bool | None = None, key: str | None = None) -> httpx2.Response:
    body = {"operations": operations} | ({} if atomic is None else {"atomic": atomic})
    return await api.request("POST", "/api/batch", json=body, headers={} if key is None else {"idempotency-key": key})


def create(collection: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"op": "create", "collection": collection, "data": data, **more}


def count(api: Api) -> int:
    return api.database["c_orders"].count_documents({}) + api.database["c_lines"].count_documents({})


@pytest.mark.parametrize("atomic", [True, False, None])
async def test_later_operations_see_earlier_ones(shop: Api, atomic: bool | None) -> None:
    ann = (await shop.signup(name="Ann", visits=1)).json()["user"]["id"]
    old = await added(shop, {"city": "Rome"}, "orders")
    order = {"$id": "o"}
    operations: Operations = [
        create("orders", {"city": "Paris"}, **{"as": "o"}),
        create("lines", {"order_id": order, "n": 2}, **{"as": "l"}),
        {"op": "update", "collection": "lines", "id": {"$id": "l"}, "increment": {"n": 1}, "where": {"n_eq": 2}},
        {"op": "replace", "collection": "orders", "id": order, "data": {"city": "Bonn"}, "if_match": 1},
        {"op": "upsert", "collection": "orders", "by": "sku", "data": {"sku": "a", "city": "Lyon"}},
        {"op": "upsert", "collection": "orders", "by": "sku", "on_conflict": "ignore", "data": {"sku": "a", "city": "x"}},
        {"op": "delete", "collection": "orders", "id": old},
        {"op": "get", "collection": "lines", "id": {"$id": "l"}},
        {"op": "update", "collection": "users", "id": ann, "increment": {"visits": 1}, "data": {"last": order}, "if_match": 1},
        {"op": "get", "collection": "users", "id": ann},
    ]  # fmt: skip
    answer = await batch(shop, operations, atomic=atomic)
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [each["status"] for each in results] == [201, 201, 200, 200, 201, 200, 204, 200, 200, 200]
    order_id = results[0]["document"]["id"]
    assert results[7]["document"]["data"] == {"order_id": order_id, "n": 3}
    assert (results[7]["document"]["version"], results[3]["document"]["data"]) == (2, {"city": "Bonn"})
    assert results[5]["document"] == results[4]["document"]
    assert results[6] == {"status": 204}
    assert results[8] == results[9]
    assert results[9]["document"].keys() == {"id", "email", "data", "created_at", "updated_at"}
    assert results[9]["document"]["data"] == {"name": "Ann", "visits": 2, "last": order_id}
    assert (await one(shop, "GET", results[7]["document"]["id"], name="lines")).json() == results[7]["document"]
    assert (await one(shop, "GET", old, name="orders")).status_code == 404


BAD, FAILED = "validation_error", "condition_failed"
FAILING: list[tuple[dict[str, Any], int, str, list[Any] | None]] = [
    (create("orders", {}), 422, BAD, ["data", "city"]),
    (create("orders", {"city": 1}), 422, BAD, ["data", "city"]),
    (create("orders", {"a.b": 1}), 422, BAD, ["data", "a.b"]),
    (create("orders", {"city": "x", "sku": "taken"}), 409, "duplicate_value", None),
    (create("lines", {"order_id": GONE}), 422, BAD, ["data", "order_id"]),
    (create("nothing", {}), 404, "collection_not_found", None),
    ({"op": "get", "collection": "orders", "id": GONE}, 404, "document_not_found", None),
    ({"op": "delete", "collection": "orders", "id": GONE}, 404, "document_not_found", None),
    ({"op": "get", "collection": "users", "id": GONE}, 404, "user_not_found", None),
    ({"op": "update", "collection": "users", "id": GONE, "data": {}}, 404, "user_not_found", None),
    ({"op": "update", "collection": "orders", "id": "$o", "data": {}, "if_match": 7}, 412, "version_conflict", None),
    ({"op": "delete", "collection": "orders", "id": "$o", "if_match": 7}, 412, "version_conflict", None),
    ({"op": "update", "collection": "orders", "id": "$o", "data": {}, "where": {"city_eq": "x"}}, 409, FAILED, None),
    ({"op": "update", "collection": "lines", "id": "$l", "increment": {"n": -9}}, 422, BAD, ["data", "n"]),
    ({"op": "update", "collection": "lines", "id": "$l", "push": {"n": 1}}, 422, BAD, ["push", "n"]),
    ({"op": "update", "collection": "lines", "id": "$l", "increment": {"n": 2**63 - 1}}, 422, BAD, ["increment", "n"]),
    ({"op": "upsert", "collection": "orders", "by": "city", "data": {"city": "x"}}, 422, BAD, ["by"]),
    ({"op": "upsert", "collection": "orders", "by": "sku", "data": {"city": "x"}}, 422, BAD, ["data", "sku"]),
    ({"op": "update", "collection": "users", "id": "$u", "data": {"password": "x"}}, 422, BAD, ["data", "password"]),
    ({"op": "update", "collection": "users", "id": "$u", "increment": {"name": 1}}, 422, BAD, ["increment", "name"]),
    ({"op": "update", "collection": "users", "id": "$u", "unset": ["name"]}, 422, BAD, ["unset", "name"]),
    ({"op": "update", "collection": "users", "id": "$u", "data": {}, "if_match": 9}, 412, "version_conflict", None),
    ({"op": "update", "collection": "users", "id": "$u", "data": {}, "where": {"name_eq": "x"}}, 409, FAILED, None),
]  # fmt: skip


async def test_one_that_fails_undoes_all_or_stands_alone(shop: Api) -> None:
    ids = {
        "$o": await added(shop, {"city": "Rome", "sku": "taken"}, "orders"),
        "$l": await added(shop, {"n": 1}, "lines"),
        "$u": (await shop.signup(name="Ann")).json()["user"]["id"],
    }
    before = count(shop)
    for failing, status, code, place in FAILING:
        operation = {**failing, "id": ids.get(failing["id"], failing["id"])} if "id" in failing else failing
        operations = [create("orders", {"city": "a"}), create("lines", {}), operation, create("lines", {})]
        answer = await batch(shop, operations)
        body = answer.json()
        assert (answer.status_code, body["code"], body["operation"]) == (status, code, 2), (failing, answer.text)
        if place is not None:
            assert body["detail"][0]["loc"] == ["body", "operations", 2, *place], failing
        assert count(shop) == before, failing
        apart = await batch(shop, operations, atomic=False)
        results = apart.json()["results"]
        assert [each["status"] for each in results] == [201, 201, status, 201], failing
        assert results[2]["error"] == {"detail": body["detail"], "code": code}, failing
        assert count(shop) == before + 3
        before = count(shop)


MALFORMED: list[tuple[Any, list[Any]]] = [
    ([], ["body", "operations"]),
    ([create("lines", {})] * 101, ["body", "operations"]),
    ([1], ["body", "operations", 0]),
    ([{}], ["body", "operations", 0, "op"]),
    ([{"op": "drop"}], ["body", "operations", 0, "op"]),
    ([{"op": "create", "data": {}}], ["body", "operations", 0, "collection"]),
    ([create("lines", [])], ["body", "operations", 0, "data"]),
    ([create("lines", {}, id=GONE)], ["body", "operations", 0, "id"]),
    ([create("users", {})], ["body", "operations", 0, "op"]),
    ([create("lines", {}, **{"as": ""})], ["body", "operations", 0, "as"]),
    ([create("lines", {}, **{"as": "a"}), create("lines", {}, **{"as": "a"})], ["body", "operations", 1, "as"]),
    ([create("lines", {"order_id": {"$id": "o"}})], ["body", "operations", 0, "data", "order_id", "$id"]),
    ([create("lines", {"order_id": {"$id": "a"}}, **{"as": "a"})], ["body", "operations", 0, "data", "order_id", "$id"]),
    ([create("lines", {"order_id": {"$id": 1}})], ["body", "operations", 0, "data", "order_id", "$id"]),
    ([{"op": "get", "collection": "lines", "id": 1}], ["body", "operations", 0, "id"]),
    ([{"op": "get", "collection": "lines", "id": GONE, "as": "x"}], ["body", "operations", 0, "as"]),
    ([{"op": "delete", "collection": "lines", "id": GONE, "if_match": "1"}], ["body", "operations", 0, "if_match"]),
    ([{"op": "update", "collection": "lines", "id": GONE}], ["body", "operations", 0, "data"]),
    ([{"op": "update", "collection": "lines", "id": GONE, "unset": ["a", "a"]}], ["body", "operations", 0, "unset", "a"]),
    ([{"op": "update", "collection": "lines", "id": GONE, "data": {}, "where": 1}], ["body", "operations", 0, "where"]),
    ([{"op": "upsert", "collection": "orders", "data": {}, "by": "sku", "as": "x"}], ["body", "operations", 0, "as"]),
]  # fmt: skip


async def test_what_is_malformed_is_refused_as_a_whole(shop: Api) -> None:
    for operations, place in MALFORMED:
        for atomic in (True, False):
            answer = await batch(shop, [*operations[:-1], *operations[-1:]], atomic=atomic)
            assert answer.status_code == 422, (operations, answer.text)
            assert answer.json()["detail"][0]["loc"] == place, operations
            assert "operation" not in answer.json()
    assert (
        await shop.request("POST", "/api/batch", json={"operations": [create("lines", {})], "x": 1})
    ).status_code == 422
    assert count(shop) == 0


async def test_creations_of_a_run_are_one_command(shop: Api, commands: CommandRecorder) -> None:
    await batch(shop, [create("lines", {}), create("orders", {"city": "x"})])
    commands.commands.clear()
    answer = await batch(shop, [*([create("lines", {})] * 50), create("orders", {"city": "x"}), create("lines", {})])
    assert answer.status_code == 200
    assert commands.names == ["insert", "insert", "insert", "commitTransaction"]
    failing = await batch(shop, [*([create("lines", {})] * 7), create("lines", {"n": "x"}), create("lines", {})])
    assert failing.json()["operation"] == 7
    assert count(shop) == 54


async def test_documents_of_one_collection_may_name_each_other(api: Api) -> None:
    await declare(api, {"up_id": {"type": "reference", "collection": "things"}})
    answer = await batch(
        api,
        [
            create("things", {}, **{"as": "a"}),
            create("things", {"up_id": {"$id": "a"}}, **{"as": "b"}),
            create("things", {"up_id": {"$id": "b"}}),
        ],
    )
    documents = [each["document"] for each in answer.json()["results"]]
    assert [each["data"].get("up_id") for each in documents] == [None, documents[0]["id"], documents[1]["id"]]


async def test_references_of_a_document_may_lead_to_two_collections(shop: Api) -> None:
    await declare(
        shop, {"order_id": LINES["order_id"], "line_id": {**LINES["order_id"], "collection": "lines"}}, "notes"
    )
    order, line = {"$id": "o"}, {"$id": "l"}
    made = [create("orders", {"city": "Paris"}, **{"as": "o"}), create("lines", {"order_id": order}, **{"as": "l"})]
    answer = await batch(shop, [*made, create("notes", {"order_id": order, "line_id": line})])
    assert answer.status_code == 200, answer.text
    first, second, note = (each["document"] for each in answer.json()["results"])
    assert note["data"] == {"order_id": first["id"], "line_id": second["id"]}
    refused = await batch(shop, [*made, create("notes", {"order_id": order, "line_id": GONE})])
    assert (refused.status_code, refused.json()["operation"]) == (422, 2)
    assert "line_id" in refused.json()["detail"][0]["loc"]


async def test_a_definition_that_is_old_is_looked_at_again(shop: Api) -> None:
    await batch(shop, [create("lines", {})])
    await change(shop, {"note": {"type": "string", "required": True, "default": "x"}}, name="lines")
    answer = await batch(shop, [create("orders", {"city": "x"}), create("lines", {})])
    assert answer.json()["results"][1]["document"]["data"]["note"] == "x"


async def test_racing_batches_are_all_done_once(shop: Api) -> None:
    id_ = await added(shop, {"n": 30}, "lines")
    take = {"op": "update", "collection": "lines", "id": id_, "increment": {"n": -1}, "where": {"n_gte": 1}}
    answers = await asyncio.gather(*(batch(shop, [take, take, create("orders", {"city": "x"})]) for _ in range(8)))
    done = [answer.status_code for answer in answers].count(200)
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert (await one(shop, "GET", id_, name="lines")).json()["data"]["n"] == 30 - 2 * done
    assert (await find(shop, name="orders")).json()["total"] == done


async def test_a_key_makes_an_atomic_batch_happen_once(shop: Api) -> None:
    operations = [create("orders", {"city": "x"}), create("lines", {})]
    first, again = [await batch(shop, operations, key="k") for _ in range(2)]
    assert (first.status_code, first.content) == (200, again.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert count(shop) == 2
    apart = await batch(shop, operations, atomic=False, key="j")
    assert (apart.status_code, apart.json()["detail"][0]["loc"]) == (422, ["header", "idempotency-key"])
    assert count(shop) == 2


async def test_a_batch_has_its_time(shop: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.batches.batches.BATCH_SECONDS", 0.000_001)
    together = await batch(shop, [create("lines", {})])
    assert (together.status_code, together.json()["code"]) == (503, "unavailable")
    apart = await batch(shop, [create("lines", {})] * 3, atomic=False)
    assert [each["status"] for each in apart.json()["results"]] == [503] * 3
    assert apart.json()["results"][2]["error"]["detail"].startswith("The batch took longer than")


async def test_a_batch_counts_as_its_operations(make_api: MakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProjectSettings, "requests_per_day", property(lambda _: 40))
    api = await make_api(AUTH_LIMIT="4")
    await declare(api, LINES | {"order_id": {"type": "string"}}, "lines")
    user = (await api.signup()).json()["user"]["id"]
    used = 2
    answer = await batch(api, [create("lines", {})] * 20)
    assert answer.status_code == 200, answer.text
    used += 20
    refused = await batch(api, [create("lines", {})] * 30)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limit_exceeded")
    assert int(refused.headers["retry-after"]) > 0
    assert api.database["c_lines"].count_documents({}) == 20
    used += 1
    refused = await batch(api, [{"op": "get", "collection": "users", "id": user}] * 5)
    assert (refused.status_code, "auth" in refused.json()["detail"]) == (429, True)
    used += 1
    passed = 0
    while (await batch(api, [create("lines", {})])).status_code == 200:
        passed += 1
    assert used + passed == 40


RULES: dict[str, Any] = {
    "lines": {"read": "users", "create": "users", "update": {"n_lte": 5}, "delete": False},
    "orders": {"create": "users", "read": {"$user.roles_eq": "admin"}},
}


async def batch_as(person: Person, operations: Any, *, atomic: bool = True) -> Any:
    return await person.ask("POST", "/api/batch", json={"operations": operations, "atomic": atomic})


async def test_rules_hold_in_every_operation(shop: Api) -> None:
    saved = await save(shop, {"collections": RULES, "users": {"fields": {"data.plan": {"write": "server"}}}})
    assert saved.status_code == 200, saved.text
    ann, bob, guest = await sign_up(shop, "ann"), await sign_up(shop, "bob"), guest_of(shop)
    line, order = await added(shop, {"n": 5}, "lines"), await added(shop, {"city": "x", "sku": "taken"}, "orders")
    before = count(shop)
    forbidden: Operations = [
        {"op": "delete", "collection": "lines", "id": line},
        {"op": "update", "collection": "lines", "id": line, "increment": {"n": 1}},
        {"op": "get", "collection": "orders", "id": order},
        {"op": "update", "collection": "users", "id": bob.id, "data": {"name": "x"}},
    ]
    for operation in forbidden:
        answer = await batch_as(ann, [create("lines", {"n": 1}), operation])
        assert (answer.status_code, answer.json()["code"], answer.json()["operation"]) == (403, "forbidden", 1), (
            operation
        )
        assert count(shop) == before
    for operation, status in (
        ({"op": "get", "collection": "nothing", "id": line}, 404),
        ({"op": "get", "collection": "users", "id": bob.id}, 401),
        (create("lines", {"order_id": order}), 422),
        (create("orders", {"city": "x", "sku": "taken"}), 409),
        ({"op": "update", "collection": "users", "id": ann.id, "data": {"plan": "pro"}}, 422),
    ):
        answer = await batch_as(ann, [create("lines", {"n": 1}), operation])
        assert (answer.status_code, answer.json()["operation"]) == (status, 1), (operation, answer.text)
        assert count(shop) == before
    anonymous = await batch_as(guest, [create("lines", {"n": 1})])
    assert (anonymous.status_code, anonymous.json()["code"]) == (401, "unauthorized")
    done = await batch_as(
        ann,
        [
            create("lines", {"n": 5}, **{"as": "l"}),
            {"op": "update", "collection": "lines", "id": {"$id": "l"}, "increment": {"n": -1}},
            create("orders", {"city": "x"}),
            {"op": "update", "collection": "users", "id": ann.id, "data": {"name": "Ann"}},
        ],
    )
    assert done.status_code == 200, done.text
    results = done.json()["results"]
    assert results[1]["document"]["data"]["n"] == 4
    assert results[2]["document"].keys() == {"id"}
    assert results[3]["document"]["data"]["name"] == "Ann"
    assert (await server_of(shop).list("lines")).json()["total"] == 2


async def test_who_asks_without_rules_is_asked_for_the_key(shop: Api) -> None:
    ann = await sign_up(shop, "ann")
    answer = await batch_as(ann, [create("lines", {})])
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")


async def test_taken_values_cannot_be_guessed_by_batches(shop: Api) -> None:
    await save(shop, {"collections": RULES})
    ann = await sign_up(shop, "ann")
    await added(shop, {"city": "x", "sku": "taken"}, "orders")
    guess = create("orders", {"city": "x", "sku": "taken"})
    answer = await batch_as(ann, [guess] * 25, atomic=False)
    assert [each["status"] for each in answer.json()["results"]] == [409] * 20 + [429] * 5


async def test_what_of_a_user_a_batch_does_not_set_says_so(api: Api) -> None:
    form = {"data": '{"email": "eve@example.com", "password": "correct horse"}'}
    made = await api.request("POST", "/auth-collections/signup", data=form, files={"photo": ("a.png", picture("PNG"))})
    user = made.json()["user"]
    by_file = "This field holds a file, which PUT /auth-collections/user replaces"
    for change_, loc, type_, msg in (
        ({"data": {"photo": "x"}}, ["data", "photo"], "file", by_file),
        ({"data": {"email": "x@example.com"}}, ["data", "email"], "reserved", "email cannot be set here"),
        ({"push": {"id": "x"}}, ["push", "id"], "reserved", "id cannot be set here"),
    ):
        operation = {"op": "update", "collection": "users", "id": user["id"], **change_}
        answer = await api.request("POST", "/api/batch", json={"operations": [operation]})
        assert answer.status_code == 422, answer.text
        found = [(each["loc"], each["type"], each["msg"]) for each in answer.json()["detail"]]
        assert found == [(["body", "operations", 0, *loc], type_, msg)]
