"""What a worker remembers for some seconds: so much saves a question to the database, and is never much out of date."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from time import monotonic
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Values by name, at most `size` of them, each for `seconds` from the moment its load began.

    It is read several times in every request, so reading is one look into a dict. When it is full the oldest goes.
    """

    __slots__ = ("_entries", "_loads", "_queued", "seconds", "size")

    def __init__(self, size: int, seconds: float) -> None:
        self.size = size
        self.seconds = seconds
        self._entries: dict[str, tuple[float, V]] = {}
        self._loads: dict[str, asyncio.Task[V]] = {}
        self._queued: dict[str, asyncio.Task[V]] = {}

    def get(self, name: str) -> V | None:
        """The value put in under `name` less than `seconds` ago; None where there is none."""
        entry = self._entries.get(name)
        return entry[1] if entry is not None and entry[0] + self.seconds > monotonic() else None

    def read_at(self, name: str) -> float | None:
        """When the load of what is remembered under `name` began."""
        entry = self._entries.get(name)
        return entry[0] if entry is not None else None

    def put(self, name: str, value: V, *, read_at: float | None = None) -> V:
        """Remembers `value` as of `read_at` (by `time.monotonic`; now, by default), and returns it."""
        # Taken out first, so that the dict's order is that of age.
        self._entries.pop(name, None)
        if len(self._entries) >= self.size:
            del self._entries[next(iter(self._entries))]
        self._entries[name] = (monotonic() if read_at is None else read_at, value)
        return value

    async def get_or_load(self, name: str, load: Callable[[], Awaitable[V]]) -> V:
        """The remembered value, else what `load` returns, which is remembered.

        All who ask while it loads share the one load and its error. An error is not remembered, and a caller who is
        cancelled does not cancel the load, which belongs to no request: neither its deadline nor its context is there.
        """
        entry = self._entries.get(name)
        if entry is not None and entry[0] + self.seconds > monotonic():
            return entry[1]
        return await asyncio.shield(self._loads.get(name) or self._start(name, load))

    async def reload(self, name: str, load: Callable[[], Awaitable[V]]) -> V:
        """What a load returns that begins after this call. All who ask while another one runs share the next."""
        task = self._queued.get(name)
        if task is None and (running := self._loads.get(name)) is not None:
            task = self._queued[name] = _begin(self._load_after(running, name, load))
            task.add_done_callback(_read_error)
        return await asyncio.shield(task or self._start(name, load))

    def forget(self, name: str) -> None:
        """What is asked for from now on is loaded from now on: a load under way is for those alone who wait for it."""
        self._entries.pop(name, None)
        self._loads.pop(name, None)

    def clear(self) -> None:
        self._entries.clear()
        self._loads.clear()

    def _start(self, name: str, load: Callable[[], Awaitable[V]]) -> asyncio.Task[V]:
        task = self._loads[name] = _begin(self._load(name, load))
        task.add_done_callback(_read_error)
        return task

    async def _load(self, name: str, load: Callable[[], Awaitable[V]]) -> V:
        read_at, task = monotonic(), asyncio.current_task()
        try:
            value = await load()
            return self.put(name, value, read_at=read_at) if self._loads.get(name) is task else value
        finally:
            if self._loads.get(name) is task:
                del self._loads[name]

    async def _load_after(self, running: asyncio.Task[V], name: str, load: Callable[[], Awaitable[V]]) -> V:
        await asyncio.wait([running])
        del self._queued[name]
        return await asyncio.shield(self._loads.get(name) or self._start(name, load))


def _begin(load: Coroutine[Any, Any, V]) -> asyncio.Task[V]:
    """In a context of its own, for others may wait for it, too; it is as much in the background as who asked first."""
    asker = asyncio.current_task()
    return asyncio.create_task(load, name=asker.get_name() if asker is not None else None, context=Context())


def _read_error(task: asyncio.Task[V]) -> None:
    """Reads the outcome, so that asyncio does not report a failure nobody waited for any more."""
    if not task.cancelled():
        task.exception()
