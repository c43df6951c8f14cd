"""Two functions of the driver and three of its events, which are part of each call.

The driver gives each sent and each received message a task and a time of its own. `storage/records` has one time for the
whole call, so it needs neither. The driver also makes an event of each use of a connection; only its time is of interest.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pymongo.asynchronous.pool as driver
from pymongo import AsyncMongoClient, _csot
from pymongo.message import _UNPACK_REPLY as READ_REPLY
from pymongo.monitoring import _EventListeners
from pymongo.network_layer import NetworkingInterfaceBase, PyMongoProtocol, async_receive_message, async_sendall

from service.fast import uses
from service.fast.guard import find_changes

# Longer than any call of a request may take, shorter than the driver takes to see that a server is gone.
SHORT_SECONDS = 20.0
PARAMETERS: dict[Callable[..., Any], str] = {
    async_sendall: "conn buf",
    async_receive_message: "conn request_id max_message_size",
    PyMongoProtocol.read: "self request_id max_message_size",
    PyMongoProtocol.write: "self message",
    _csot.get_timeout: "",
    _csot.remaining: "",
    _EventListeners.publish_connection_checked_out: "self address connection_id duration",
    _EventListeners.publish_connection_check_out_started: "self address",
    _EventListeners.publish_connection_checked_in: "self address connection_id",
}
ATTRIBUTES: dict[type, str] = {AsyncMongoClient: "_event_listeners", NetworkingInterfaceBase: "get_conn"}


async def _send(protocol: PyMongoProtocol, message: bytes) -> None:
    """The driver's own gives this a time, and so before Python 3.12 a task; it waits for nothing."""
    await protocol.write(message)


async def _receive(connection: Any, request_id: int | None, max_message_size: int) -> Any:
    """A reply, in the task of the caller. The driver makes two, one to see that a server was found to be gone.

    A call that ends sooner than that is found needs no second task. All other waiting is the driver's.
    """
    seconds = _csot.get_timeout()
    if seconds is None or seconds > SHORT_SECONDS:
        return await async_receive_message(connection, request_id, max_message_size)
    read = connection.conn.get_conn.read(request_id, max_message_size)
    if seconds == 0:
        # `records` sends this call, and bounds its time itself.
        data, kind = await read
    else:
        async with asyncio.timeout(_csot.remaining() or 0):
            data, kind = await read
    return READ_REPLY[kind](data)


def take_events(client: AsyncMongoClient[dict[str, Any]], count_wait: Callable[[float], None]) -> None:
    """Takes the events of each call before the driver builds them. `count_wait` gets the seconds of a wait for a connection."""
    if not IS_USED:
        return

    def count(_address: object, _connection: object, seconds: float) -> None:
        count_wait(seconds or 0)

    listeners: Any = client._event_listeners  # noqa: SLF001 - the driver has no other place for it
    listeners.publish_connection_check_out_started = listeners.publish_connection_checked_in = _ignore
    listeners.publish_connection_checked_out = count


def _ignore(*_: object) -> None:
    pass


# Another driver keeps its own functions.
IS_USED = uses("driver") and not find_changes(PARAMETERS, ATTRIBUTES)
if IS_USED:
    driver.async_sendall, driver.async_receive_message = _send, _receive  # type: ignore[attr-defined, assignment]
