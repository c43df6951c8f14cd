"""THREATS row V24: what waits in a socket for its client is bounded, snapshots included, and a deaf client is cut off."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from faults.waiting import until, waiting_for
from service.bounds import MAX_SOCKET_BYTES, MAX_UNSENT_BYTES, MAX_WORKER_UNSENT_BYTES
from service.domain.access.caller import ProjectCaller
from service.domain.realtime import connections, upkeep
from service.domain.realtime.connections import Connection, Stale
from service.domain.realtime.subscriptions import SubscriptionState
from service.server import live_socket
from service.services import Services
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create
from tests.web.realtime.live import PING, SECONDS, Live, deaf, requested

MIB = 1_048_576


@pytest.fixture(autouse=True)
async def alone(services: Services) -> None:
    """Sockets of tests before this one have ended: some of them read nothing, in the same database."""
    await until(lambda: not services.realtime.connections)


@pytest.fixture
async def large(messages: Api) -> Api:
    """A snapshot of these documents has almost 4 MiB."""
    for _ in range(20):
        await create(messages, room_id="r1", text="x" * 200_000)
    return messages


async def subscribed(api: Api, services: Services) -> Connection:
    """The connection of the test, once it has a subscription."""

    def find() -> list[Connection]:
        found = [each for each in services.realtime.connections if each.database_name == api.database.name]
        return [each for each in found if each.subscriptions]

    await until(find)
    return find()[-1]


async def most_unsent(connection: Connection, *, seconds: float) -> int:
    """The most bytes that waited within that time; it ends with the connection."""
    most, until_ = 0, time.monotonic() + seconds
    while connection.is_open and time.monotonic() < until_:
        most = max(most, connection._sink.waiting())  # noqa: SLF001
        await asyncio.sleep(0.01)
    return most


async def settled(connection: Connection) -> None:
    """Until a second passes in which nothing more is written."""
    written = -1
    async with waiting_for("a second without a write"):
        while written != connection._sink.written:  # noqa: SLF001
            written = connection._sink.written  # noqa: SLF001
            await asyncio.sleep(1)


async def test_v24_unsent_bytes_of_a_socket_have_a_bound_whatever_it_asks_for(
    large: Api, services: Services, address: str
) -> None:
    async with deaf(address, key=large.key) as client:
        for number in range(20):
            await client.say(type="subscribe", id=str(number), collection="messages")
        connection = await subscribed(large, services)
        watching = asyncio.create_task(most_unsent(connection, seconds=10))
        # The feed may deliver all changes as one frame. With a snapshot, it has fewer bytes than the socket's bound.
        for _ in range(5):
            await create(large, room_id="r1", text="y" * 200_000)
        unsent = await watching
        assert MAX_UNSENT_BYTES < unsent <= MAX_SOCKET_BYTES, unsent
        assert connection.is_open


class Waiting:
    """A sink in which so many bytes wait."""

    written = 0

    def __init__(self, size: int) -> None:
        self.size, self.codes = size, list[int]()

    def waiting(self) -> int:
        return self.size

    async def room(self) -> None:
        raise NotImplementedError

    def write(self, frame: bytes, cursor: str | None = None) -> None:
        raise NotImplementedError

    def close(self, code: int, reason: str = "") -> None:  # noqa: ARG002 - the protocol has it
        self.codes.append(code)


def connected(sizes: Sequence[int]) -> tuple[list[Waiting], list[Connection]]:
    """A connection for each size, and their sinks."""
    sinks, caller = [Waiting(size) for size in sizes], cast(ProjectCaller, None)
    return sinks, [Connection(sink, caller, "", None) for sink in sinks]


async def look_once(opened: list[Connection]) -> None:
    """One look of the upkeep at these connections."""
    others: Any = None
    await upkeep.Upkeep(lambda: opened, feed=others, stale=others, snapshots=others, projects=others).keep_readers()


@pytest.mark.parametrize(
    ("sizes", "closed"),
    [
        ([MAX_WORKER_UNSENT_BYTES // 16] * 16, []),
        ([MAX_WORKER_UNSENT_BYTES // 16] * 16 + [1], [0]),
        ([1, 7 * MIB, 2 * MIB] + [6 * MIB] * 10 + [3 * MIB], [1, 3]),
    ],
    ids=["at the bound", "one byte more", "the largest first"],
)
async def test_v24_the_sockets_of_a_worker_with_most_unsent_bytes_are_closed(
    sizes: list[int], closed: list[int]
) -> None:
    sinks, opened = connected(sizes)
    for _ in range(3):
        await look_once(opened)
    assert [number for number, sink in enumerate(sinks) if sink.codes] == closed
    assert all(sinks[number].codes == [connections.TOO_SLOW] for number in closed)


async def test_v24_a_client_that_reads_late_gets_every_snapshot(
    large: Api, services: Services, open_socket: Open
) -> None:
    live: Live = await open_socket()
    await live.hello(key=large.key)
    live.connection.transport.pause_reading()
    for number in range(5):
        await live.send(type="subscribe", id=str(number), collection="messages")
    await settled(await subscribed(large, services))
    live.connection.transport.resume_reading()
    found = [await live.expect("snapshot") for _ in range(5)]
    assert sorted(each["id"] for each in found) == [str(number) for number in range(5)]
    assert all(len(each["documents"]) == 20 for each in found)


async def test_v24_a_client_that_reads_nothing_gets_no_more_answers(
    large: Api, services: Services, address: str
) -> None:
    """Neither refusals of 64 KiB nor pongs pile up."""
    async with deaf(address, key=large.key) as client:
        await client.say(type="subscribe", id="m", collection="messages")
        connection = await subscribed(large, services)
        await settled(connection)
        before = connection._sink.waiting()  # noqa: SLF001
        assert before > MAX_UNSENT_BYTES
        for number in range(30):
            where = {f"nothing_{name}_eq": 1 for name in range(1_000)}
            await client.say(type="subscribe", id=str(number), collection="messages", where=where)
        await client.send(PING, b"x" * 125, times=10_000)
        await settled(connection)
        assert connection._sink.waiting() - before < MAX_UNSENT_BYTES  # noqa: SLF001


async def test_v24_a_client_that_pings_and_reads_nothing_gets_no_pongs(
    messages: Api, services: Services, address: str
) -> None:
    async with deaf(address, key=messages.key) as client:
        await client.say(type="subscribe", id="m", collection="messages")
        connection = await subscribed(messages, services)
        for _ in range(40):
            await client.send(PING, b"x" * 125, times=1_000)
            await asyncio.sleep(0)
        await asyncio.sleep(0.5)
        assert connection._sink.waiting() < 2 * MAX_UNSENT_BYTES  # noqa: SLF001


async def test_v24_a_client_that_reads_nothing_is_cut_off(
    large: Api, services: Services, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One snapshot is enough: no change is written, and nothing is asked for."""
    assert connections.SLOW_SECONDS + 2 * upkeep.LOOK_SECONDS + live_socket.CLOSE_SECONDS <= 35
    monkeypatch.setattr(connections, "SLOW_SECONDS", 1.0)
    monkeypatch.setattr(live_socket, "CLOSE_SECONDS", 0.5)
    async with deaf(address, key=large.key) as client:
        await client.say(type="subscribe", id="m", collection="messages")
        connection = await subscribed(large, services)
        await until(lambda: not connection.is_open)
        transport = connection._sink.transport  # type: ignore[attr-defined]  # noqa: SLF001
        await until(lambda: transport.get_write_buffer_size() == 0)
        async with waiting_for("the end of the connection"):
            await client.gone()


