"""A socket is opened, greeted, refused and ended."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from service.bounds import MAX_MESSAGES, MAX_SUBSCRIPTIONS, MAX_USER_SOCKETS
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.realtime.conftest import Open, create, put_rules, sign_up
from tests.web.realtime.live import Live, opened

RULES: dict[str, Any] = {"users": {"read": "users"}, "collections": {"messages": {"read": "users"}}}


async def test_a_plain_request_is_told_to_upgrade(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/realtime")
    assert (answer.status_code, answer.json()["code"]) == (426, "upgrade_required")
    assert answer.headers["upgrade"] == "websocket"
    assert (await http.post("/realtime")).status_code == 405


@pytest.mark.parametrize("query", ["token=x", "a"])
async def test_w9_a_credential_in_the_url_is_refused(address: str, query: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://{address}/realtime?{query}"):
            pass
    assert refused.value.response.status_code == 401
    assert b"unauthorized" in refused.value.response.body


async def test_elsewhere_a_request_to_upgrade_is_answered_as_any_other(address: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://{address}/health/live"):
            pass
    assert refused.value.response.status_code == 200


@pytest.mark.parametrize(
    "message",
    [
        "{}",
        "no json",
        '{"type":"subscribe","id":"m","collection":"messages"}',
        '{"type":"hello"}',
        '{"type":"hello","token":"x","key":"y"}',
        '{"type":"hello","token":"x"}',
        '{"type":"hello","key":"ac_nobody_00000000000000000000000000000000"}',
        '{"type":"hello","token":null}',
    ],
)
async def test_w9_what_is_no_good_hello_ends_the_socket(open_socket: Open, message: str) -> None:
    live: Live = await open_socket()
    await live.connection.send(message)
    assert (await live.closed())[0] == 4401


async def test_w9_a_hello_of_another_project_or_a_second_one_ends_the_socket(
    messages: Api, make_api: MakeApi, open_socket: Open
) -> None:
    other = await make_api()
    live: Live = await open_socket()
    await live.send(type="hello", key=messages.key, project=other.project.id)
    assert (await live.closed())[0] == 4401
    live = await open_socket()
    await live.hello(key=messages.key, project=messages.project.id)
    await live.send(type="hello", key=messages.key)
    assert (await live.closed())[0] == 4401


async def test_w9_a_token_is_of_the_same_user(messages: Api, make_api: MakeApi, open_socket: Open) -> None:
    await put_rules(messages, RULES)
    user, token = await sign_up(messages, "ann@example.com")
    _, others = await sign_up(messages, "bob@example.com")
    _, elsewhere = await sign_up(await make_api(), "ann@example.com")
    for bad in (others, elsewhere, "x"):
        live: Live = await open_socket()
        ready = await live.hello(token=token)
        assert ready["user_id"] == user
        assert ready["expires_at"].endswith("Z")
        await live.send(type="token", token=token)
        assert await live.expect("ready") == ready
        await live.send(type="token", token=bad)
        assert (await live.closed())[0] == 4401
    live = await open_socket()
    await live.hello(key=messages.key)
    await live.send(type="token", token=token)
    assert (await live.closed())[0] == 4401


async def test_only_pages_of_listed_origins_follow(messages: Api, make_api: MakeApi, open_socket: Open) -> None:
    listed = await make_api(CORS_ORIGINS="https://app.example.com")
    for origin, code in (("https://app.example.com", None), ("https://evil.example", 4403), ("null", 4403)):
        live: Live = await open_socket(Origin=origin)
        await live.send(type="hello", key=listed.publishable_key)
        assert (await live.expect("ready") and None if code is None else (await live.closed())[0]) == code
    live = await open_socket(Origin="http://service.test")
    await live.hello(key=listed.publishable_key)
    live = await open_socket(Origin="https://app.example.com")
    await live.send(type="hello", key=listed.key)
    assert (await live.closed())[0] == 4403


async def test_messages_that_are_none_are_errors_and_end_the_socket_in_the_end(
    messages: Api, open_socket: Open
) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    sent: list[str | bytes] = [
        "x",
        "[]",
        "1",
        '{"type":"what"}',
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"type":1}',
        "{}",
        b"bytes",
    ]
    for message in sent:
        await live.connection.send(message)
        assert (await live.expect("error"))["detail"]
    await live.send(type="subscribe", id="", collection="messages")
    await live.expect("error")
    await live.send(type="ping")
    await live.expect("pong")
    await live.send(type="what")
    assert (await live.closed())[0] == 4400


async def test_an_id_in_use_stays_with_the_first(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await live.subscribe("messages", "m")
    await live.send(type="subscribe", id="m", collection="messages")
    assert (await live.expect("error"))["id"] == "m"
    made = await create(messages, text="x")
    assert await live.change("m") == {"op": "enter", "document": made}


async def test_a_message_has_a_size_and_is_text(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await live.connection.send("x" * 65_537)
    assert (await live.closed())[0] == 1009


async def test_so_many_messages_at_once_and_no_more(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    for _ in range(2_000):
        await live.send(type="ping")
    assert (await live.closed())[0] == 4429


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"collection": "nothing"}, "collection_not_found"),
        ({"collection": "still"}, "not_live"),
        ({"where": {"text_icontains": "x"}}, "not_live"),
        ({"where": {"author.name_eq": "x"}}, "not_live"),
        ({"where": {"data.extra.0_eq": "x"}}, "not_live"),
        ({"populate": ["author"]}, "not_live"),
        ({"offset": 0}, "not_live"),
        ({"where": {"nothing_eq": 1}}, "validation_error"),
        ({"where": {"or": []}}, "validation_error"),
        ({"where": {"text_eq": 1}}, "validation_error"),
        ({"where": {"or": [{"text_contains": "a" * 205}] * 5}}, "validation_error"),
        ({"what": 1}, "validation_error"),
        ({"limit": 0}, "validation_error"),
        ({"sort_by": "nothing"}, "validation_error"),
    ],
)
async def test_what_cannot_be_followed_is_refused(
    messages: Api, open_socket: Open, options: dict[str, Any], code: str
) -> None:
    await messages.request("POST", "/api/collections", json={"name": "still", "schema": {"a": {"type": "string"}}})
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    closed = await live.refused(**{"collection": "messages", **options})
    assert closed["code"] == code, closed
    if code == "validation_error":
        assert all(each["loc"][0] == "body" for each in closed["detail"])
    else:
        assert isinstance(closed["detail"], str)
    assert (await live.subscribe("messages"))["documents"] == []


async def test_a_socket_has_so_many_subscriptions(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    for number in range(MAX_SUBSCRIPTIONS):
        await live.subscribe("messages", str(number))
    assert (await live.refused("messages", "more"))["code"] == "too_many_subscriptions"


async def test_a_user_has_so_many_sockets(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, RULES)
    _, token = await sign_up(messages, "ann@example.com")
    first: Live = await open_socket()
    await first.hello(token=token)
    for _ in range(MAX_USER_SOCKETS - 1):
        await (await open_socket()).hello(token=token)
    live = await open_socket()
    await live.send(type="hello", token=token)
    assert (await live.closed())[0] == 4429
    await first.nothing()


async def test_a_hello_and_a_subscription_are_requests_of_the_day(make_api: MakeApi, open_socket: Open) -> None:
    api = await make_api(TIER="enterprise", DAILY_LIMIT="3")
    answer = await api.request(
        "POST", "/api/collections", json={"name": "messages", "schema": {"a": {"type": "string"}}, "realtime": True}
    )
    assert answer.status_code == 201
    live: Live = await open_socket()
    await live.hello(key=api.key)
    await live.subscribe("messages", "first")
    assert (await live.refused("messages"))["code"] == "rate_limit_exceeded"
    await live.nothing()
    live = await open_socket()
    await live.send(type="hello", key=api.key)
    assert (await live.closed())[0] == 4429


async def test_who_has_no_rules_follows_by_the_secret_key_only(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.publishable_key)
    assert (await live.refused("messages"))["code"] == "invalid_api_key"
    await put_rules(messages, RULES)
    assert (await live.refused("messages"))["code"] == "unauthorized"


async def test_a_token_that_is_about_to_expire_is_announced_and_then_ends_the_socket(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_rules(messages, RULES)
    with monkeypatch.context() as patch:
        patch.setattr(
            "service.domain.sessions.sessions._end_of_token", lambda _, issued, __: issued + timedelta(seconds=8)
        )
        _, token = await sign_up(messages, "ann@example.com")
    live: Live = await open_socket()
    await live.hello(token=token)
    assert (await live.expect("token_expiring"))["in"] <= 8
    assert (await live.closed())[0] == 4401


async def test_a_revoked_key_ends_its_sockets(messages: Api, services: Services, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await services.base.keys.rotate(messages.project.id)
    assert (await live.closed())[0] == 4401


async def test_who_says_no_hello_is_closed_and_who_stays_is_not(
    messages: Api, address: str, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.realtime.session.HELLO_SECONDS", 0.2)
    async with opened(address) as silent:
        assert (await silent.closed())[0] == 4401
    live: Live = await open_socket()
    await live.send(type="hello", key=messages.key)
    await live.expect("ready")
    await asyncio.sleep(0.3)
    await live.nothing()


@pytest.mark.parametrize("collection", [None, 1, ["messages"], {"name": "messages"}])
async def test_a_subscription_whose_collection_is_no_text_is_closed(
    messages: Api, open_socket: Open, collection: object
) -> None:
    """It has an id, so `closed` answers it as any other refusal of a subscription."""
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    closed = await live.refused(collection)  # type: ignore[arg-type]
    assert closed["code"] == "validation_error"
    assert [each["loc"] for each in closed["detail"]] == [["body", "collection"]]
    await live.subscribe("messages")


async def test_b4_ready_names_how_many_sockets_and_subscriptions_there_may_be(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    limits = (await live.hello(key=messages.key))["limits"]
    assert (limits["sockets"], limits["subscriptions"]) == (MAX_USER_SOCKETS, MAX_SUBSCRIPTIONS)


async def test_b4_the_reason_of_4429_says_what_there_is_too_much_of(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    _, token = await sign_up(messages, "ann@example.com")
    for _ in range(MAX_USER_SOCKETS):
        await (await open_socket()).hello(token=token)
    live: Live = await open_socket()
    await live.send(type="hello", token=token)
    assert await live.closed() == (4429, "This user has 10 sockets already; close one first")
    talker: Live = await open_socket()
    await talker.hello(key=messages.key)
    for _ in range(MAX_MESSAGES + 20):
        await talker.send(type="ping")
    code, reason = await talker.closed()
    assert (code, reason.partition(" ")[0]) == (4429, "More")
