"""Caches of a worker for some seconds: they save questions to the database, and are never much out of date."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from time import monotonic
from typing import Any, Generic, TypeVar

V = TypeVar("V")

# Seconds between two searches for expired entries, while the cache has any.
SWEEP_SECONDS = 1.0
# Bytes of an entry beside its name and its value: the slot of the dict, the tuple, its numbers.
ENTRY_BYTES = 250


def moment() -> float:
    """The present, by the clock of caches."""
    return monotonic()


class Cache(Generic[V]):
    """Values by name, each for `seconds` from the moment its load began. The oldest leave where there is no room.

    There is room for `budget` values. With `weigh`, which gives the bytes of a value, there is room for `budget` bytes; the
    newest value stays, however large it is. Expired entries leave within a second or so, so a quiet cache holds no memory.
    A cache is read several times in every request, so reading is one look into a dict.
    """

    __slots__ = ("_entries", "_loads", "_queued", "_sweeper", "_weigh", "_weight", "budget", "seconds")

    def __init__(self, budget: int, seconds: float, weigh: Callable[[V], int] | None = None) -> None:
        self.budget = budget
        self.seconds = seconds
        self._weigh = weigh
        self._weight = 0
        self._entries: dict[str, tuple[float, V, int]] = {}
        self._loads: dict[str, asyncio.Task[V]] = {}
        self._queued: dict[str, asyncio.Task[V]] = {}
        self._sweeper: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """The number of values it holds, expired ones included."""
        return len(self._entries)

    def get(self, name: str) -> V | None:
        """The value put in under `name` less than `seconds` ago; None without one."""
        entry = self._entries.get(name)
        return entry[1] if entry is not None and entry[0] + self.seconds > monotonic() else None

    def read_at(self, name: str) -> float | None:
        """The time at which the load of the value under `name` began."""
        entry = self._entries.get(name)
        return entry[0] if entry is not None else None

    def put(self, name: str, value: V, *, read_at: float | None = None) -> V:
        """Remembers `value` as of `read_at` (by `time.monotonic`; now, by default), and returns it."""
        # Taken out first, so that the dict's order is that of age.
        self._drop(name)
        weight = 1 if self._weigh is None else self._weigh(value) + len(name) + ENTRY_BYTES
        while self._entries and self._weight + weight > self.budget:
            self._drop(next(iter(self._entries)))
        self._weight += weight
        self._entries[name] = (monotonic() if read_at is None else read_at, value, weight)
        if self._sweeper is None:
            self._sweep_later()
        return value

    async def get_or_load(self, name: str, load: Callable[[], Awaitable[V]]) -> V:
        """The remembered value, else what `load` returns, which is remembered.

        All who ask while it loads share the one load and its error. An error is not cached. A cancelled caller does not
        cancel the load, which belongs to no request: it has neither a request's deadline nor its context.
        """
        entry = self._entries.get(name)
        if entry is not None and entry[0] + self.seconds > monotonic():
            return entry[1]
        return await asyncio.shield(self._loads.get(name) or self._start(name, load))

    async def reload(self, name: str, load: Callable[[], Awaitable[V]]) -> V:
        """The result of a load that begins after this call. All callers during another load share the next one."""
        task = self._queued.get(name)
        if task is None and (running := self._loads.get(name)) is not None:
            task = self._queued[name] = _begin(self._load_after(running, name, load))
            task.add_done_callback(_read_error)
        return await asyncio.shield(task or self._start(name, load))

    def forget(self, name: str) -> None:
        """Drops the value. A load under way is used only by the callers that wait for it already."""
        self._drop(name)
        self._loads.pop(name, None)

    def clear(self) -> None:
        self._entries.clear()
        self._loads.clear()
        self._weight = 0

    def _drop(self, name: str) -> None:
        if (entry := self._entries.pop(name, None)) is not None:
            self._weight -= entry[2]

    def _sweep_later(self) -> None:
        """One timer for all entries, at the moment at which the oldest expires. It keeps nothing of the request."""
        read_at = next(iter(self._entries.values()))[0]
        delay = max(SWEEP_SECONDS, read_at + self.seconds - monotonic())
        self._sweeper = asyncio.get_running_loop().call_later(delay, self._sweep, context=Context())

    def _sweep(self) -> None:
        self._sweeper = None
        expired = monotonic() - self.seconds
        while self._entries:
            name, (read_at, _, _) = next(iter(self._entries.items()))
            if read_at > expired:
                return self._sweep_later()
            self._drop(name)
        return None

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
    """Reads the outcome, so that asyncio does not report a failure of a task without a waiter."""
    if not task.cancelled():
        task.exception()
