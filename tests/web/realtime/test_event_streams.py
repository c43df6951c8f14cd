"""Lists that are followed by plain HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest

from faults.waiting import until, waiting_for
from service.app import Application
from service.bounds import MAX_USER_SOCKETS
from service.services import Services
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, delete, merge, put_rules, sign_up
from tests.web.realtime.live import SECONDS, serving

DOCUMENTS = "/api/collections/messages/documents"
ACCEPT = {"accept": "text/event-stream"}
Event = dict[str, Any]


class Events:
    """One stream. `next` gives its events but ticks, each as {"event", "id", "data"}."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> Event:
        found: Event = {}
        async with waiting_for("the next event"):
            async for line in self._lines:
                if line:
                    name, _, value = line.partition(": ")
                    found[name] = json.loads(value) if name == "data" else value
                elif found.get("event") != "tick":
                    return found
                else:
                    found = {}
        return found


@asynccontextmanager
async def following(address: str, query: str = "", *, path: str = DOCUMENTS, **headers: str) -> AsyncIterator[Events]:
    async with (
        httpx2.AsyncClient(timeout=SECONDS) as client,
        client.stream("GET", f"http://{address}{path}{query}", headers={**ACCEPT, **headers}) as response,
    ):
        yield Events(response)


async def test_a_list_is_followed_from_its_page_on(messages: Api, address: str) -> None:
    first = await create(messages, room_id="r1", text="one")
    key = {"x-api-key": messages.key}
    async with following(address, "?room_id_eq=r1&limit=1&sort_by=-created_at", **key) as events:
        assert events.response.status_code == 200
        assert events.response.headers["content-type"] == "text/event-stream"
        assert events.response.headers["cache-control"] == "no-store"
        snapshot = await events.next()
        assert (snapshot["event"], snapshot["id"]) == ("snapshot", snapshot["data"]["cursor"])
        assert snapshot["data"] == {
            "type": "snapshot",
            "id": "list",
            "complete": True,
            "cursor": snapshot["id"],
            "documents": [first],
        }
        second = await create(messages, room_id="r1", text="line\nbreak")
        await create(messages, room_id="r2")
        changes = await events.next()
        assert changes["data"]["changes"] == [{"op": "enter", "document": second}]
    await merge(messages, first, text="changed")
    await delete(messages, second)
    # Another order is the same list.
    async with following(address, "?room_id_eq=r1", **key, **{"last-event-id": changes["id"]}) as events:
        missed = await events.next()
        assert [each["op"] for each in missed["data"]["changes"]] == ["change", "leave"]
    async with following(address, "?text_eq=changed", **key, **{"last-event-id": changes["id"]}) as events:
        assert [each["id"] for each in (await events.next())["data"]["documents"]] == [first["id"]]


async def test_what_refuses_a_stream_is_the_answer_of_the_list(messages: Api, address: str) -> None:
    await messages.request("POST", "/api/collections", json={"name": "still", "schema": {"a": {"type": "string"}}})
    key = {"x-api-key": messages.key}
    for query, status, code in (
        ("?nothing_eq=1", 422, "validation_error"),
        ("?limit=0", 422, "validation_error"),
        ("?text_icontains=x", 422, "not_live"),
        ("?author.name_eq=x", 422, "not_live"),
        *((f"?{name}={value}", 422, "not_live") for name, value in WITHOUT),
    ):
        answer = await messages.request("GET", f"{DOCUMENTS}{query}", headers=ACCEPT)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        if code == "validation_error":
            assert answer.json() == (await messages.request("GET", f"{DOCUMENTS}{query}")).json()
    still = await messages.request("GET", DOCUMENTS.replace("messages", "still"), headers=ACCEPT)
    assert (still.status_code, still.json()["code"]) == (422, "not_live")
    (reason,) = still.json()["detail"]
    assert (reason["loc"], reason["type"]) == (["query"], "not_live")
    gone = await messages.request("GET", DOCUMENTS.replace("messages", "gone"), headers=ACCEPT)
    assert (gone.status_code, gone.json()["code"]) == (404, "collection_not_found")
    async with following(address, **{"x-api-key": "ac_x"}) as events:
        assert events.response.status_code == 401
    async with following(address, "?text_icontains=x", **key) as events:
        assert events.response.status_code == 422


