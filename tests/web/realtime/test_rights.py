"""A subscription never begins with remembered rights."""

import asyncio
from typing import Any

import pytest

from faults.waiting import until
from service.domain.realtime.binding import Binder
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, delete, put_rules, sign_up
from tests.web.realtime.live import Live
from tests.web.realtime.test_set_sources import MEMBERS, SETS

DOCUMENTS = "/api/collections/messages/documents"


async def enter_rooms(messages: Api, *rooms: str) -> tuple[str, list[dict[str, Any]]]:
    """A token, and a membership of each room, in each of which is one message."""
    await messages.request("POST", "/api/collections", json=MEMBERS)
    await put_rules(messages, SETS)
    user, token = await sign_up(messages, "ann@example.com")
    members = [await create(messages, "members", user=user, room=room) for room in rooms]
    for room in rooms:
        await create(messages, room_id=room, text=room)
    return token, members


def texts(frame: dict[str, Any]) -> list[str]:
    return [each["data"]["text"] for each in frame["documents"]]


async def test_w5_a_membership_that_ended_a_moment_before_gives_nothing(messages: Api, open_socket: Open) -> None:
    """A list remembers sets for some seconds; nothing would ever tell a subscription that they were old."""
    token, members = await enter_rooms(messages, "r1", "r2")
    listed = (await messages.as_user(token, "GET", DOCUMENTS)).json()
    assert texts(listed) == ["r1", "r2"]
    await delete(messages, members[0], "members")
    live: Live = await open_socket()
    await live.hello(token=token)
    assert texts(await live.subscribe("messages")) == ["r2"]
    await create(messages, room_id="r1", text="secret")
    made = await create(messages, room_id="r2", text="told")
    assert await live.change() == {"op": "enter", "document": made}


async def test_w5_rules_that_another_worker_changed_a_moment_before_hold(messages: Api, open_socket: Open) -> None:
    token, _ = await enter_rooms(messages, "r1")
    stored = messages.database["rules"].find_one({"_id": "rules"}) or {}
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    assert len((await messages.as_user(token, "GET", DOCUMENTS)).json()["documents"]) == 1
    # As another worker would: this worker hears nothing of it.
    messages.database["rules"].replace_one({"_id": "rules"}, stored)
    await create(messages, room_id="r9", text="secret")
    live: Live = await open_socket()
    await live.hello(token=token)
    assert texts(await live.subscribe("messages")) == ["r1"]


async def test_w5_a_membership_that_ends_while_somebody_subscribes_gives_nothing(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, members = await enter_rooms(messages, "r1", "r2")
    bind, calls = Binder.bind, iter(range(9))

    async def binding(self: Binder, *arguments: Any) -> Any:
        bound = await bind(self, *arguments)
        if next(calls, None) == 0:
            # The rights have been read, and nothing was delivered by them yet.
            await delete(messages, members[0], "members")
        return bound

    live: Live = await open_socket()
    await live.hello(token=token)
    monkeypatch.setattr(Binder, "bind", binding)
    frame = await live.subscribe("messages")
    while "r1" in texts(frame):
        await live.expect("resync")
        frame = await live.expect("snapshot")
    assert texts(frame) == ["r2"]
    await create(messages, room_id="r1", text="secret")
    made = await create(messages, room_id="r2", text="told")
    assert await live.change() == {"op": "enter", "document": made}


async def test_an_id_that_is_used_again_is_of_the_new_subscription_alone(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the old one was just being bound again."""
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    _, token = await sign_up(messages, "ann@example.com")
    live: Live = await open_socket()
    await live.hello(token=token)
    await live.subscribe("messages")
    bind, is_first, is_done = Binder.bind, iter([True]), asyncio.Event()

    async def binding(self: Binder, *arguments: Any) -> Any:
        bound = await bind(self, *arguments)
        if next(is_first, False):
            await live.send(type="unsubscribe", id="m")
            assert (await live.expect("closed"))["code"] == "unsubscribed"
            await live.send(type="subscribe", id="m", collection="messages", where={"room_id_eq": "r1"})
            await live.expect("snapshot")
            is_done.set()
        return bound

    monkeypatch.setattr(Binder, "bind", binding)
    await put_rules(messages, {"collections": {"messages": {"read": {"text_eq": "told"}}}})
    await until(is_done.is_set)
    for room in ("r2", "r1"):
        made = await create(messages, room_id=room, text="told")
    assert await live.change() == {"op": "enter", "document": made}
    await live.nothing()


async def test_v8_a_subscription_follows_the_proof_of_an_address(messages: Api, open_socket: Open) -> None:
    """Until then `$user.email` is unknown; afterwards its records are delivered."""
    read = {"or": [{"author_id_eq": "$user.id"}, {"room_id_eq": "$user.email"}]}
    await put_rules(messages, {"collections": {"messages": {"read": read}}})
    user, token = await sign_up(messages, "ann@example.com")
    await create(messages, room_id="ann@example.com", text="for ann")
    live: Live = await open_socket()
    await live.hello(token=token)
    assert texts(await live.subscribe("messages")) == []
    path = f"/auth-collections/users/{user}"
    assert (await messages.request("PATCH", path, json={"email_verified": True})).status_code == 200
    assert (await live.expect("resync"))["reason"] == "access"
    assert texts(await live.expect("snapshot")) == ["for ann"]
    assert (await messages.request("PATCH", path, json={"email_verified": False})).status_code == 200
    assert (await live.expect("resync"))["reason"] == "access"
    assert texts(await live.expect("snapshot")) == []
