"""Races, and failures between two lines: no delivery is wrong, and none is missing."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from bson import Timestamp
from pymongo import AsyncMongoClient

from faults.waiting import until
from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs
from service.domain.realtime.backlog import Backlog
from service.domain.realtime.binding import Binder
from service.domain.realtime.channels import ChannelIndex
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.floods import Floods
from service.errors import Unavailable
from service.services import Services
from service.storage import snapshots
from service.storage.change_feed import ChangeStream, FeedHistoryLost, FeedMoment, RecordChange
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, put_rules, sign_up
from tests.web.realtime.live import SECONDS, Live

OPEN: dict[str, Any] = {"collections": {"messages": {"read": "users"}}}
# Subscriptions of one socket; it reads their snapshots one after the other.
COUNT = 5
FIND_AT = "service.domain.realtime.snapshots.find_at"


async def enter(messages: Api, open_socket: Open) -> Live:
    """A user, who may read what the rules let users read."""
    await put_rules(messages, OPEN)
    _, token = await sign_up(messages, "ann@example.com")
    live: Live = await open_socket()
    await live.hello(token=token)
    return live


def change_rules(messages: Api, read: Any) -> None:
    """As another worker would: this worker hears of it only by the feed."""
    text = json.dumps({"collections": {"messages": {"read": read}}})
    messages.database["rules"].update_one({"_id": "rules"}, {"$set": {"text": text, "version": text}})


async def follow_frames(live: Live, records: dict[str, Any]) -> None:
    """Applies all that has come until now."""
    await live.send(type="ping")
    while (frame := await live.next())["type"] != "pong":
        if frame["type"] == "snapshot":
            records.clear()
            records.update({each["id"]: each for each in frame["documents"]})
        for change in frame.get("changes", ()):
            if change["op"] == "leave":
                records.pop(change["document_id"], None)
            else:
                records[change["document"]["id"]] = change["document"]


async def test_w10_who_is_bound_anew_while_missed_changes_are_read_is_told_once(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older of two snapshots of one subscription must not come last."""
    live = await enter(messages, open_socket)
    between, has_between = asyncio.Event(), asyncio.Event()
    reading, gates = list[int](), [asyncio.Event(), asyncio.Event()]

    async def read_between(*_: Any, **__: Any) -> AsyncGenerator[RecordChange, None]:
        between.set()
        await has_between.wait()
        for change in list[RecordChange]():
            yield change

    async def find_at(*arguments: Any, **options: Any) -> Any:
        found = await snapshots.find_at(*arguments, **options)
        reading.append(len(reading))
        if len(reading) <= len(gates):
            await gates[len(reading) - 1].wait()
        return found

    cursor = (await live.subscribe("messages"))["cursor"]
    await live.send(type="unsubscribe", id="m")
    await live.expect("closed")
    await create(messages, text="missed")
    await until(lambda: services.realtime.feed.position > int(cursor.partition(".")[0], 16))
    monkeypatch.setattr("service.domain.realtime.feed.read_between", read_between)
    monkeypatch.setattr(FIND_AT, find_at)
    await live.send(type="subscribe", id="m", collection="messages", after=cursor)
    await until(between.is_set)
    # The rights change while it is read what was missed.
    await put_rules(messages, {"collections": {"messages": {"read": {"text_ne": "secret"}}}})
    assert (await live.expect("resync"))["reason"] == "access"
    await until(lambda: reading)
    has_between.set()
    await asyncio.sleep(0.2)
    gates[0].set()
    records: dict[str, Any] = {}
    frame = await live.expect("snapshot")
    records.update({each["id"]: each for each in frame["documents"]})
    made = await create(messages, text="told")
    assert await live.change() == {"op": "enter", "document": made}
    records[made["id"]] = made
    gates[1].set()
    await asyncio.sleep(0.2)
    await follow_frames(live, records)
    listed = (await messages.request("GET", "/api/collections/messages/documents")).json()["documents"]
    assert records == {each["id"]: each for each in listed}


