"""Operators of PATCH: what they do, what they refuse, and that they are one step with what others do."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.conftest import Api, CommandRecorder
from tests.declared import added, change, declare, one, violations
from tests.web.rules.conftest import Person, save, server_of, sign_up

SCHEMA: dict[str, Any] = {
    "stock": {"type": "integer", "min": 0},
    "price": {"type": "number", "nullable": True},
    "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "max_length": 4},
    "days": {"type": "array", "items": {"type": "datetime"}},
    "place": {
        "type": "object",
        "properties": {"visits": {"type": "integer"}, "city": {"type": "string", "default": "Bonn"}},
    },
    "meta": {"type": "object"},
    "state": {"type": "string", "default": "new"},
    "name": {"type": "string", "required": True},
    "code": {"type": "integer", "unique": True},
}


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def patch(api: Api, id_: str, body: Any, **headers: str) -> httpx2.Response:
    return await api.request("PATCH", f"/api/collections/things/documents/{id_}", json=body, headers=headers)


DONE: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("increment", {"stock": 3}, {"increment": {"stock": -1}}, {"stock": 2}),
    ("increment what is not there", {}, {"increment": {"stock": 2.0}}, {"stock": 2}),
    ("multiply", {"price": 3}, {"multiply": {"price": 1.5}}, {"price": 4.5}),
    ("multiply what is not there", {}, {"multiply": {"price": 5}}, {"price": 0}),
    ("min and max", {"stock": 3, "price": 3}, {"min": {"stock": 2}, "max": {"price": 4}}, {"stock": 2, "price": 4}),
    ("neither min nor max", {"stock": 3, "price": 3}, {"min": {"stock": 5}, "max": {"price": 1}}, {}),
    ("min and max of nothing", {}, {"min": {"stock": 5}, "max": {"price": 1}}, {"stock": 5, "price": 1}),
    ("push", {"tags": ["a"]}, {"push": {"tags": "a"}}, {"tags": ["a", "a"]}),
    ("push several", {}, {"push": {"tags": {"each": ["a", "b"]}}}, {"tags": ["a", "b"]}),
    ("add", {"tags": ["a"]}, {"add": {"tags": {"each": ["a", "b", "b"]}}}, {"tags": ["a", "b"]}),
    ("pull", {"tags": ["a", "b", "a"]}, {"pull": {"tags": "a"}}, {"tags": ["b"]}),
    ("pull several", {"tags": ["a", "b"]}, {"pull": {"tags": {"each": ["a", "b"]}}}, {"tags": []}),
    ("pull from nothing", {}, {"pull": {"tags": "a"}}, {}),
    ("a date", {}, {"push": {"days": "2026-01-31"}}, {"days": ["2026-01-31T00:00:00.000Z"]}),
    ("inside an object", {"place": {"visits": 1}}, {"increment": {"place.visits": 1}}, {"place.visits": 2}),
    ("an object of anything", {}, {"increment": {"meta.a.b": 1}, "push": {"meta.c": {"x": 1}}}, {"meta.a.b": 1}),
    ("pull is no condition", {"meta": {"c": [{"x": 1, "y": 2}]}}, {"pull": {"meta.c": {"x": 1}}}, {}),
    ("unset", {"stock": 3}, {"unset": ["stock"]}, {"stock": None}),
    ("unset what has a default", {"state": "old"}, {"unset": ["state"]}, {"state": "new"}),
    ("unset inside an object", {"place": {"city": "Rome"}}, {"unset": ["place.city"]}, {"place.city": "Bonn"}),
    ("with data", {"stock": 3}, {"data": {"name": "y"}, "increment": {"stock": 1}}, {"name": "y", "stock": 4}),
]


async def test_what_an_operator_does(things: Api) -> None:
    for name, data, body, expected in DONE:
        id_ = await added(things, {"name": "x", **data})
        before = (await one(things, "GET", id_)).json()["data"]
        answer = await patch(things, id_, body)
        assert answer.status_code == 200, (name, answer.text)
        assert {path: value_at(answer.json()["data"], path) for path in expected} == expected, name
        assert expected or answer.json()["data"] == before, name
        assert answer.json()["version"] == 2
        assert (await one(things, "GET", id_)).json() == answer.json()


def value_at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if value else None
    return value


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], list[tuple[Any, ...]]]] = [
    ("nothing", {}, {}, [("data", "missing")]),
    ("nothing at all", {}, {"increment": {}, "unset": []}, [("data", "missing")]),
    ("a text", {}, {"increment": {"stock": "1"}}, [("increment", "stock", "float_type")]),
    ("null", {}, {"min": {"price": None}}, [("min", "price", "float_type")]),
    ("undeclared", {}, {"increment": {"x": 1}}, [("increment", "x", "extra_forbidden")]),
    ("undeclared inside", {}, {"unset": ["place.x"]}, [("unset", "place.x", "extra_forbidden")]),
    ("no number", {}, {"max": {"name": 1}}, [("max", "name", "float_type")]),
    ("no array", {}, {"push": {"name": "x"}}, [("push", "name", "list_type")]),
    ("into a text", {}, {"increment": {"name.x": 1}}, [("increment", "name.x", "dict_type")]),
    ("into an array", {}, {"unset": ["tags.0"]}, [("unset", "tags.0", "dict_type")]),
    ("each is no list", {}, {"push": {"tags": {"each": "a"}}}, [("push", "tags", "list_type")]),
    ("a bad name", {}, {"unset": ["place..city"]}, [("unset", "place..city", "field_name")]),
    ("a bad name in an element", {}, {"push": {"meta.c": {"$gt": 1}}}, [("push", "meta", "c", 0, "$gt", "field_name")]),
    ("too deep", {}, {"unset": [".".join("m" * 33)]}, [("unset", "m." * 20 + "...", "too_deep")]),
    ("twice", {}, {"increment": {"stock": 1}, "max": {"stock": 1}}, [("max", "stock", "repeated")]),
    ("twice with data", {}, {"data": {"stock": 1}, "unset": ["stock"]}, [("unset", "stock", "repeated")]),
    ("a field and its object", {}, {"data": {"place": {}}, "unset": ["place.city"]}, [("unset", "place.city", "repeated")]),
    ("inside another", {}, {"push": {"meta.a": 1}, "unset": ["meta"]}, [("push", "meta.a", "repeated")]),
    ("too many", {}, {"unset": [f"meta.a{n}" for n in range(1_001)]}, [("too_many",)]),
    ("too many elements", {}, {"add": {"meta.a": {"each": list(range(501))}}}, [("add", "meta.a", "too_long")]),
    ("a pattern", {}, {"push": {"tags": {"each": ["a", "B"]}}}, [("push", "tags", 1, "string_pattern_mismatch")]),
    ("a stored null", {"price": None}, {"increment": {"price": 1}}, [("increment", "price", "float_type")]),
    ("min of a stored null", {"price": None}, {"min": {"price": 1}}, [("min", "price", "float_type")]),
    ("a stored text", {"meta": {"a": "x"}}, {"push": {"meta.a": 1}}, [("push", "meta.a", "list_type")]),
    ("through a stored text", {"meta": {"a": "x"}}, {"push": {"meta.a.b": 1}}, [("push", "meta.a.b", "dict_type")]),
    ("through a stored array", {"meta": {"a": [1]}}, {"unset": ["meta.a.0"]}, [("unset", "meta.a.0", "dict_type")]),
    ("beyond 64 bits", {"stock": 2**63 - 1}, {"increment": {"stock": 1}}, [("increment", "stock", "finite_number")]),
    ("beyond doubles", {"price": 1e308}, {"multiply": {"price": 10}}, [("multiply", "price", "finite_number")]),
    ("by a sum", {"price": 1.7e308}, {"increment": {"price": 1.7e308}}, [("increment", "price", "finite_number")]),
    ("what the schema forbids", {"stock": 0}, {"increment": {"stock": -1}}, [("data", "stock", "greater_than_equal")]),
    ("a fraction", {"stock": 1}, {"multiply": {"stock": 0.5}}, [("data", "stock", "int_type")]),
    ("a long array", {"tags": ["a"] * 4}, {"push": {"tags": "a"}}, [("data", "tags", "too_long")]),
    ("unset what is required", {}, {"unset": ["name"]}, [("data", "name", "missing")]),
    ("an unknown operator", {}, {"unset": ["stock"], "rename": {}}, [("rename", "extra_forbidden")]),
]  # fmt: skip


async def test_what_an_operator_refuses(things: Api) -> None:
    for name, data, body, expected in REFUSED:
        id_ = await added(things, {"name": "x", **data})
        before = (await one(things, "GET", id_)).json()
        assert violations(await patch(things, id_, body)) == [("body", *each) for each in expected], name
        assert (await one(things, "GET", id_)).json() == before, name


async def test_a_document_that_is_not_there(things: Api) -> None:
    answer = await patch(things, "0" * 24, {"increment": {"stock": 1}})
    assert (answer.status_code, answer.json()["code"]) == (404, "document_not_found")


async def test_a_unique_value_is_still_unique(things: Api) -> None:
    await added(things, {"name": "x", "code": 2})
    id_ = await added(things, {"name": "y", "code": 1})
    assert (await patch(things, id_, {"increment": {"code": 1}})).json()["code"] == "duplicate_value"


async def test_the_version_is_looked_at_before_what_is_stored(things: Api) -> None:
    id_ = await added(things, {"name": "x", "price": None})
    for body in ({"increment": {"price": 1}}, {"increment": {"x": 1}}):
        answer = await patch(things, id_, body, **{"if-match": '"v2"'})
        assert (answer.status_code, answer.headers["etag"]) == (412, '"v1"')


async def test_an_operator_is_one_round_trip(things: Api, commands: CommandRecorder) -> None:
    id_ = await added(things, {"name": "x"})
    commands.commands.clear()
    assert (await patch(things, id_, {"increment": {"stock": 1}, "push": {"meta.a": 1}})).status_code == 200
    assert commands.names == ["findAndModify"]


async def test_racing_increments_all_count(things: Api) -> None:
    id_ = await added(things, {"name": "x", "stock": 20})
    answers = await asyncio.gather(*(patch(things, id_, {"increment": {"stock": -1}}) for _ in range(60)))
    assert sorted(answer.status_code for answer in answers) == [200] * 20 + [422] * 40
    assert (await one(things, "GET", id_)).json()["data"]["stock"] == 0
    assert (await one(things, "GET", id_)).json()["version"] == 21


async def test_a_change_under_a_condition(things: Api) -> None:
    id_ = await added(things, {"name": "x", "stock": 1})
    body = {"increment": {"stock": -1}, "where": {"stock_gte": 1, "or": [{"name_eq": "x"}, {"state_eq": "old"}]}}
    assert (await patch(things, id_, body)).json()["data"]["stock"] == 0
    refused = await patch(things, id_, body)
    assert (refused.status_code, refused.json()) == (
        409,
        {"detail": "The document does not satisfy the conditions; nothing was changed", "code": "condition_failed"},
    )
    assert (await patch(things, id_, {"data": {"name": "y"}, "where": {}})).status_code == 200
    assert (await one(things, "GET", id_)).json()["data"]["stock"] == 0


async def test_the_order_of_refusals(things: Api) -> None:
    """404, 412, 409, and then what the change would break."""
    await added(things, {"name": "x", "code": 1})
    id_ = await added(things, {"name": "x", "price": None})
    for broken, status in (
        ({"data": {"stock": -1}}, 422),
        ({"data": {"code": 1}}, 409),
        ({"increment": {"price": 1}}, 422),
        ({"push": {"tags": "B"}}, 422),
        ({"increment": {"unknown": 1}}, 422),
    ):
        body = {**broken, "where": {"name_eq": "y"}}
        assert (await patch(things, "0" * 24, body)).status_code == 404, broken
        assert (await patch(things, id_, body, **{"if-match": '"v9"'})).status_code == 412, broken
        assert (await patch(things, id_, body, **{"if-match": '"v1"'})).json()["code"] == "condition_failed", broken
        met = await patch(things, id_, {**broken, "where": {"name_eq": "x"}})
        assert (met.status_code, met.json()["code"] == "condition_failed") == (status, False), broken
    assert (await one(things, "GET", id_)).json()["version"] == 1


BAD_CONDITIONS: list[tuple[Any, tuple[Any, ...]]] = [
    ([], ("body", "where", "dict_type")),
    ({"x_eq": 1}, ("body", "where", "x_eq", "value_error")),
    ({"stock": 1}, ("body", "where", "stock", "value_error")),
    ({"stock_gte": None}, ("body", "where", "stock_gte", "value_error")),
    ({"or": []}, ("body", "where", "or", "list_type")),
    ({"not": {}}, ("body", "where", "not", "where")),
    ({"owner.name_eq": "x"}, ("body", "where", "owner.name_eq", "value_error")),
    ({f"a{n}_eq": 1 for n in range(51)}, ("body", "where", "too_many")),
]


async def test_bad_conditions_are_refused(api: Api) -> None:
    """A condition names a field of the document itself: what it refers to may change at any moment."""
    await declare(api, {"owner_id": {"type": "reference", "collection": "users"}, "stock": {"type": "integer"}})
    id_ = await added(api, {"stock": 1})
    for where, expected in BAD_CONDITIONS:
        answer = await patch(api, id_, {"data": {}, "where": where})
        assert violations(answer)[0] == expected, where
    assert violations(await patch(api, id_, {"where": {"stock_eq": 1}})) == [("body", "data", "missing")]


async def test_of_sixty_racing_purchases_of_twenty_twenty_succeed(things: Api) -> None:
    id_ = await added(things, {"name": "x", "stock": 20})
    body = {"increment": {"stock": -1}, "where": {"stock_gte": 1}}
    answers = await asyncio.gather(*(patch(things, id_, body) for _ in range(60)))
    assert sorted(answer.status_code for answer in answers) == [200] * 20 + [409] * 40
    assert (await one(things, "GET", id_)).json()["data"]["stock"] == 0


async def test_a_guarded_change_is_one_round_trip(things: Api, commands: CommandRecorder) -> None:
    id_ = await added(things, {"name": "x", "stock": 1})
    commands.commands.clear()
    body = {"increment": {"stock": -1}, "where": {"stock_gte": 1}}
    assert (await patch(things, id_, body, **{"if-match": '"v1"'})).status_code == 200
    assert commands.names == ["findAndModify"]
    assert (await patch(things, id_, body)).status_code == 409
    assert commands.names == ["findAndModify", "findAndModify", "find"]


async def test_a_keyed_change_is_refused_as_any_other(things: Api) -> None:
    """In a transaction MongoDB ends it with what it refuses."""
    id_ = await added(things, {"name": "x", "price": None})
    key = {"idempotency-key": "k"}
    refused = await patch(things, id_, {"increment": {"price": 1}}, **key)
    assert violations(refused) == [("body", "increment", "price", "float_type")]
    failed = await patch(things, id_, {"increment": {"stock": 1}, "where": {"name_eq": "y"}}, **key)
    assert failed.json()["code"] == "condition_failed"
    for _ in range(2):
        assert (await patch(things, id_, {"increment": {"stock": 1}}, **key)).json()["data"]["stock"] == 1


async def test_a_field_that_was_just_declared_is_known(things: Api) -> None:
    id_ = await added(things, {"name": "x"})
    assert violations(await patch(things, id_, {"increment": {"more": 1}})) == [
        ("body", "increment", "more", "extra_forbidden")
    ]
    await change(things, {"more": {"type": "integer"}})
    assert (await patch(things, id_, {"increment": {"more": 1}})).json()["data"]["more"] == 1


RULED: dict[str, Any] = {
    "owner_id": {"type": "reference", "collection": "users"},
    "stock": {"type": "integer"},
    "likes": {"type": "integer"},
    "secret": {"type": "integer", "max": 10},
    "rating": {"type": "integer"},
    "price": {"type": "integer", "nullable": True},
    "label": {"type": "string"},
}
OWNED = {"owner_id_eq": "$user.id"}
RULES: dict[str, Any] = {
    "read": "users",
    "create": "users",
    "update": {"before": "users", "after": {"stock_gte": 0}},
    "fields": {
        "owner_id": {"set": "$user.id", "write": "create"},
        "secret": {"read": {"$user.roles_eq": "admin"}},
        "rating": {"write": "server"},
        "price": {"read": OWNED},
        "label": {"write": OWNED},
    },
}


async def ruled(api: Api, **rules: Any) -> tuple[Person, Person, str]:
    """Two users, and a document of the first."""
    await declare(api, RULED)
    saved = await save(api, {"collections": {"things": {**RULES, **rules}}})
    assert saved.status_code == 200, saved.text
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    made = await ann.create("things", stock=5, likes=1, price=5, label="x")
    assert made.status_code == 201, made.text
    await server_of(api).merge("things", made.json()["id"], secret=5, rating=3)
    return ann, bob, made.json()["id"]


async def change_as(person: Person, id_: str, body: Any) -> httpx2.Response:
    answer: httpx2.Response = await person.ask("PATCH", f"/api/collections/things/documents/{id_}", json=body)
    return answer


async def test_a_rule_judges_what_an_operator_makes(api: Api) -> None:
    _, bob, id_ = await ruled(api)
    assert (await change_as(bob, id_, {"increment": {"stock": -5}})).json()["data"]["stock"] == 0
    refused = await change_as(bob, id_, {"increment": {"stock": -1}})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (await change_as(bob, id_, {"increment": {"likes": -9}})).json()["data"]["likes"] == -8
    assert (await change_as(bob, id_, {"unset": ["stock"]})).status_code == 403
    assert (await server_of(api).get("things", id_)).json()["data"]["stock"] == 0


async def test_racing_changes_never_pass_a_rule_together(api: Api) -> None:
    _, bob, id_ = await ruled(api)
    answers = await asyncio.gather(*(change_as(bob, id_, {"increment": {"stock": -1}}) for _ in range(12)))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {200, 403, 503}
    assert (await server_of(api).get("things", id_)).json()["data"]["stock"] == 5 - statuses.count(200)
    assert statuses.count(200) <= 5


async def test_an_operator_tells_nothing_of_a_hidden_field(api: Api) -> None:
    """By its maximum a field could be found out, one step at a time."""
    _, bob, id_ = await ruled(api)
    for body in ({"increment": {"secret": 6}}, {"push": {"secret": 1}}, {"unset": ["secret"]}, {"min": {"secret": 1}}):
        hidden = await change_as(bob, id_, body)
        absent = await change_as(bob, id_, eval(repr(body).replace("secret", "absent")))  # noqa: S307 - our own text
        assert hidden.status_code == 422
        assert hidden.text.replace("secret", "absent") == absent.text
    assert (await server_of(api).get("things", id_)).json()["data"]["secret"] == 5


async def test_a_field_that_only_its_owner_reads_is_changed_by_him_only(api: Api) -> None:
    ann, bob, id_ = await ruled(api)
    for body in ({"increment": {"price": 1}}, {"push": {"price": 1}}, {"increment": {"price": 2**63 - 1}}):
        assert (await change_as(bob, id_, body)).status_code in {403, 422}
    assert (await change_as(bob, id_, {"increment": {"price": 2**63 - 1}})).status_code == 403
    assert (await change_as(ann, id_, {"increment": {"price": 1}})).json()["data"]["price"] == 6
    await server_of(api).merge("things", id_, price=None)
    assert (await change_as(bob, id_, {"increment": {"price": 1}})).status_code == 403
    assert violations(await change_as(ann, id_, {"increment": {"price": 1}})) == [
        ("body", "increment", "price", "float_type")
    ]


async def test_conditions_look_only_at_what_the_caller_may_read(api: Api) -> None:
    ann, bob, id_ = await ruled(api)
    for name in ("secret", "absent"):
        for where in ({f"{name}_gte": 5}, {"not": {f"{name}_gte": 5}}):
            assert violations(await change_as(bob, id_, {"data": {}, "where": where}))[0][-1] == "value_error"
    unseen: list[Any] = [{"price_eq": 5}, {"price_ne": 5}, {"not": {"price_eq": 5}}, {"price_isnull": True}]
    for where in unseen:
        assert (await change_as(bob, id_, {"data": {}, "where": where})).json()["code"] == "condition_failed"
    assert (await change_as(ann, id_, {"data": {}, "where": {"price_eq": 5}})).status_code == 200
    body = {"increment": {"stock": -9}, "where": {"stock_gte": 9}}
    assert (await change_as(bob, id_, body)).json()["code"] == "condition_failed"
    assert (await change_as(bob, id_, {**body, "where": {"stock_gte": 5}})).status_code == 403
    assert (await change_as(bob, "0" * 24, body)).status_code == 404


async def test_operators_keep_to_the_rules_of_fields(api: Api) -> None:
    ann, bob, id_ = await ruled(api)
    for name in ("rating", "owner_id"):
        body = {"unset": [name]}
        assert violations(await change_as(ann, id_, body)) == [("body", "unset", name, "not_writable")]
    assert (await change_as(bob, id_, {"unset": ["label"]})).status_code == 403
    assert "label" not in (await change_as(ann, id_, {"unset": ["label"]})).json()["data"]
    gone = await change_as(bob, "0" * 24, {"increment": {"stock": 1}})
    assert (gone.status_code, gone.json()["code"]) == (404, "document_not_found")


async def test_an_operator_goes_with_relations_in_rules(api: Api) -> None:
    await declare(api, {"open": {"type": "boolean"}}, "shops")
    await declare(
        api,
        {"shop_id": {"type": "reference", "collection": "shops"}, "n": {"type": "integer"}, "m": {"type": "integer"}},
    )
    rules = {
        "read": "users",
        "update": {"shop.open_eq": True, "n_lte": 3},
        "fields": {"m": {"write": {"shop.open_eq": True}}},
    }
    await save(api, {"collections": {"things": rules, "shops": {"read": "users"}}})
    shop = await added(api, {"open": True}, "shops")
    id_ = await added(api, {"shop_id": shop, "n": 1, "m": 1})
    ann = await sign_up(api, "ann")
    assert (await change_as(ann, id_, {"increment": {"m": 1}})).json()["data"]["m"] == 2
    assert (await change_as(ann, id_, {"increment": {"n": 1, "m": 1}})).json()["data"] == {
        "shop_id": shop,
        "n": 2,
        "m": 3,
    }
    assert (await change_as(ann, id_, {"increment": {"n": 2}})).status_code == 403
    assert (await change_as(ann, id_, {"unset": ["shop_id"]})).status_code == 403
    await one(api, "PATCH", shop, {"open": False}, name="shops")
    for body in ({"increment": {"m": 1}}, {"increment": {"n": 1}}):
        assert (await change_as(ann, id_, body)).status_code == 403
