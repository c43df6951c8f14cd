"""The few things that differ between the colours by more than a word; `_async/seam.py` is the other side."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from inspect import iscoroutine
from typing import Any, TypeVar

import httpx2

from auth_collections_client.errors import ConfigurationError

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
