"""Limits of one worker and one client, the refusals past them, and their metrics."""

import json
from contextlib import AsyncExitStack
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from faults.waiting import until, waiting_for
from service.app import Application
from service.observe.metrics import exposition
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, put_rules, sign_up
from tests.web.realtime.live import Live, opened, serving

READABLE: dict[str, Any] = {"collections": {"messages": {"read": "users"}}}


async def refused(address: str) -> int:
    """The status of a handshake that is no success."""
    with pytest.raises(InvalidStatus) as caught:
        await connect(f"ws://{address}/realtime", compression=None)
    return caught.value.response.status_code


async def test_w8_hundreds_who_say_no_hello_are_closed_and_leave_nothing(
    messages: Api, running_app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.realtime.session.HELLO_SECONDS", 1.0)
    monkeypatch.setattr("service.web.realtime.sockets.MAX_HANDSHAKES", 1_000)
    # An address has so many connections.
    count, sockets = 150, running_app.sockets
    before = sockets._count  # noqa: SLF001
    async with serving(running_app) as served, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(opened(served.address)) for _ in range(count)]
        assert [(await each.closed())[0] for each in silent] == [4401] * count
        await until(lambda: sockets._count <= before)  # noqa: SLF001
        live = await stack.enter_async_context(opened(served.address))
        await live.hello(key=messages.key)
        await live.subscribe("messages")


async def test_so_many_handshakes_in_a_second_and_sockets_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.realtime.sockets.MAX_HANDSHAKES", 0)
    assert await refused(address) == 503
    monkeypatch.setattr("service.web.realtime.sockets.MAX_HANDSHAKES", 200)
    monkeypatch.setattr("service.web.realtime.sockets.MAX_SOCKETS", 0)
    assert await refused(address) == 503


async def test_a_snapshot_has_so_many_bytes(messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.realtime.snapshots.MAX_SNAPSHOT_BYTES", 2_000)
    for _ in range(3):
        await create(messages, text="x" * 1_000)
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    assert (await live.refused("messages"))["code"] == "page_too_large"
    assert len((await live.subscribe("messages", limit=1))["documents"]) == 1


async def test_bytes_that_are_no_text_end_the_socket(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await live.connection.send(b"\xff\xfe", text=True)
    assert (await live.closed())[0] == 1007


async def test_what_nobody_follows_is_unsubscribed_all_the_same(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await live.send(type="unsubscribe", id="nothing")
    assert (await live.expect("closed", "nothing"))["code"] == "unsubscribed"


async def test_a_tick_says_how_far_each_subscription_has_come(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cursors let a client resume that received nothing for long."""
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    for id_ in ("m", "n"):
        await live.subscribe("messages", id_)
    monkeypatch.setattr("service.domain.realtime.upkeep.TICK_SECONDS", 0.1)
    frame: dict[str, Any] = {"type": ""}
    async with waiting_for("a tick"):
        while frame["type"] != "tick":
            frame = json.loads(await live.connection.recv())
    monkeypatch.undo()
    assert frame["cursors"].keys() == {"m", "n"}
    await live.connection.close()
    made = await create(messages, text="missed")
    again: Live = await open_socket()
    await again.hello(key=messages.key)
    await again.send(type="subscribe", id="m", collection="messages", after=frame["cursors"]["m"])
    assert (await again.change()) == {"op": "enter", "document": made}


@pytest.mark.parametrize("way", ["the session ends", "the account is disabled"])
async def test_w5_who_may_sign_in_no_more_is_told_no_more(messages: Api, open_socket: Open, way: str) -> None:
    await put_rules(messages, READABLE)
    user, token = await sign_up(messages, "ann@example.com")
    live: Live = await open_socket()
    await live.hello(token=token)
    await live.subscribe("messages")
    if way == "the session ends":
        answer = await messages.request("DELETE", f"/auth-collections/users/{user}/sessions")
    else:
        answer = await messages.request("PATCH", f"/auth-collections/users/{user}", json={"disabled": True})
    assert answer.is_success, answer.text
    assert (await live.closed())[0] == 4401


async def test_what_is_followed_is_counted(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await live.subscribe("messages")
    before = read_metrics()
    assert before["realtime_sockets"] >= 1
    assert before["realtime_subscriptions"] >= 1
    assert before["change_feed_opened_total"] >= 1
    await create(messages, text="told")
    await live.change()
    await until(lambda: grown(before, "change_feed_delay_seconds_count"))
    for name in ("change_feed_events_total", "realtime_deliveries_total"):
        assert grown(before, name), name


def read_metrics() -> dict[str, float]:
    lines = (each.rsplit(" ", 1) for each in exposition().decode().splitlines() if not each.startswith("#"))
    return {name: float(value) for name, value in lines}


def grown(before: dict[str, float], name: str) -> bool:
    return read_metrics()[name] > before[name]