WITHOUT = (
    ("populate", "author"),
    ("offset", "0"),
    ("cursor", "*"),
    ("count", "none"),
    ("fields", "text"),
    ("with_counts", "replies"),
)


async def test_a_plain_list_is_what_it_was(messages: Api) -> None:
    await create(messages, text="x")
    plain = (await messages.request("GET", DOCUMENTS)).json()
    for accept in ("*/*", "application/json", "text/*"):
        answer = await messages.request("GET", DOCUMENTS, headers={"accept": accept})
        assert answer.json() == plain
    head = await messages.request("HEAD", DOCUMENTS, headers=ACCEPT)
    assert head.headers["content-type"] == "application/json"


async def test_w1_w5_a_stream_tells_what_its_user_may_read(messages: Api, address: str) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": {"author_id_eq": "$user.id"}}}})
    user, token = await sign_up(messages, "ann@example.com")
    mine = await create(messages, author_id=user, text="mine")
    await create(messages, author_id="somebody", text="secret")
    guest = await messages.request("GET", DOCUMENTS, headers={**ACCEPT, "x-api-key": messages.publishable_key})
    assert (guest.status_code, guest.json()["code"]) == (401, "unauthorized")
    async with following(address, authorization=f"Bearer {token}") as events:
        assert (await events.next())["data"]["documents"] == [mine]
        await merge(messages, mine, author_id="somebody")
        assert (await events.next())["data"]["changes"] == [{"op": "leave", "document_id": mine["id"]}]
        await put_rules(messages, {"collections": {"messages": {"create": "users"}}})
        closed = await events.next()
        assert (closed["event"], closed["data"]["code"], closed.get("id")) == ("closed", "forbidden", None)
        assert await events.next() == {}


async def test_a_stream_is_a_socket_of_its_user(messages: Api, address: str, open_socket: Open) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    user, token = await sign_up(messages, "ann@example.com")
    bearer = {"authorization": f"Bearer {token}"}
    for _ in range(MAX_USER_SOCKETS - 1):
        await (await open_socket()).hello(token=token)
    async with following(address, **bearer) as events:
        await events.next()
        async with following(address, **bearer) as more:
            assert (more.response.status_code, json.loads(await more.response.aread())["code"]) == (
                429,
                "rate_limit_exceeded",
            )
        messages.database["users"].delete_one({"_id": user})
        closed = await events.next()
        assert (closed["event"], closed["data"]["code"]) == ("closed", "invalid_token")
        assert await events.next() == {}


async def test_w8_a_stream_is_no_request_in_flight_and_leaves_nothing_behind(
    messages: Api, services: Services, running_app: Application, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.asgi.request_context.MAX_IN_FLIGHT", 1)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            events = await stack.enter_async_context(following(address, **{"x-api-key": messages.key}))
            assert (await events.next())["event"] == "snapshot"
        # It lasts longer than any request may.
        made = await create(messages, text="x")
        assert (await events.next())["data"]["changes"] == [{"op": "enter", "document": made}]
    await until(lambda: not any("list" in each.subscriptions for each in services.realtime.connections))


async def test_a_stop_ends_a_stream_and_says_when_to_come_back(messages: Api, running_app: Application) -> None:
    async with serving(running_app) as served, following(served.address, **{"x-api-key": messages.key}) as events:
        assert (await events.next())["event"] == "snapshot"
        served.server.should_exit = True
        last = await events.next()
        assert 0 <= int(last["retry"]) <= 20_000
        assert await events.next() == {}
