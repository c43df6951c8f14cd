"""THREATS rows V6 and V16: reads of realtime take the places of lists, and filters have a bound in bytes."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from faults.waiting import until
from service.bounds import MAX_LISTS, MAX_SLOW_LISTS, MAX_SOCKET_WHERE_BYTES
from service.domain.lists import LIST_SECONDS, Lists
from service.domain.paces import Presence
from service.domain.realtime.following import LONGEST_BIND_SECONDS
from service.domain.shares import Turns
from service.errors import QueryTooSlow
from service.services import Services
from service.storage import change_feed, snapshots
from service.storage.users import Users
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, put_rules, sign_up
from tests.web.realtime.live import Live

FIND_AT = "service.domain.realtime.snapshots.find_at"


def lists_of(services: Services) -> Lists:
    return services.realtime._snapshots._lists  # noqa: SLF001


@asynccontextmanager
async def taken(api: Api, services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """All places of the project's lists, as many as where its lists are quick."""
    shares = lists_of(services)._shares  # noqa: SLF001
    monkeypatch.setattr(shares, "_paces", None)
    async with AsyncExitStack() as stack:
        for _ in range(MAX_LISTS):
            await stack.enter_async_context(shares.take(api.database.name))
        yield


async def greeted(api: Api, open_socket: Open) -> Live:
    live: Live = await open_socket()
    await live.hello(key=api.key)
    return live


