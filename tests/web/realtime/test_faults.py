"""Gaps in the stream: large records, slow readers, history that is gone, a stream that breaks, a stop."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from faults.waiting import until, waiting_for
from service.app import Application
from service.domain.realtime.backlog import Backlog
from service.domain.realtime.channels import ChannelIndex
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.floods import FULL_REPLIES, Floods
from service.domain.realtime.subscriptions import SubscriptionState
from service.services import Services
from service.storage.change_feed import ChangeStream, FeedHistoryLost, FeedMoment, Namespace, RecordChange
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, merge
from tests.web.realtime.live import SECONDS, Live, opened, serving


async def follow(api: Api, open_socket: Open, **options: Any) -> Live:
    live: Live = await open_socket()
    await live.hello(key=api.key)
    await live.subscribe("messages", **options)
    return live


async def test_w7_a_record_too_large_for_an_event_is_a_resync(messages: Api, open_socket: Open) -> None:
    """Nothing of ours writes one; what another program does must not end the stream of all."""
    small = await create(messages, text="small")
    live = await follow(messages, open_socket, where={"text_startswith": "small"})
    collection = messages.database.get_collection("c_messages")
    large = {"_id": "f" * 24, "data": {"text": "x", "extra": "y" * 9_000_000}}
    messages.database.command({"insert": "c_messages", "documents": [large], "bypassDocumentValidation": True})
    frame = await live.expect("resync")
    assert frame["reason"] == "large"
    assert (await live.expect("snapshot"))["documents"] == [small]
    change = {"q": {"_id": "f" * 24}, "u": {"$set": {"data.text": "z"}}}
    messages.database.command({"update": "c_messages", "updates": [change], "bypassDocumentValidation": True})
    assert (await live.expect("resync"))["reason"] == "large"
    await live.expect("snapshot")
    collection.delete_one({"_id": "f" * 24})
    assert (await live.expect("resync"))["reason"] == "large"
    await live.expect("snapshot")
    made = await create(messages, text="small too")
    assert await live.change() == {"op": "enter", "document": made}


async def test_w7_more_changes_at_once_than_a_frame_holds_are_a_resync(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.realtime.subscriptions.MAX_CHANGES_BYTES", 10_000)
    live = await follow(messages, open_socket, where={"room_id_eq": "r1"})
    data = {"room_id": "r1", "text": "x" * 3_000}
    operations = [{"op": "create", "collection": "messages", "data": data} for _ in range(5)]
    answer = await messages.request("POST", "/api/batch", json={"atomic": True, "operations": operations})
    assert answer.status_code == 200, answer.text
    assert (await live.expect("resync"))["reason"] == "large"
    assert len((await live.expect("snapshot"))["documents"]) == 5


@pytest.mark.parametrize("named", [64, 0])
async def test_w7_a_bulk_write_delays_nobody_who_follows_something_else(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch, named: int
) -> None:
    """Its followers begin again once; another subscription meanwhile is answered after it, and misses nothing.

    The same holds if MongoDB is given no names, for there are too many.
    """
    monkeypatch.setattr("service.storage.change_stages.NAMED", named)
    monkeypatch.setattr("service.storage.change_feed.BATCH", 5)
    monkeypatch.setattr(services.realtime.feed.floods, "hold_seconds", SECONDS)
    declared = {"name": "quiet", "schema": {"text": {"type": "string"}}, "realtime": True}
    assert (await messages.request("POST", "/api/collections", json=declared)).status_code == 201
    live = await follow(messages, open_socket, where={"room_id_eq": "r1"}, limit=1_000)
    await live.subscribe("quiet", id_="q")
    at = datetime.now(UTC).replace(tzinfo=None)
    shape = {"data": {"room_id": "r1", "text": "x"}, "created_at": at, "updated_at": at, "version": 1}
    bulk = [{"_id": f"{number:024x}", **shape} for number in range(500)]
    messages.database.get_collection("c_messages").insert_many(bulk)
    path = "/api/collections/quiet/documents"
    assert (await messages.request("POST", path, json={"data": {"text": "y"}})).status_code == 201
    told, frames = 0, list[Any]()
    while len(frames) < 3:
        if len(frames) == 2:
            services.realtime.feed.insist((messages.database.name, "c_messages"))
        frame = await live.next()
        if frame["type"] == "changes" and frame["id"] == "m":
            assert not frames
            told += len(frame["changes"])
        else:
            frames.append(frame)
    assert [(each["type"], each["id"]) for each in frames] == [("resync", "m"), ("changes", "q"), ("snapshot", "m")]
    assert frames[0]["reason"] == "large"
    assert told < len(frames[2]["documents"]) == 500
    made = await create(messages, room_id="r1", text="later")
    assert await live.change() == {"op": "enter", "document": made}


def test_what_is_held_back_is_told_again_after_a_while() -> None:
    begun: list[Namespace] = []
    floods = Floods(may_hold=lambda namespace: namespace != ("p", "users"), begin_again=begun.append)
    notes, users = ("p", "c_notes"), ("p", "users")

    def full(namespace: Namespace) -> list[bool]:
        moment = FeedMoment(1, [RecordChange(namespace, "x", None, None)])
        return [floods.note([moment], is_full=True) for _ in range(FULL_REPLIES)]

    assert full(users) == [False] * FULL_REPLIES
    assert [*full(notes)[:-1], floods.note([], is_full=False)] == [False] * FULL_REPLIES
    assert begun == [notes]
    assert floods.is_held(notes)
    floods.hold_seconds = 0.0
    floods.release(notes)
    assert full(notes)[-1]
    assert floods.note([], is_full=False)
    assert not floods.is_held(notes)


async def test_w8_who_does_not_read_is_marked_and_told_anew_when_all_is_read(
    messages: Api, services: Services, address: str
) -> None:
    """No queue grows: what waits in the socket stays as it is, whatever is written."""
    async with opened(address) as live:
        await live.hello(key=messages.key)
        await live.subscribe("messages", where={"room_id_eq": "r1"})
        (connection,) = services.realtime.connections
        subscription = connection.subscriptions["m"]
        live.connection.transport.pause_reading()
        written = 0
        async with waiting_for("a subscription that is slow"):
            while subscription.state is not SubscriptionState.SLOW:
                await create(messages, room_id="r1", text="x" * 200_000)
                written += 1
        before = connection._sink.written  # noqa: SLF001
        last = await create(messages, room_id="r1", text="last")
        await create(messages, room_id="r2", text="x")
        assert connection._sink.written == before  # noqa: SLF001
        live.connection.transport.resume_reading()
        frame = await live.next()
        while frame["type"] == "changes":
            frame = await live.next()
        assert frame == {"type": "resync", "id": "m", "reason": "slow"}
        snapshot = await live.expect("snapshot")
        assert len(snapshot["documents"]) == written + 1
        assert last in snapshot["documents"]


async def test_w8_who_never_reads_is_closed(
    messages: Api, services: Services, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.realtime.connections.SLOW_SECONDS", 0.5)
    async with opened(address) as live:
        await live.hello(key=messages.key)
        await live.subscribe("messages")
        (connection,) = services.realtime.connections
        live.connection.transport.pause_reading()
        async with waiting_for("the end of the connection"):
            while connection.is_open:
                await create(messages, text="x" * 200_000)
        live.connection.transport.abort()


async def test_w10_a_stream_that_breaks_goes_on_where_it_was(
    messages: Api, open_socket: Open, mongo: MongoClient[Any]
) -> None:
    """As when the primary is killed: its cursor is gone, and the writes meanwhile are delivered."""
    live = await follow(messages, open_socket, where={"room_id_eq": "r1"})
    texts: list[str] = []
    for number in range(10):
        if number % 3 == 1:
            cursors = [
                each["cursor"]["cursorId"]
                for each in mongo.admin.aggregate([{"$currentOp": {"idleCursors": True, "localOps": True}}])
                if "cursor" in each and each.get("ns", "").endswith("$cmd.aggregate")
            ]
            if cursors:
                mongo.admin.command({"killCursors": "$cmd.aggregate", "cursors": cursors})
        await create(messages, room_id="r1", text=str(number))
    while len(texts) < 10:
        frame = await live.expect("changes")
        texts += [each["document"]["data"]["text"] for each in frame["changes"]]
    assert texts == [str(number) for number in range(10)]


async def test_w10_who_comes_as_the_last_one_leaves_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream of those who were there may not say where that of the next begins."""
    notes, asked = ("p", "c_notes"), 0

    async def next_moments(self: ChangeStream) -> list[FeedMoment]:
        nonlocal asked
        asked += 1
        self.position = 7
        if asked == 2:
            feed.forget([notes])
        if asked >= 2:
            await asyncio.sleep(SECONDS)
        return []

    async def find_now(_client: object) -> int:
        return 5

    monkeypatch.setattr(ChangeStream, "next_moments", next_moments)
    monkeypatch.setattr("service.domain.realtime.feed.find_now", find_now)
    floods = Floods(may_hold=lambda _: False, begin_again=lambda _: None)
    client: Any = AsyncMongoClient(connect=False)
    feed = ChangeFeed(
        lambda: client,
        "",
        deliver=lambda _: None,
        lose=lambda: None,
        floods=floods,
        backlog=Backlog(lambda _: ChannelIndex().resync("")),
    )
    await feed.follow([notes])
    await until(lambda: asked >= 2, pause=0)
    for _ in range(10):
        await asyncio.sleep(0)
    assert feed.position == 0
    async with waiting_for("the feed to follow again"):
        await feed.follow([notes])
    await feed.close()


