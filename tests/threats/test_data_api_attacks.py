"""Attacks on lists and writes of documents, by a client with the secret key, a user under rules, and a stranger."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.declared import added, declare, violations
from tests.web.rules.conftest import guest_of, save, sign_up

SCHEMA: dict[str, Any] = {
    "name": {"type": "string"},
    "stock": {"type": "integer"},
    "tags": {"type": "array"},
}
QUERY = "/api/collections/things/query"


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def test_a_tag_of_a_version_past_64_bits_is_that_of_no_document(things: Api) -> None:
    path = f"/api/collections/things/documents/{await added(things, {'name': 'x'})}"
    for tag in ('"v9223372036854775807"', '"v9223372036854775808"', '"v9999999999999999999"', f'"v{"9" * 4_000}"'):
        for method in ("PUT", "PATCH", "DELETE"):
            body = {} if method == "DELETE" else {"json": {"data": {"name": "y"}}}
            answer = await things.request(method, path, headers={"if-match": tag}, **body)
            assert (answer.status_code, answer.json()["code"]) == (412, "version_conflict")
        assert (await things.request("GET", path, headers={"if-none-match": tag})).status_code == 200


async def test_however_deep_the_value_of_a_condition_is_it_is_refused(things: Api) -> None:
    headers = {"content-type": "application/json"}
    for value in ("[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300):
        for operator in ("eq", "in", "hasall"):
            body = f'{{"where": {{"tags_{operator}": {value}}}, "cursor": "*"}}'
            answer = await things.request("POST", QUERY, content=body, headers=headers)
            assert violations(answer) == [("body", "where", f"tags_{operator}", "value_error")]


async def test_a_change_of_many_that_is_nested_too_deep_is_refused(things: Api) -> None:
    await added(things, {"name": "x"})
    for body in (
        f'{{"where": {{}}, "expect": 1, "data": {{"tags": {"[" * 300 + "]" * 300}}}}}',
        f'{{"where": {{"tags_eq": {"[" * 300 + "]" * 300}}}, "expect": 1, "data": {{}}}}',
    ):
        headers = {"content-type": "application/json"}
        answer = await things.request("POST", "/api/collections/things/update", content=body, headers=headers)
        assert violations(answer) == [("body", "too_deep")]


BATCH = "/api/batch"


async def test_a_batch_does_not_answer_one_large_document_a_hundred_times(things: Api) -> None:
    id_ = await added(things, {"name": "x" * 1_000_000})
    document = {"collection": "things", "id": id_}
    each = {"atomic": False, "operations": [{"op": "get", **document}] * 100}
    results = (await things.request("POST", BATCH, json=each)).json()["results"]
    assert [result["status"] for result in results] == [200] * 17 + [413] * 83
    assert results[-1]["error"]["code"] == "too_large"
    together = {"operations": [{"op": "update", "increment": {"stock": 1}, **document}] * 100}
    refused = await things.request("POST", BATCH, json=together)
    assert (refused.status_code, refused.json()["code"], refused.json()["operation"]) == (413, "too_large", 17)
    stored = await things.request("GET", f"/api/collections/things/documents/{id_}")
    assert stored.json()["version"] == 1


# Endpoints that answer with values, or write, past the rules.
CLOSED = (
    ("GET", "/api/collections/things/distinct?field=name"),
    ("GET", "/auth-collections/users/distinct?field=id"),
    ("POST", "/api/collections/things/aggregate"),
    ("POST", "/auth-collections/users/aggregate"),
    ("GET", "/api/aggregations"),
    ("PUT", "/api/aggregations/all"),
    ("GET", "/api/collections/things/export"),
    ("POST", "/api/collections/things/import"),
)
OPEN = dict.fromkeys(("read", "create", "update", "delete"), "anyone")


async def test_rules_open_none_of_what_is_for_the_secret_key(things: Api) -> None:
    await save(things, {"collections": {"things": OPEN}, "users": {"read": "anyone"}})
    user, guest = await sign_up(things, "ann"), guest_of(things)
    for method, path in CLOSED:
        answers = [await who.ask(method, path, json={}) for who in (user, guest)]
        codes = [(answer.status_code, answer.json()["code"]) for answer in answers]
        assert codes == [(401, "invalid_api_key"), (403, "secret_key_required")], (method, path)


GONE = "f" * 24
OPERATIONS: tuple[dict[str, Any], ...] = (
    {"op": "get"},
    {"op": "delete"},
    {"op": "delete", "if_match": 1},
    {"op": "replace", "data": {"name": "x"}},
    {"op": "update", "data": {"stock": "no number"}, "if_match": 1},
    {"op": "update", "increment": {"stock": 1}},
    {"op": "update", "increment": {"stock": 1}, "if_match": 1},
    {"op": "update", "increment": {"stock": 1}, "where": {"stock_gte": 1}},
    {"op": "update", "push": {"tags": 1}, "where": {"tags_isnull": False}},
    {"op": "update", "min": {"hidden": 1}},
    {"op": "update", "unset": ["name"], "where": {"hidden_gt": 1}},
)


async def test_no_operation_of_a_batch_tells_what_may_not_be_read_from_what_is_not_there(api: Api) -> None:
    await declare(api, SCHEMA | {"hidden": {"type": "integer"}})
    rule = {"name_eq": "open"}
    fields = {"hidden": {"read": False}}
    await save(api, {"collections": {"things": OPEN | {"read": rule, "update": rule, "fields": fields}}})
    id_ = await added(api, {"name": "shut", "stock": 5, "hidden": 3, "tags": [1]})
    ann = await sign_up(api, "ann")
    for operation in OPERATIONS:
        for atomic in (True, False):
            answers = [
                await ann.ask(
                    "POST",
                    BATCH,
                    json={"atomic": atomic, "operations": [{**operation, "collection": "things", "id": each}]},
                )
                for each in (id_, GONE)
            ]
            assert answers[0].text == answers[1].text, operation
            assert [answer.status_code for answer in answers] in ([404, 404], [422, 422], [200, 200])
    stored = await api.request("GET", f"/api/collections/things/documents/{id_}")
    assert stored.json()["version"] == 1


async def test_no_cursor_spares_a_change_of_many_its_count(things: Api) -> None:
    await added(things, {"name": "x"})
    for path, body in (("update", {"data": {"name": "y"}}), ("delete", {})):
        for more in ({}, {"expect": 7}):
            sent = {"where": {}, **body, **more}
            answer = await things.request("POST", f"/api/collections/things/{path}?cursor=*", json=sent)
            assert violations(answer) == [("query", "cursor", "value_error")]
    found = await things.request("GET", "/api/collections/things/documents")
    assert [document["data"]["name"] for document in found.json()["documents"]] == ["x"]
