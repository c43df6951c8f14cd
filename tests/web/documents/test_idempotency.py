"""One write for each Idempotency-Key: what is replayed, to whom, and what is refused."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from service.errors import Unavailable
from service.storage.answers import KeptAnswers
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.declared import added, declare, violations
from tests.rules.examples import RULES
from tests.web.rules.conftest import declare as declare_examples
from tests.web.rules.conftest import save, sign_up

SCHEMA = {"n": {"type": "integer"}, "sku": {"type": "string", "unique": True}}
DOCUMENTS = "/api/collections/things/documents"
SIGNUP = "/auth-collections/signup"
ACCOUNT = {"email": "ann@example.com", "password": "correct horse", "name": "Ann"}
REPLAYED = "idempotency-replayed"


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def keyed(api: Api, key: str, data: Any, path: str = DOCUMENTS, method: str = "POST") -> httpx2.Response:
    return await api.request(method, path, json={"data": data}, headers={"idempotency-key": key})


def count(api: Api, name: str = "c_things") -> int:
    return api.database[name].count_documents({})


async def test_a_create_that_is_sent_again_is_answered_as_at_first(things: Api) -> None:
    first = await keyed(things, "a-key", {"n": 1})
    again = await keyed(things, "a-key", {"n": 1})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert (first.headers.get(REPLAYED), again.headers[REPLAYED]) == (None, "true")
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers.get("etag") == first.headers.get("etag")
    assert count(things) == 1


async def test_a_change_that_is_sent_again_is_not_made_again(things: Api) -> None:
    path = f"{DOCUMENTS}/{await added(things, {'n': 1})}"
    first = await keyed(things, "k", {"n": 2}, path, "PATCH")
    await things.request("PATCH", path, json={"data": {"n": 3}})
    again = await keyed(things, "k", {"n": 2}, path, "PATCH")
    assert (again.status_code, again.content, again.headers[REPLAYED]) == (200, first.content, "true")
    assert (await things.request("GET", path)).json()["data"] == {"n": 3}


async def test_a_signup_that_is_sent_again_has_a_new_token_and_no_new_user(api: Api) -> None:
    async def signup() -> httpx2.Response:
        return await api.request("POST", SIGNUP, json=ACCOUNT, headers={"idempotency-key": "k"})

    first, again = await signup(), await signup()
    assert (first.status_code, again.status_code, again.headers[REPLAYED]) == (201, 201, "true")
    assert first.json().keys() == again.json().keys() == {"access_token", "token_type", "user"}
    assert first.json()["user"] == again.json()["user"]
    tokens = [each.json()["access_token"] for each in (first, again)]
    assert tokens[0] != tokens[1]
    for token in tokens:
        assert (await api.as_user(token, "GET", "/auth-collections/user")).json()["email"] == ACCOUNT["email"]
    assert count(api, "users") == 1


@pytest.mark.parametrize("change", ["deleted", "another password"])
async def test_v21_a_signup_sent_again_opens_no_session_of_an_account_that_changed(api: Api, change: str) -> None:
    headers = {"idempotency-key": "k"}
    first = await api.request("POST", SIGNUP, json=ACCOUNT, headers=headers)
    path = f"/auth-collections/users/{first.json()['user']['id']}"
    if change == "deleted":
        assert (await api.request("DELETE", path)).status_code == 204
    else:
        assert (await api.request("PUT", f"{path}/password", json={"password": "another one"})).status_code == 204
    again = await api.request("POST", SIGNUP, json=ACCOUNT, headers=headers)
    assert (again.status_code, again.json()["code"]) == (409, "idempotency_key_used")
    assert "access_token" not in again.text
    assert count(api, "sessions") == 0
    assert count(api, "users") == (change != "deleted")


async def test_what_is_kept_shows_nothing(api: Api) -> None:
    answer = await api.request("POST", SIGNUP, json=ACCOUNT, headers={"idempotency-key": "key-of-ann"})
    kept = str(api.database["kept_answers"].find_one())
    token, user_id = answer.json()["access_token"], answer.json()["user"]["id"]
    assert not [text for text in ("key-of-ann", token, user_id, *ACCOUNT.values()) if text in kept]


@pytest.mark.parametrize(
    ("method", "path", "data"),
    [
        ("POST", DOCUMENTS, {"n": 2}),
        ("POST", "/api/collections/others/documents", {"n": 1}),
        ("PATCH", f"{DOCUMENTS}/{'0' * 24}", {"n": 1}),
    ],
    ids=["body", "path", "method"],
)
async def test_a_key_is_of_one_request(things: Api, method: str, path: str, data: Any) -> None:
    await declare(things, SCHEMA, "others")
    await keyed(things, "k", {"n": 1})
    answer = await keyed(things, "k", data, path, method)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    (rule,) = answer.json()["detail"]
    assert (rule["loc"], rule["type"]) == (["header", "idempotency-key"], "idempotency_key_reused")
    assert count(things) + count(things, "c_others") == 1


BAD = ["", " ", "a b", '"a', 'a"b', '""', '"a\\b"', "x" * 256, f'"{"x" * 256}"', "a, b"]


async def test_a_bad_key_is_refused(things: Api) -> None:
    for key in BAD:
        answer = await keyed(things, key, {})
        assert violations(answer) == [("header", "idempotency-key", "value_error")], key
    assert count(things) == 0


async def test_two_keys_are_none(things: Api) -> None:
    headers = [("x-api-key", things.key), ("idempotency-key", "a"), ("idempotency-key", "a")]
    answer = await things.http.post(DOCUMENTS, json={"data": {}}, headers=headers)
    assert violations(answer) == [("header", "idempotency-key", "value_error")]


async def test_quotes_are_no_part_of_a_key(things: Api) -> None:
    for one, other in (("abc", '"abc"'), ("a\\b", '"a\\\\b"'), ("x" * 255, f'"{"x" * 255}"')):
        await keyed(things, one, {"n": 1})
        assert REPLAYED in (await keyed(things, other, {"n": 1})).headers


async def test_what_was_refused_may_be_mended_under_the_same_key(things: Api) -> None:
    assert (await keyed(things, "k", {"n": "one"})).status_code == 422
    assert (await keyed(things, "k", {"n": 1})).status_code == 201
    assert count(things) == 1


async def test_a_duplicate_value_is_refused_and_not_kept(things: Api) -> None:
    id_ = await added(things, {"sku": "a"})
    assert (await keyed(things, "k", {"sku": "a"})).status_code == 409
    await things.request("DELETE", f"{DOCUMENTS}/{id_}")
    assert (await keyed(things, "k", {"sku": "a"})).status_code == 201


async def test_a_key_is_free_again_once_it_expired(things: Api) -> None:
    await keyed(things, "k", {"n": 1})
    things.database["kept_answers"].update_one({}, {"$set": {"expires": datetime.now(UTC) - timedelta(seconds=1)}})
    answer = await keyed(things, "k", {"n": 2})
    assert (answer.status_code, answer.headers.get(REPLAYED), count(things)) == (201, None, 2)
    (kept,) = things.database["kept_answers"].find()
    left = kept["expires"].replace(tzinfo=UTC) - datetime.now(UTC)
    assert timedelta(hours=23) < left <= timedelta(hours=24)


async def test_mongodb_removes_what_expired(api: Api, mongo: MongoClient[Any]) -> None:
    assert api.database["kept_answers"].index_information()["expires"]["expireAfterSeconds"] == 0


async def test_principals_and_projects_have_keys_of_their_own(api: Api) -> None:
    await declare_examples(api, "notes")
    await save(api, {"collections": {"notes": RULES["collections"]["notes"]}})
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    path, headers = "/api/collections/notes/documents", {"idempotency-key": "k"}
    for person in (ann, bob):
        for replayed in (None, "true"):
            answer = await person.ask("POST", path, json={"data": {"text": "mine"}}, headers=headers)
            assert (answer.status_code, answer.headers.get(REPLAYED)) == (201, replayed)
            assert answer.json()["data"]["owner_id"] == person.id
    server = await api.request("POST", path, json={"data": {"text": "mine"}}, headers=headers)
    assert (server.status_code, REPLAYED in server.headers) == (201, False)


async def test_a_writer_who_may_not_read_is_replayed_the_id_alone(api: Api) -> None:
    await declare_examples(api, "reports")
    await save(api, {"collections": {"reports": {"create": "anyone", "read": {"$user.roles_eq": "moderator"}}}})
    ann, headers = await sign_up(api, "ann"), {"idempotency-key": "k"}
    path = "/api/collections/reports/documents"
    first, again = [await ann.ask("POST", path, json={"data": {}}, headers=headers) for _ in range(2)]
    assert first.json().keys() == {"id"}
    assert (again.content, again.headers[REPLAYED]) == (first.content, "true")
    assert count(api, "c_reports") == 1


async def test_who_may_not_write_any_more_is_not_replayed(api: Api) -> None:
    await declare_examples(api, "reports")
    await save(api, {"collections": {"reports": {"create": "anyone", "read": "anyone"}}})
    ann, headers, path = await sign_up(api, "ann"), {"idempotency-key": "k"}, "/api/collections/reports/documents"
    await ann.ask("POST", path, json={"data": {}}, headers=headers)
    await save(api, {"collections": {"reports": {"create": {"$user.roles_eq": "editor"}, "read": "anyone"}}})
    assert (await ann.ask("POST", path, json={"data": {}}, headers=headers)).status_code == 403


async def test_a_write_that_cannot_be_kept_refuses_a_key(things: Api) -> None:
    for method, path, body in (
        ("PUT", f"{DOCUMENTS}/{'0' * 24}", {"data": {}}),
        ("DELETE", f"{DOCUMENTS}/{'0' * 24}", None),
        ("POST", "/api/collections", {"name": "x", "schema": {}}),
        ("PATCH", "/api/collections/things", {"schema": {}}),
        ("POST", "/auth-collections/login", ACCOUNT),
        ("PUT", "/api/rules", {}),
    ):
        given: dict[str, Any] = {} if body is None else {"json": body}
        answer = await things.request(method, path, headers={"idempotency-key": "k"}, **given)
        assert violations(answer) == [("header", "idempotency-key", "extra_forbidden")], path


async def test_a_signup_with_files_refuses_a_key(api: Api) -> None:
    answer = await api.request("POST", SIGNUP, files={"data": (None, "{}")}, headers={"idempotency-key": "k"})
    assert violations(answer) == [("header", "idempotency-key", "extra_forbidden")]


async def test_reading_ignores_a_key(things: Api) -> None:
    assert (await things.request("GET", DOCUMENTS, headers={"idempotency-key": "a b"})).status_code == 200
    asked = {"urls": ["/files/x"]}
    answer = await things.request("POST", "/api/files/sign", json=asked, headers={"idempotency-key": "a b"})
    assert answer.json()["code"] != "validation_error" or violations(answer)[0][0] == "body"


@pytest.mark.parametrize("data", [{"n": 1}, {"sku": "a"}], ids=["plain", "a unique value"])
async def test_of_many_at_once_one_writes_and_all_are_answered(things: Api, data: Any) -> None:
    answers = await asyncio.gather(*(keyed(things, "k", data) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert [REPLAYED in answer.headers for answer in answers].count(False) == 1
    assert (count(things), count(things, "kept_answers")) == (1, 1)


async def test_of_many_signups_at_once_one_is_made(api: Api) -> None:
    headers = {"idempotency-key": "k"}
    answers = await asyncio.gather(*(api.request("POST", SIGNUP, json=ACCOUNT, headers=headers) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["user"]["id"] for answer in answers}) == 1
    assert count(api, "users") == 1


async def test_what_cannot_be_kept_is_not_written(things: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(KeptAnswers, "insert", fail)
        assert (await keyed(things, "k", {"n": 1})).status_code == 503
    assert count(things) == 0
    assert (await keyed(things, "k", {"n": 1})).status_code == 201


async def test_who_sends_a_key_pays_for_it_and_nobody_else(things: Api, commands: CommandRecorder) -> None:
    await added(things, {"n": 0})
    for key, expected in (
        ("k", ["find", "insert", "insert", "commitTransaction"]),
        ("k", ["find"]),
        (None, ["insert"]),
    ):
        headers = {} if key is None else {"idempotency-key": key}
        commands.commands.clear()
        await things.request("POST", DOCUMENTS, json={"data": {"n": 1}}, headers=headers)
        assert commands.names == expected


async def test_a_page_of_another_origin_may_send_a_key_and_learn_of_the_replay(make_api: MakeApi) -> None:
    page = "https://app.example.com"
    api = await make_api(CORS_ORIGINS=page)
    await declare(api, SCHEMA)
    asked = {
        "origin": page,
        "access-control-request-method": "POST",
        "access-control-request-headers": "idempotency-key",
    }
    preflight = await api.http.options(DOCUMENTS, headers=asked)
    assert "Idempotency-Key" in preflight.headers["access-control-allow-headers"]
    answer = await api.request("POST", DOCUMENTS, json={"data": {}}, headers={"origin": page, "idempotency-key": "k"})
    assert "Idempotency-Replayed" in answer.headers["access-control-expose-headers"]