async def test_w7_nobody_begins_while_a_collection_is_held_back(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waiting client gets the changes written while delivery paused."""
    monkeypatch.setattr(services.realtime.feed.floods, "hold_seconds", SECONDS)
    namespace, floods = (messages.database.name, "c_messages"), services.realtime.feed.floods
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    may_read, reading = asyncio.Event(), list[int]()

    async def find_at(*arguments: Any, **options: Any) -> Any:
        reading.append(1)
        await may_read.wait()
        return await snapshots.find_at(*arguments, **options)

    monkeypatch.setattr(FIND_AT, find_at)
    for number in range(COUNT):
        await live.send(type="subscribe", id=str(number), collection="messages")
    await until(lambda: reading)
    floods._hold(namespace)  # noqa: SLF001 - as when a reply is full for the third time
    services.realtime.feed._open()  # noqa: SLF001
    may_read.set()
    await live.nothing()
    await asyncio.sleep(0.3)
    await live.nothing()
    made = await create(messages, text="not told")
    services.realtime.feed.insist(namespace)
    found = [await live.expect("snapshot") for _ in range(COUNT)]
    assert all(each["documents"] == [made] for each in found)


@pytest.mark.parametrize("failing", ["the rules", "the definition"])
async def test_w5_what_cannot_be_read_now_is_looked_at_again(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The primary may be away in the very moment that something changes."""
    live = await enter(messages, open_socket)
    await live.subscribe("messages")
    of_rules, of_collections = AccessControl.refresh, Catalogs.refresh
    falls = iter(range(2))

    async def refresh_rules(self: AccessControl, *arguments: Any) -> Any:
        if failing == "the rules" and next(falls, None) is not None:
            raise Unavailable
        return await of_rules(self, *arguments)

    async def refresh_collection(self: Catalogs, *arguments: Any) -> Any:
        if failing == "the definition" and next(falls, None) is not None:
            raise Unavailable
        return await of_collections(self, *arguments)

    monkeypatch.setattr(AccessControl, "refresh", refresh_rules)
    monkeypatch.setattr(Catalogs, "refresh", refresh_collection)
    monkeypatch.setattr(Catalogs, "forget", lambda *_: None)
    if failing == "the rules":
        change_rules(messages, {"text_eq": "open"})
        assert (await live.expect("resync"))["reason"] == "access"
    else:
        messages.database["collections"].update_one({"_id": "messages"}, {"$set": {"realtime": False}})
        assert (await live.expect("closed"))["code"] == "not_live"
        messages.database["collections"].update_one({"_id": "messages"}, {"$set": {"realtime": True}})


@pytest.mark.parametrize("error", [Unavailable, RuntimeError])
async def test_w5_who_may_read_nobody_knows_for_long_ends_the_socket(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    live = await enter(messages, open_socket)
    await live.subscribe("messages")

    async def failing(*_: Any) -> None:
        raise error

    monkeypatch.setattr(AccessControl, "refresh", failing)
    change_rules(messages, {"text_eq": "open"})
    assert (await live.closed())[0] == 1013


async def test_w5_rules_that_change_before_and_are_read_after_hold(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feed has delivered them, and the worker has not read them yet, at the time of the subscription."""
    live = await enter(messages, open_socket)
    await live.subscribe("messages", "first")
    refresh, bind = AccessControl.refresh, Binder.bind
    is_told, may_refresh, is_looked, calls = asyncio.Event(), asyncio.Event(), asyncio.Event(), iter(range(9))

    async def refreshing(self: AccessControl, *arguments: Any) -> Any:
        is_told.set()
        await may_refresh.wait()
        return await refresh(self, *arguments)

    async def binding(self: Binder, *arguments: Any) -> Any:
        bound = await bind(self, *arguments)
        number = next(calls, None)
        if number == 0:
            # By the old rules; now the new ones are read, and what is followed is bound again.
            may_refresh.set()
            await asyncio.sleep(0.3)
            is_looked.set()
        return bound

    monkeypatch.setattr(AccessControl, "refresh", refreshing)
    change_rules(messages, {"text_eq": "open"})
    await until(is_told.is_set)
    monkeypatch.setattr(Binder, "bind", binding)
    await live.send(type="subscribe", id="second", collection="messages")
    await until(is_looked.is_set)
    last: dict[str, list[str]] = {"first": [], "second": []}
    while any(each != ["resync", "snapshot"] for each in last.values()):
        frame = await live.next()
        last[frame["id"]] = [*last[frame["id"]], frame["type"]][-2:]
    await create(messages, text="secret")
    made = await create(messages, text="open")
    told = [await live.expect("changes") for _ in range(2)]
    assert {each["id"] for each in told} == {"first", "second"}
    assert all(each["changes"] == [{"op": "enter", "document": made}] for each in told)


@pytest.mark.parametrize("read", [{"text_eq": "open"}, "users"])
async def test_w5_nothing_is_told_while_rules_that_changed_are_read(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch, read: Any
) -> None:
    """With any number of connections to look at again, waiting changes are delivered if the rules mean the same as
    before.
    """
    live = await enter(messages, open_socket)
    server: Live = await open_socket()
    await server.hello(key=messages.key)
    for each in (live, server):
        await each.subscribe("messages")
    refresh, is_told, may_refresh = AccessControl.refresh, asyncio.Event(), asyncio.Event()

    async def refreshing(self: AccessControl, *arguments: Any) -> Any:
        is_told.set()
        await may_refresh.wait()
        return await refresh(self, *arguments)

    monkeypatch.setattr(AccessControl, "refresh", refreshing)
    change_rules(messages, read)
    await until(is_told.is_set)
    made = await create(messages, text="secret")
    await asyncio.sleep(0.3)
    await live.nothing()
    may_refresh.set()
    assert await server.change() == {"op": "enter", "document": made}
    if read == "users":
        assert await live.change() == {"op": "enter", "document": made}
    else:
        assert (await live.expect("resync"))["reason"] == "access"
        assert (await live.expect("snapshot"))["documents"] == []
    made = await create(messages, text="open")
    assert await live.change() == {"op": "enter", "document": made}


async def test_what_the_feed_tells_is_forgotten_at_once(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every request of the worker, and not when what is remembered is old."""
    began = time.monotonic()
    monkeypatch.setattr("service.domain.cache.monotonic", lambda: began)
    path = "/api/collections/messages/documents"
    await put_rules(messages, {"collections": {"messages": {"read": {"$user.roles_eq": "editor"}}}})
    user, token = await sign_up(messages, "ann@example.com")
    users = messages.database["users"]
    assert (await messages.as_user(token, "GET", path)).status_code == 403
    _, other = await sign_up(messages, "bob@example.com")
    live: Live = await open_socket()
    await live.hello(token=other)
    # As another worker would.
    users.update_one({"_id": user}, {"$set": {"roles": ["editor"]}})

    async def may_read() -> bool:
        return (await messages.as_user(token, "GET", path)).status_code == 200

    async def has_title() -> bool:
        return (await messages.request("GET", f"{path}?title_eq=x")).status_code == 200

    await until(may_read)
    declared = {"$set": {"schema.title": {"type": "string"}}}
    messages.database["collections"].update_one({"_id": "messages"}, declared)
    await until(has_title)


async def test_w10_a_collection_that_was_made_again_is_another(messages: Api, open_socket: Open) -> None:
    """Its old documents went without an event: a cursor of it is void, and its followers begin again."""
    gone = await create(messages, text="gone")
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    snapshot = await live.subscribe("messages")
    assert snapshot["documents"] == [gone]
    path = "/api/collections"
    (declared,) = (await messages.request("GET", path)).json()["collections"]
    assert (await messages.request("DELETE", f"{path}/messages")).status_code == 204
    body = {"name": "messages", "schema": declared["schema"], "realtime": True}
    assert (await messages.request("POST", path, json=body)).status_code == 201
    made = await create(messages, text="new")
    frame = await live.next()
    if frame["type"] == "resync":
        assert (await live.expect("snapshot"))["documents"] == [made]
    else:
        assert (frame["type"], frame["code"]) == ("closed", "collection_not_found")
    again: Live = await open_socket()
    await again.hello(key=messages.key)
    frame = await again.subscribe("messages", after=snapshot["cursor"])
    assert frame["documents"] == [made]


def make_feed(lose: Callable[[ChangeFeed], None]) -> ChangeFeed:
    floods = Floods(may_hold=lambda _: False, begin_again=lambda _: None)
    client: Any = AsyncMongoClient(connect=False)
    feed = ChangeFeed(
        lambda: client,
        "",
        deliver=lambda _: None,
        lose=lambda: lose(feed),
        floods=floods,
        backlog=Backlog(lambda _: ChannelIndex().resync("")),
    )
    return feed


async def test_w10_who_comes_when_history_is_lost_waits_for_where_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, may_find, asked = list[int](), asyncio.Event(), list[int]()

    async def next_moments(self: ChangeStream) -> list[FeedMoment]:
        asked.append(1)
        if len(asked) == 2:
            raise FeedHistoryLost
        if len(asked) > 3:
            await asyncio.sleep(SECONDS)
        self.position = max(self.position, 5)
        return []

    async def find_now(_client: object) -> int:
        if asked:
            await may_find.wait()
        return 5

    monkeypatch.setattr(ChangeStream, "next_moments", next_moments)
    monkeypatch.setattr("service.domain.realtime.feed.find_now", find_now)
    feed = make_feed(lambda feed: lost.append(feed.position))
    await feed.follow([("p", "c_notes")])
    await until(lambda: not feed.position)
    other = asyncio.create_task(feed.follow([("p", "c_other")]))
    await asyncio.sleep(0.05)
    assert not other.done()
    may_find.set()
    await other
    assert feed.position == 5
    assert lost == [5]
    await feed.close()


async def test_w10_what_one_reply_cuts_off_is_told_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of MongoDB write a batch at one moment, and say nothing of it."""
    client: Any = AsyncMongoClient(connect=False)
    events = [event(7, number) for number in range(4)]
    replies = iter([events[:3], events[3:], []])

    async def reply(_self: ChangeStream) -> Any:
        return {"cursor": {"id": 1, "nextBatch": next(replies)}}

    monkeypatch.setattr(ChangeStream, "_open", reply)
    monkeypatch.setattr(ChangeStream, "_more", reply)
    stream = ChangeStream(client, [("p", "c_notes")], 5, "")
    told = [moment for _ in range(3) for moment in await stream.next_moments()]
    assert [(each.at, [change.id for change in each.changes]) for each in told] == [(7, [0, 1, 2, 3])]


def event(at: int, id_: int) -> dict[str, Any]:
    return {
        "clusterTime": Timestamp(at >> 32, at & 0xFFFFFFFF),
        "operationType": "insert",
        "ns": {"db": "p", "coll": "c_notes"},
        "documentKey": {"_id": id_},
        "fullDocument": {"_id": id_},
    }
