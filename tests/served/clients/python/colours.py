"""The synchronous client behind the asynchronous client's surface, so that one test runs in both colours."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from types import TracebackType
from typing import Any

SYNC = "auth_collections_client._sync."


class Awaited:
    """A part of the synchronous client: calls that are coroutines in the other colour run in a thread."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return wrapped(value)
        twin = getattr(twin_of(type(self._target)), name, None)
        return in_thread(value) if inspect.iscoroutinefunction(twin) else directly(value)

    async def __aenter__(self) -> "Awaited":
        return Awaited(self._target.__enter__())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._target.__exit__, kind, error, trace)

    def __aiter__(self) -> "Awaited":
        return self

    async def __anext__(self) -> Any:
        end = object()
        if (value := await asyncio.to_thread(next, self._target, end)) is end:
            raise StopAsyncIteration
        return value


def twin_of(kind: type) -> type:
    module = import_module(kind.__module__.replace("._sync.", "._async."))
    twin: type = getattr(module, f"Async{kind.__name__}", None) or getattr(module, kind.__name__)
    return twin


def wrapped(value: Any) -> Any:
    if isinstance(value, Iterator) and not type(value).__module__.startswith(SYNC):
        return stepping(value)
    return Awaited(value) if type(value).__module__.startswith(SYNC) else value


def in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **named: Any) -> Any:
        return wrapped(await asyncio.to_thread(function, *args, **named))

    return run


def directly(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **named: wrapped(function(*args, **named))


async def stepping(found: Iterator[Any]) -> AsyncIterator[Any]:
    end = object()
    while (value := await asyncio.to_thread(next, found, end)) is not end:
        yield value