@pytest.mark.parametrize("begins", ["with a snapshot", "with a cursor"])
async def test_v6_a_subscription_that_finds_no_place_in_two_seconds_is_busy(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    live = await greeted(messages, open_socket)
    cursor = (await live.subscribe("messages", "before"))["cursor"]
    await create(messages, text="missed")
    await live.expect("changes")
    async with taken(messages, services, monkeypatch):
        began = time.monotonic()
        closed = await live.refused("messages", after=cursor if begins == "with a cursor" else None)
        assert closed["code"] == "busy"
        assert time.monotonic() - began > LIST_SECONDS * 0.9
    assert len((await live.subscribe("messages"))["documents"]) == 1


async def test_v6_a_subscription_that_goes_on_waits_for_a_place(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood has thousands begin again in the same moment; none of them is closed for it."""
    live = await greeted(messages, open_socket)
    await live.subscribe("messages")
    monkeypatch.setattr(lists_of(services)._shares, "seconds", 0.2)  # noqa: SLF001
    async with taken(messages, services, monkeypatch):
        services.realtime.feed.backlog.begin_again((messages.database.name, "c_messages"))
        assert (await live.expect("resync"))["reason"] == "large"
        await asyncio.sleep(0.5)
        await live.nothing()
    await live.expect("snapshot")


@pytest.mark.parametrize("begins", ["with a snapshot", "with a cursor"])
async def test_v6_reads_of_a_project_whose_lists_are_not_known_are_two_at_once(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    find_at, read_between, may_read = snapshots.find_at, change_feed.read_between, asyncio.Event()
    under_way, most = 0, 0

    @asynccontextmanager
    async def counted() -> AsyncIterator[None]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await may_read.wait()
        yield
        under_way -= 1

    async def finding(*arguments: Any, **options: Any) -> Any:
        async with counted():
            return await find_at(*arguments, **options)

    async def reading(*arguments: Any, **options: Any) -> Any:
        async with counted():
            async for change in read_between(*arguments, **options):
                yield change

    cursor = None
    if begins == "with a cursor":
        cursor = (await (await greeted(messages, open_socket)).subscribe("messages"))["cursor"]
        await create(messages, text="missed")
        await until(lambda: services.realtime.feed.position > int(str(cursor).partition(".")[0], 16))
    monkeypatch.setattr(lists_of(services)._shares._paces, "_kept", {})  # noqa: SLF001 - as at the start of a worker
    monkeypatch.setattr(FIND_AT, finding)
    monkeypatch.setattr("service.domain.realtime.feed.read_between", reading)
    sockets = [await greeted(messages, open_socket) for _ in range(6)]
    for live in sockets:
        await live.send(type="subscribe", id="m", collection="messages", after=cursor)
    await until(lambda: under_way == MAX_SLOW_LISTS)
    await asyncio.sleep(0.3)
    assert most == MAX_SLOW_LISTS
    may_read.set()
    for live in sockets:
        await live.expect("changes" if cursor else "snapshot")


async def test_v6_a_snapshot_has_the_time_of_a_list(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    async def slow(*_: Any, seconds: float) -> Any:
        asked.append(seconds)
        raise QueryTooSlow

    monkeypatch.setattr(FIND_AT, slow)
    live = await greeted(messages, open_socket)
    assert (await live.refused("messages"))["code"] == "query_too_slow"
    assert asked == [LIST_SECONDS]


def where_of(size: int) -> dict[str, Any]:
    """A filter of so many bytes, as JSON without spaces."""
    empty = len('{"or":[{"text_in":[]}]}')
    count, rest = divmod(size - empty, 203)
    values = ["x" * 200] * (count - 1) + ["x" * (200 + rest + 1)]
    return {"or": [{"text_in": values}]}


async def test_v16_filters_of_a_socket_have_a_bound_together(messages: Api, open_socket: Open) -> None:
    live = await greeted(messages, open_socket)
    half = where_of(MAX_SOCKET_WHERE_BYTES // 2)
    await live.subscribe("messages", "1", where=half)
    await live.subscribe("messages", "2", where=half)
    closed = await live.refused("messages", "3", where={"text_eq": "x"})
    assert closed["code"] == "too_many_subscriptions"
    assert "65,536 bytes" in closed["detail"]
    await live.subscribe("messages", "all")
    await live.send(type="unsubscribe", id="1")
    await live.expect("closed")
    await live.subscribe("messages", "3", where={"text_eq": "x"})


async def test_v16_filters_of_a_worker_have_a_bound_and_leave_with_their_sockets(
    messages: Api, services: Services, open_socket: Open, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = services.realtime._following  # noqa: SLF001
    await until(lambda: following.where_bytes == 0)
    monkeypatch.setattr("service.domain.realtime.realtime.MAX_WHERE_BYTES", 1_000)
    first, second = await greeted(messages, open_socket), await greeted(messages, open_socket)
    await first.subscribe("messages", where=where_of(900))
    assert following.where_bytes == 900
    closed = await second.refused("messages", where=where_of(300))
    assert closed["code"] == "too_many_subscriptions"
    path = f"/api/collections/messages/documents?text_eq={'x' * 300}"
    refused = await messages.request("GET", path, headers={"accept": "text/event-stream"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_subscriptions")
    await first.connection.close()
    await until(lambda: following.where_bytes == 0)
    await second.subscribe("messages", where=where_of(300))


async def test_v16_a_refused_subscription_counts_no_bytes(messages: Api, services: Services, open_socket: Open) -> None:
    following = services.realtime._following  # noqa: SLF001
    await until(lambda: following.where_bytes == 0)
    live = await greeted(messages, open_socket)
    assert (await live.refused("nothing", where={"text_eq": "x"}))["code"] == "collection_not_found"
    assert (await live.refused("messages", where={"nothing": 1}))["code"] == "validation_error"
    assert following.where_bytes == 0


async def test_v16_a_cursor_does_not_stay_with_its_subscription(
    messages: Api, services: Services, open_socket: Open
) -> None:
    live = await greeted(messages, open_socket)
    await live.subscribe("messages", after="x" * 60_000)
    (connection,) = services.realtime.connections
    subscription = connection.subscriptions["m"]
    assert subscription.after is None
    assert inspect.getclosurevars(subscription.parse).nonlocals["message"]["after"] == ""


async def test_v16_an_ended_subscription_that_waits_for_its_turn_leaves_nothing(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that subscribes and unsubscribes while one read is slow keeps no filters in memory."""
    find_at, may_read, reading = snapshots.find_at, asyncio.Event(), list[int]()

    async def finding(*arguments: Any, **options: Any) -> Any:
        reading.append(1)
        await may_read.wait()
        return await find_at(*arguments, **options)

    monkeypatch.setattr(FIND_AT, finding)
    live = await greeted(messages, open_socket)
    await live.send(type="subscribe", id="slow", collection="messages")
    await until(lambda: reading)
    (connection,) = [each for each in services.realtime.connections if each.subscriptions]
    for number in range(20):
        await live.send(type="subscribe", id=str(number), collection="messages", where=where_of(30_000))
        await live.send(type="unsubscribe", id=str(number))
        await live.expect("closed", str(number))
    await until(lambda: len(connection.tasks) == 1)
    may_read.set()
    await live.expect("snapshot", "slow")
    await live.subscribe("messages", "next")


def test_v6_snapshots_of_twenty_milliseconds_have_a_share_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots_of = Lists(Presence())._subscriptions._paces  # noqa: SLF001 - it is the shares of snapshots alone
    assert snapshots_of is not None
    for _ in range(20):
        snapshots_of.note("quick", 0.01)
        snapshots_of.note("slow", 0.03)
    assert snapshots_of.allow("slow", MAX_LISTS - 1, MAX_LISTS)
    monkeypatch.setattr(Presence, "has_others", lambda *_: True)
    for _ in range(20):
        snapshots_of.note("quick", 0.01)
        snapshots_of.note("slow", 0.03)
    assert not snapshots_of.allow("slow", 0, MAX_LISTS)
    assert snapshots_of.allow("quick", MAX_LISTS - 1, MAX_LISTS)


async def test_v6_the_subscriptions_of_a_socket_read_their_user_once(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    find_facts = Users.find_facts

    async def counting(self: Users, id_: str, *arguments: Any) -> Any:
        reads.append(id_)
        return await find_facts(self, id_, *arguments)

    await put_rules(messages, {"collections": {"messages": {"read": {"author_id_eq": "$user.id"}}}})
    user, token = await sign_up(messages, "reader@example.com")
    monkeypatch.setattr(Users, "find_facts", counting)
    live: Live = await open_socket()
    await live.hello(token=token)
    for number in range(5):
        await live.subscribe("messages", str(number))
    assert set(reads) == {user}
    assert len(reads) <= 3


async def test_v6_each_subscription_is_work_of_its_project_on_the_loop(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[tuple[str, float]] = []
    monkeypatch.setattr(Turns, "note", lambda _self, name, seconds: noted.append((name, seconds)))
    live = await greeted(messages, open_socket)
    for number in range(3):
        await live.subscribe("messages", str(number))
    bound = [seconds for name, seconds in noted if name == messages.database.name and seconds]
    assert len(bound) >= 3
    assert max(bound) <= LONGEST_BIND_SECONDS
