"""Replacements of the driver's functions that cost more than they must; and its connections, counted.

The driver calls these functions in place of its own.
"""

from inspect import signature
from typing import Any

import pymongo.asynchronous.pool as driver
from pymongo import AsyncMongoClient, _csot
from pymongo.message import _UNPACK_REPLY as READ_REPLY
from pymongo.monitoring import ConnectionCheckOutFailedEvent, ConnectionClosedEvent, ConnectionPoolListener
from pymongo.network_layer import PyMongoProtocol, async_receive_message, async_sendall

from service.observe.metrics import CONNECTION_FAILURES, CONNECTION_WAITS, CONNECTIONS, CONNECTIONS_CLOSED
from service.storage.deadline import Deadline

Document = dict[str, Any]

LONG_WAIT_SECONDS = 0.01
# Longer than any call of a request may take, shorter than the driver takes to see that a server is gone.
SHORT_SECONDS = 20.0


class PoolMetrics(ConnectionPoolListener):
    """Counts connections and their ends, as the driver reports them (the CMAP specification's events).

    There is no listener for commands: building its events costs a tenth of a request's CPU (docs/performance.md).
    `records.translated` times each call instead, which includes the wait for a connection and retries; a command's own
    time leaves these out. Events of every call are caught before they are built, see `count_connections`.
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
    """Catches the events of every call before the driver builds them; only long waits are counted."""
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
    """Reads a reply in the task of the waiter. The driver makes two tasks, one to notice a server that is gone.

    If the call ends before that is noticed, the second task is useless. All other waiting is the driver's.
    """
    seconds = _csot.get_timeout()
    if seconds is None or seconds > SHORT_SECONDS:
        return await async_receive_message(connection, request_id, max_message_size)
    read = connection.conn.get_conn.read(request_id, max_message_size)
    if seconds == 0:
        # This is of `records`, which looks at the time itself.
        data, kind = await read
    else:
        with Deadline(_csot.remaining() or 0):
            data, kind = await read
    return READ_REPLY[kind](data)


def fits_driver() -> bool:
    """True if the driver is one that the two functions above are written for; otherwise its own stay."""
    found = [
        " ".join(signature(each).parameters) for each in (async_sendall, async_receive_message, PyMongoProtocol.read)
    ]
    return found == ["conn buf", "conn request_id max_message_size", "self request_id max_message_size"]


if fits_driver():
    driver.async_sendall, driver.async_receive_message = _send, _receive  # type: ignore[attr-defined, assignment]
