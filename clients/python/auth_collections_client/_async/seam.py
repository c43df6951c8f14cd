"""The few things that differ between the colours by more than a word; `_sync/seam.py` is the other side."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from inspect import isawaitable
from typing import Any, TypeVar

import httpx2

from auth_collections_client.errors import ConfigurationError
from auth_collections_client.feeds import CLOSE_SECONDS, FRAME_BYTES, NO_WEBSOCKETS, Lost, closed_by

T = TypeVar("T")
HttpClient = httpx2.AsyncClient
HttpResponse = httpx2.Response
Lock = asyncio.Lock
sleep = asyncio.sleep
Rows = AsyncIterable[T] | Iterable[T]


async def settle(value: Any) -> Any:
    """Returns a value, or that of a coroutine."""
    return await value if isawaitable(value) else value


def deadline(seconds: float) -> AbstractAsyncContextManager[object]:
    """Ends what is inside after so many seconds, with TimeoutError."""
    return asyncio.timeout(seconds)


def is_stream(value: object) -> bool:
    return isinstance(value, AsyncIterable | Iterable)


async def iterate(rows: Rows[T]) -> AsyncIterator[T]:
    if isinstance(rows, AsyncIterable):
        async for each in rows:
            yield each
    else:
        for each in rows:
            yield each


async def pump(chunks: Callable[[], Iterator[bytes]], tell: Callable[[int], None]) -> AsyncIterator[bytes]:
    """Yields a form's bytes, read in a thread, and tells the count of those that were taken."""
    found = chunks()
    done = 0
    while (chunk := await asyncio.to_thread(next, found, b"")) != b"":
        yield chunk
        done += len(chunk)
        tell(done)


Event = asyncio.Event


async def rest(event: asyncio.Event, seconds: float) -> bool:
    """Waits until the event is set, at most so many seconds; returns True if it is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def connect(url: str, agent: str) -> Any:
    """Opens a WebSocket. Raises ConfigurationError without the package `websockets`, Lost where it is refused."""
    try:
        from websockets.asyncio.client import connect as open_socket
        from websockets.exceptions import WebSocketException
    except ImportError as error:
        raise ConfigurationError(NO_WEBSOCKETS) from error
    try:
        return await open_socket(url, user_agent_header=agent, max_size=FRAME_BYTES, close_timeout=CLOSE_SECONDS)
    except (OSError, WebSocketException) as error:
        raise Lost(1006, "") from error


async def receive(socket: Any, seconds: float) -> str:
    """Returns the next message. Raises TimeoutError after so many seconds, Lost where the socket is closed."""
    from websockets.exceptions import ConnectionClosed

    try:
        async with asyncio.timeout(seconds):
            return str(await socket.recv())
    except ConnectionClosed as error:
        raise closed_by(error) from error


async def say(socket: Any, message: str) -> None:
    from websockets.exceptions import ConnectionClosed

    try:
        await socket.send(message)
    except ConnectionClosed as error:
        raise closed_by(error) from error


async def close(socket: Any) -> None:
    """Ends a socket with a goodbye, or at once where the other side does not answer."""
    await socket.close()


def cut(socket: Any) -> None:
    """Ends a socket at once."""
    socket.transport.abort()
