"""The few things that differ between the colours by more than a word; `_async/seam.py` is the other side."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from inspect import iscoroutine
from typing import Any, TypeVar

import httpx2

from auth_collections_client.errors import ConfigurationError
from auth_collections_client.feeds import CLOSE_SECONDS, FRAME_BYTES, NO_WEBSOCKETS, Lost, closed_by

T = TypeVar("T")
HttpClient = httpx2.Client
HttpResponse = httpx2.Response
Lock = threading.Lock
sleep = time.sleep
Rows = Iterable[T]


def settle(value: Any) -> Any:
    """Returns a value. Raises ConfigurationError for a coroutine, which only the async client takes."""
    if iscoroutine(value):
        value.close()
        raise ConfigurationError("A store with coroutines is for AsyncClient.")
    return value


def deadline(seconds: float) -> AbstractContextManager[object]:  # noqa: ARG001 - the signature of both colours
    """Bounds nothing: the HTTP client bounds each wait, and the transport looks at the clock between chunks."""
    return nullcontext()


def is_stream(value: object) -> bool:
    return isinstance(value, Iterable)


def iterate(rows: Rows[T]) -> Iterator[T]:
    yield from rows


def pump(chunks: Callable[[], Iterator[bytes]], tell: Callable[[int], None]) -> Iterator[bytes]:
    """Yields a form's bytes, and tells the count of those that were taken."""
    done = 0
    for chunk in chunks():
        yield chunk
        done += len(chunk)
        tell(done)


Event = threading.Event


def rest(event: threading.Event, seconds: float) -> bool:
    """Waits until the event is set, at most so many seconds; returns True if it is."""
    return event.wait(seconds)


def connect(url: str, agent: str) -> Any:
    """Opens a WebSocket. Raises ConfigurationError without the package `websockets`, Lost where it is refused."""
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect as open_socket
    except ImportError as error:
        raise ConfigurationError(NO_WEBSOCKETS) from error
    try:
        return open_socket(url, user_agent_header=agent, max_size=FRAME_BYTES, close_timeout=CLOSE_SECONDS, legacy=True)
    except (OSError, WebSocketException) as error:
        raise Lost(1006, "") from error


def receive(socket: Any, seconds: float) -> str:
    """Returns the next message. Raises TimeoutError after so many seconds, Lost where the socket is closed."""
    from websockets.exceptions import ConnectionClosed

    try:
        return str(socket.recv(timeout=seconds))
    except ConnectionClosed as error:
        raise closed_by(error) from error


def say(socket: Any, message: str) -> None:
    from websockets.exceptions import ConnectionClosed

    try:
        socket.send(message)
    except ConnectionClosed as error:
        raise closed_by(error) from error


def close(socket: Any) -> None:
    """Ends a socket with a goodbye, or at once where the other side does not answer."""
    socket.close()


def cut(socket: Any) -> None:
    """Ends a socket at once."""
    socket.close_socket()
