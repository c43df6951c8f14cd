"""The few things that differ between the colours by more than a word; `_sync/seam.py` is the other side."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from inspect import isawaitable
from typing import Any, TypeVar

import httpx2

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
