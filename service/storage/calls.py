"""One call of the driver: its errors become ours, it is timed and has a deadline, and a lost reading is tried once more.

What the driver does beneath each call stands here too, where it costs more than it must.
"""

import asyncio
from inspect import signature
from time import perf_counter
from types import TracebackType
from typing import Any

import pymongo.asynchronous.pool as driver
from pymongo import AsyncMongoClient, _csot, timeout
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import AutoReconnect
from pymongo.message import _UNPACK_REPLY as READ_REPLY
from pymongo.monitoring import ConnectionCheckOutFailedEvent, ConnectionClosedEvent, ConnectionPoolListener
from pymongo.network_layer import PyMongoProtocol, async_receive_message, async_sendall

from service.observe.metrics import (
    CONNECTION_FAILURES,
    CONNECTION_WAITS,
    CONNECTIONS,
    CONNECTIONS_CLOSED,
    operation_series,
)
from service.storage.errors import NOTHING_KNOWN, KnownErrors, translate

Document = dict[str, Any]

# MongoDB's deadline, an answer on its way included, comes this long before the worker's.
GRACE_SECONDS = 1.0
LONG_WAIT_SECONDS = 0.01
# Longer than any call of a request may take, shorter than the driver takes to see that a server is gone.
SHORT_SECONDS = 20.0


class _Call:
    """`with translated():` turns what the driver raises into the errors of errors.py, and times it. A class: it is fast."""

    __slots__ = ("_doing", "_known", "_started")

    def __init__(self, doing: str, known: KnownErrors) -> None:
        self._doing = doing
        self._known = known

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = translate(error, self._doing, self._known) if error is not None else None
        outcome = ours.code if ours is not None else "ok" if error is None else "ended"
        operation_series(outcome).observe(perf_counter() - self._started)
        if ours is not None:
            raise ours from error


def translated(doing: str = "answer", known: KnownErrors = NOTHING_KNOWN) -> _Call:
    """The context in which every driver call is made.

    Raises DuplicateValue, RejectedByValidator, TooLarge; Unavailable when the outcome is unknown, which says that MongoDB
    took too long to do what it was `doing` where that is so. The codes of `known` are errors of the caller's.
    """
    return _Call(doing, known)


async def read(
    collection: AsyncCollection[Document],
    session: AsyncClientSession | None,
    command: Document,
    *,
    seconds: float | None = None,
    known: KnownErrors = NOTHING_KNOWN,
) -> Document:
    """The reply to a command that changes nothing. Tried once more where the connection or the primary was lost.

    MongoDB's specification of retryable reads; the driver leaves out commands that it is handed whole. A lapsed deadline is
    no reason to try again, and a transaction is tried again as a whole.
    """
    with translated("find records", known):
        try:
            return await _run(collection, session, command, seconds)
        except AutoReconnect as error:
            if error.timeout or session is not None:
                raise
            return await _run(collection, session, command, seconds)


async def _run(
    collection: AsyncCollection[Document],
    session: AsyncClientSession | None,
    command: Document,
    seconds: float | None,
) -> Document:
    """MongoDB's own deadline comes before ours, so that it is the one that is met, and its work ends with it.

    The driver would give both the same (timeout 0 keeps it from that).
    """
    reply: Document
    run, codec = collection.database.command, collection.codec_options
    if seconds is None:
        reply = await run(command, codec_options=codec, session=session)
        return reply
    command["maxTimeMS"] = max(1, int(seconds * 1000))
    with timeout(0):
        async with asyncio.timeout(seconds + GRACE_SECONDS):
            reply = await run(command, codec_options=codec, session=session)
            return reply


class PoolMetrics(ConnectionPoolListener):
    """Counts what happens to connections, as the driver reports it (the CMAP specification's events).

    There is no listener for commands: building its events costs a tenth of a request's CPU (docs/performance.md).
    `translated` times each call instead, which includes what a command's own time leaves out: the wait for a connection,
    and retries. What comes with every call is taken before it is made an event, see `count_connections`.
    """

    def connection_created(self, event: object) -> None:  # noqa: ARG002 - the listener's interface
        CONNECTIONS.inc()

    def connection_closed(self, event: ConnectionClosedEvent) -> None:
        CONNECTIONS.dec()
        CONNECTIONS_CLOSED.labels(event.reason).inc()

    def connection_check_out_failed(self, event: ConnectionCheckOutFailedEvent) -> None:
        CONNECTION_FAILURES.labels(event.reason).inc()

    def _ignore(self, event: Any) -> None:
        pass

    pool_created = pool_ready = pool_cleared = pool_closed = _ignore
    connection_ready = connection_check_out_started = connection_checked_out = connection_checked_in = _ignore


def count_connections(client: AsyncMongoClient[Document]) -> None:
    """What the driver would make events of for every call is taken before it is one; of that only long waits count."""
    listeners: Any = client._event_listeners  # noqa: SLF001 - the driver has no other place for it
    listeners.publish_connection_check_out_started = listeners.publish_connection_checked_in = _ignore
    listeners.publish_connection_checked_out = _count_wait


def _ignore(*_: object) -> None:
    pass


def _count_wait(_address: object, _connection: object, seconds: float) -> None:
    if (seconds or 0) > LONG_WAIT_SECONDS:
        CONNECTION_WAITS.inc()


async def _send(protocol: PyMongoProtocol, message: bytes) -> None:
    """The driver's own gives this a time, and so before Python 3.12 a task; it waits for nothing."""
    await protocol.write(message)


async def _receive(connection: Any, request_id: int | None, max_message_size: int) -> Any:
    """A reply, in the task of whoever waits for it. The driver makes two, one to see that a server was found to be gone.

    Where the call ends sooner than that is found, nobody needs it. All other waiting is the driver's.
    """
    seconds = _csot.get_timeout()
    if seconds is None or seconds > SHORT_SECONDS:
        return await async_receive_message(connection, request_id, max_message_size)
    # 0 is `_run`'s, which looks at the time itself.
    async with asyncio.timeout(_csot.remaining()):
        data, kind = await connection.conn.get_conn.read(request_id, max_message_size)
    return READ_REPLY[kind](data)


def fits_driver() -> bool:
    """Whether the driver is one that the two above are written for; where it is not, its own stay."""
    found = [
        " ".join(signature(each).parameters) for each in (async_sendall, async_receive_message, PyMongoProtocol.read)
    ]
    return found == ["conn buf", "conn request_id max_message_size", "self request_id max_message_size"]


if fits_driver():
    driver.async_sendall, driver.async_receive_message = _send, _receive  # type: ignore[attr-defined, assignment]