async def test_v24_a_slow_client_that_goes_on_reading_stays(
    large: Api, services: Services, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW_SECONDS", 1.0)
    async with deaf(address, key=large.key) as client:
        await client.say(type="subscribe", id="m", collection="messages")
        connection = await subscribed(large, services)
        for _ in range(30):
            async with waiting_for("more of the snapshot"):
                await client.reader.readexactly(100_000)
            await asyncio.sleep(0.1)
        assert connection.is_open


@pytest.mark.parametrize("way", ["a close frame", "a frame that is none"])
async def test_v24_a_client_that_ends_the_socket_and_reads_nothing_is_cut_off(
    large: Api, services: Services, address: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(live_socket, "CLOSE_SECONDS", 0.5)
    async with deaf(address, key=large.key) as client:
        await client.say(type="subscribe", id="m", collection="messages")
        connection = await subscribed(large, services)
        await settled(connection)
        transport = connection._sink.transport  # type: ignore[attr-defined]  # noqa: SLF001
        assert transport.get_write_buffer_size() > MAX_UNSENT_BYTES
        await client.send(8 if way == "a close frame" else 7, b"\x03\xe8")
        await until(lambda: transport.get_write_buffer_size() == 0)


async def test_v24_a_stream_of_events_counts_what_its_connection_has_not_sent(
    large: Api, services: Services, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SLOW_SECONDS", 1.0)
    headers = f"accept: text/event-stream\r\nx-api-key: {large.key}\r\n"
    async with requested(address, "/api/collections/messages/documents", headers) as client:
        connection = await subscribed(large, services)
        unsent = await most_unsent(connection, seconds=SECONDS)
        assert MAX_UNSENT_BYTES < unsent <= MAX_SOCKET_BYTES
        assert not connection.is_open
        async with waiting_for("the end of the connection"):
            await client.gone()


async def test_v24_changes_that_wait_for_rights_have_a_bound_together(
    messages: Api, services: Services, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is one of the socket, not of each subscription."""
    monkeypatch.setattr("service.domain.realtime.subscriptions.MAX_CHANGES_BYTES", 10_000)
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    for number in range(10):
        await live.subscribe("messages", str(number), where={"text_ne": str(number)})
    connection = await subscribed(messages, services)
    connection.is_paused = True
    for _ in range(3):
        await create(messages, text="x" * 1_000)
    moved: Callable[[], object] = lambda: any(each.spoilt for each in connection.subscriptions.values())  # noqa: E731
    await until(moved)
    assert connection.kept() <= 10_000
    connection.go_on()
    told = {frame["id"]: frame for frame in [await live.next() for _ in range(10)]}
    assert {frame["type"] for frame in told.values()} <= {"resync", "changes"}


async def test_v15_a_paused_connection_looks_at_none_of_its_subscriptions(
    messages: Api, services: Services, open_socket: Open
) -> None:
    """A worker may have a million; each one notices the pause when it has changes."""
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    await live.subscribe("messages", "busy", where={"text_eq": "seen"})
    await live.subscribe("messages", "idle", where={"text_eq": "never"})
    connection = await subscribed(messages, services)
    busy, idle = (connection.subscriptions[name] for name in ("busy", "idle"))
    Stale().note([connection])
    assert [busy.state, idle.state] == [SubscriptionState.LIVE, SubscriptionState.LIVE]
    made = await create(messages, text="seen")
    await until(lambda: busy.kept > 0)
    assert [busy.state, idle.state] == [SubscriptionState.PAUSED, SubscriptionState.LIVE]
    connection.go_on()
    assert await live.change("busy") == {"op": "enter", "document": made}
    await live.nothing()
