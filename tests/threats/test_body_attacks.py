"""Rows B1 to B5: bodies that are not JSON, not representable, or too deep; and a client that leaves within its body."""

import json
from typing import Any

import pytest
import structlog
from starlette.applications import Starlette
from starlette.types import Message, Scope

from tests.threats.conftest import Victim, assert_refused

SIGNUP, LOGIN = "/auth-collections/signup", "/auth-collections/login"


def signup_with(raw: str | bytes) -> bytes:
    """A signup whose field `x` is written just so."""
    raw = raw.encode() if isinstance(raw, str) else raw
    return b'{"email": "new@example.com", "password": "long enough", "x": ' + raw + b"}"


NOT_OBJECTS: dict[str, bytes] = {
    "no body": b"",
    "broken": b'{"email": ',
    "trailing comma": b'{"email": "a@b.co",}',
    "UTF-16": '{"email": "a@b.co"}'.encode("utf-16"),
    "UTF-32": '{"email": "a@b.co"}'.encode("utf-32"),
    "bad UTF-8": b'{"email": "\xff\xfe"}',
    "array": b"[]",
    "string": b'"x"',
    "number": b"1",
    "null": b"null",
    "repeated name": b'{"email": "a@b.co", "email": "c@d.co", "password": "long enough"}',
    "repeated name inside": signup_with('{"a": 1, "a": 2}'),
    "form": b"email=a@b.co&password=long+enough",
}


@pytest.mark.parametrize("content", NOT_OBJECTS.values(), ids=NOT_OBJECTS.keys())
@pytest.mark.parametrize("path", [SIGNUP, LOGIN])
async def test_b1_bodies_that_are_not_json_objects(victim: Victim, path: str, content: bytes) -> None:
    assert_refused(await victim.raw(path, content), 422)


async def test_b1_no_body_on_an_update(victim: Victim) -> None:
    assert_refused(await victim.as_user("PUT"), 422)


async def test_b1_another_content_type_is_named(victim: Victim) -> None:
    response = await victim.raw(LOGIN, b"email=a&password=b", content_type="application/x-www-form-urlencoded")
    assert_refused(response, 415)
    assert "application/json" in response.json()["detail"]


@pytest.mark.parametrize("raw", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
async def test_b2_a_hundred_thousand_brackets(victim: Victim, raw: str) -> None:
    assert_refused(await victim.raw(SIGNUP, signup_with(raw)), 422)


async def test_b2_one_level_too_deep(victim: Victim) -> None:
    """`data` itself is the first of 32 levels."""
    assert_refused(await victim.raw(SIGNUP, signup_with("[" * 32 + "]" * 32)), 422)


async def test_b2_the_deepest_that_is_allowed(fresh_victim: Victim) -> None:
    response = await fresh_victim.raw(SIGNUP, signup_with("[" * 31 + "]" * 31))
    assert response.status_code == 201
    assert (await fresh_victim.api.users("email_eq=new@example.com")).json()["total"] == 1


@pytest.mark.parametrize("raw", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "[1, NaN]", '{"a": Infinity}'])
async def test_b3_numbers_that_are_none(victim: Victim, raw: str) -> None:
    assert_refused(await victim.raw(SIGNUP, signup_with(raw)), 422)


async def test_b3_a_planted_nan_does_not_break_the_list(fresh_victim: Victim) -> None:
    fresh_victim.api.database["users"].update_one({}, {"$set": {"data.x": float("nan")}})
    response = await fresh_victim.api.users()
    assert response.status_code == 200
    assert response.json()["users"][0]["data"]["x"] is None


@pytest.mark.parametrize("raw", [str(2**63), str(-(2**63) - 1), "1" * 5_000, f"[{2**64}]"])
async def test_b4_integers_past_64_bits(victim: Victim, raw: str) -> None:
    assert_refused(await victim.raw(SIGNUP, signup_with(raw)), 422)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**53 + 1, 0.1])
async def test_b4_the_largest_integers_come_back_exactly(fresh_victim: Victim, number: float) -> None:
    response = await fresh_victim.raw(SIGNUP, signup_with(json.dumps(number)))
    assert response.json()["user"]["data"]["x"] == number


SURROGATES: dict[str, bytes] = {
    "in a value": signup_with(r'"\ud800"'),
    "in a key": signup_with(r'{"\udfff": 1}'),
    "in an array": signup_with(r'["ok", "\ude00\ud83d"]'),
    "in the e-mail": rb'{"email": "\ud800@example.com", "password": "long enough"}',
    "in the password": rb'{"email": "new@example.com", "password": "\ud800long enough"}',
    "NUL in the e-mail": rb'{"email": "a\u0000@example.com", "password": "long enough"}',
    "NUL in the password": rb'{"email": "new@example.com", "password": "long\u0000enough"}',
    "NUL in a key": signup_with(r'{"a\u0000b": 1}'),
    "as UTF-8 bytes": signup_with(b'"\xed\xa0\x80"'),
}


@pytest.mark.parametrize("content", SURROGATES.values(), ids=SURROGATES.keys())
async def test_b5_lone_surrogates_and_nul(victim: Victim, content: bytes) -> None:
    assert_refused(await victim.raw(SIGNUP, content), 422)


@pytest.mark.parametrize(
    ("raw", "value"), [(r'"\u0000"', "\0"), (r'"\ud83d\ude00"', "\U0001f600"), (r'"\\ud800"', "\\ud800")]
)
async def test_b5_what_text_may_hold(fresh_victim: Victim, raw: str, value: Any) -> None:
    response = await fresh_victim.raw(SIGNUP, signup_with(raw))
    assert response.json()["user"]["data"]["x"] == value
    assert (await fresh_victim.api.users("email_eq=new@example.com")).json()["users"][0]["data"]["x"] == value


async def test_a_client_that_leaves_within_its_body_is_no_fault_of_ours(victim: Victim, running_app: Starlette) -> None:
    left = iter([b'{"email": "a@exa', None])

    async def receive() -> Message:
        piece = next(left)
        gone: Message = {"type": "http.disconnect"}
        return gone if piece is None else {"type": "http.request", "body": piece, "more_body": True}

    async def send(message: Message) -> None:
        pass

    headers = [(b"x-api-key", victim.api.key.encode()), (b"content-type", b"application/json")]
    scope: Scope = {"type": "http", "method": "POST", "path": LOGIN, "headers": headers}
    with structlog.testing.capture_logs() as lines:
        await running_app({**scope, "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1)}, receive, send)
    assert [(line["event"], line["status"]) for line in lines] == [("request", 422)]