async def test_w10_history_that_is_gone_is_a_resync(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    next_moments, lost = ChangeStream.next_moments, iter([True])

    async def losing(self: ChangeStream) -> Any:
        found = await next_moments(self)
        if any(moment.changes for moment in found) and next(lost, False):
            raise FeedHistoryLost
        return found

    monkeypatch.setattr(ChangeStream, "next_moments", losing)
    live = await follow(messages, open_socket)
    made = await create(messages, text="x")
    assert (await live.expect("resync"))["reason"] == "history"
    assert (await live.expect("snapshot"))["documents"] == [made]
    await merge(messages, made, text="y")
    assert (await live.change())["op"] == "change"


async def test_a_stop_tells_when_to_come_back(messages: Api, running_app: Application) -> None:
    async with serving(running_app) as served, opened(served.address) as live:
        await live.hello(key=messages.key)
        await live.subscribe("messages")
        served.server.should_exit = True
        code, reason = await live.closed()
    assert code == 1012
    assert 0 <= json.loads(reason)["retry_after"] <= 20


async def test_nothing_is_opened_where_nobody_follows(messages: Api, services: Services, open_socket: Open) -> None:
    # Sockets of tests before this one end.
    await until(lambda: not services.realtime.feed.is_open)
    await create(messages, text="x")
    assert not services.realtime.feed.is_open
    live = await follow(messages, open_socket)
    assert services.realtime.feed.is_open
    await live.connection.close()
    await until(lambda: not services.realtime.feed.is_open)
