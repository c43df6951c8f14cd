"""Bounds the work under way for each project, or each provider, so that none takes all capacity. No I/O.

`Shares` bound each name for itself, where there is enough for many; `Turns` divide a few places among the names that
wait.
"""

import asyncio
from collections import deque
from time import monotonic
from types import TracebackType
from typing import Protocol

from service.domain.paces import Fewer, Paces
from service.errors import Busy

RETRY_AFTER_SECONDS = 1


class Shares:
    """At most `most` pieces of work at once under each name; `waiting` more wait for a place, `seconds` at the longest.

    `async with shares.take(project.id):` holds a place, and raises Busy if there is none. Names that have nothing under
    way take no memory, but that the last KEPT_PACES paces are kept. One for each worker and kind of work. With `slow`,
    a name has fewer places until its work is seen to be quick: much slow work at once ends no sooner, and all else
    waits.
    """

    __slots__ = ("_paces", "_queues", "_taken", "_timers", "most", "seconds", "waiting")

    def __init__(self, most: int, *, waiting: int = 0, seconds: float = 1.0, slow: Fewer | None = None) -> None:
        self.most = most
        self.waiting = waiting
        self.seconds = seconds
        self._taken: dict[str, int] = {}
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        self._paces = Paces(slow) if slow is not None else None
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def take(self, name: str) -> "SharePlace":
        return SharePlace(self, name)

    async def acquire(self, name: str) -> None:
        """Raises Busy. Each call that returns is followed by one of `release`."""
        if self._has_place(name):
            self._taken[name] = self._taken.get(name, 0) + 1
        else:
            await self._wait(name)

    def _has_place(self, name: str) -> bool:
        taken = self._taken.get(name, 0)
        return taken < self.most if self._paces is None else self._paces.allow(name, taken, self.most)

    async def _wait(self, name: str) -> None:
        queue = self._queues.setdefault(name, deque())
        # A name with fewer places may have more that wait: the sum is the same.
        if self._taken.get(name, 0) + len(queue) >= self.most + self.waiting:
            raise Busy(retry_after=RETRY_AFTER_SECONDS)
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        queue.append(turn)
        self._hand_out_later(name)
        refusal = loop.call_later(self.seconds, _refuse, turn)
        try:
            await turn
        except BaseException:
            self._give_up(name, turn)
            raise
        finally:
            refusal.cancel()

    def _give_up(self, name: str, turn: "asyncio.Future[None]") -> None:
        """Leaves the queue; a place that was handed over in the same moment goes to the next."""
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.release(name)
        elif turn in (queue := self._queues.get(name, deque())):
            queue.remove(turn)

    def release(self, name: str, seconds: float | None = None) -> None:
        """Gives the place, that was used for `seconds`, to the first that waits for it, or back."""
        if self._paces is not None and seconds is not None:
            self._paces.note(name, seconds)
        if self._taken[name] > 1:
            self._taken[name] -= 1
        else:
            del self._taken[name]
        self._hand_out(name)

    def _hand_out(self, name: str) -> None:
        queue = self._queues.get(name)
        while queue and self._has_place(name):
            turn = queue.popleft()
            if not turn.done():
                self._taken[name] = self._taken.get(name, 0) + 1
                turn.set_result(None)
        if queue:
            self._hand_out_later(name)
        else:
            self._queues.pop(name, None)

    def _hand_out_later(self, name: str) -> None:
        """A place that waits for time, and not for another's end, is handed out when its time has come."""
        if self._paces is not None and name not in self._taken and name not in self._timers:
            delay = self._paces.find_delay(name)
            self._timers[name] = asyncio.get_running_loop().call_later(delay, self._end_delay, name)

    def _end_delay(self, name: str) -> None:
        del self._timers[name]
        self._hand_out(name)


def _refuse(turn: "asyncio.Future[None]", retry_after: int = RETRY_AFTER_SECONDS) -> None:
    """A waiter whose request was cancelled stays in its queue until its task runs: it makes room and is not refused."""
    if not turn.done():
        turn.set_exception(Busy(retry_after=retry_after))


class Turns:
    """`places` pieces of work at once in all; `waiting` more wait, also in all. The names that wait take turns.

    A free place goes to the next name, so no request waits for more than one of each other name's. With `slow`, a name that
    owes time passes its turn while others are present. If the queue is full, a newcomer of a name with fewer waiting takes
    the place of the last one of the name that has most; that one is refused, with Busy. `async with turns.take(project.id):`
    holds a place.
    """

    __slots__ = ("_free", "_paces", "_queues", "_timer", "_waiting", "retry_after", "waiting")

    def __init__(self, places: int, *, waiting: int, retry_after: int, slow: Fewer | None = None) -> None:
        self.waiting = waiting
        self.retry_after = retry_after
        self._free = places
        self._waiting = 0
        # In the order of their turns; none is empty.
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        self._paces = Paces(slow) if slow is not None else None
        # It ends when a name that owes time may have its turn.
        self._timer: asyncio.TimerHandle | None = None

    def take(self, name: str) -> "SharePlace":
        return SharePlace(self, name)

    async def acquire(self, name: str) -> None:
        """Raises Busy. Each call that returns is followed by one of `release`."""
        if self._free and not self._find_delay(name):
            self._free -= 1
            return
        self._make_room(name)
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(name, deque()).append(turn)
        self._waiting += 1
        if self._free:
            self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(name, turn)
            raise

    def _find_delay(self, name: str) -> float:
        return self._paces.find_delay(name) if self._paces is not None else 0.0

    def _make_room(self, name: str) -> None:
        if self._waiting < self.waiting:
            return
        longest = max(self._queues.values(), key=len, default=deque())
        if len(longest) <= len(self._queues.get(name, ())) + 1:
            raise Busy(retry_after=self.retry_after)
        self._waiting -= 1
        _refuse(longest.pop(), self.retry_after)

    def _give_up(self, name: str, turn: "asyncio.Future[None]") -> None:
        """Leaves the queue; a place that was handed over in the same moment goes to the next."""
        if turn in (queue := self._queues.get(name, deque())):
            self._waiting -= 1
            queue.remove(turn)
            if not queue:
                del self._queues[name]
        elif not turn.cancelled() and turn.exception() is None:
            self.release(name)

    def release(self, name: str, seconds: float | None = None) -> None:
        """Gives the place, that was used for `seconds`, to the next name whose turn it is, or back."""
        if seconds is not None:
            self.note(name, seconds)
        self._free += 1
        self._hand_out()

    def note(self, name: str, seconds: float) -> None:
        """The work that followed a turn of the name took so long."""
        if self._paces is not None:
            self._paces.note(name, seconds)

    def _hand_out(self) -> None:
        """Gives free places to the names that wait, as far as they owe no time."""
        while self._free and self._queues:
            delays = ((self._find_delay(name), name) for name in self._queues)
            # Most names owe nothing, so most searches end with the first.
            ready = next((name for delay, name in delays if not delay), None)
            if ready is None:
                self._hand_out_later(min(map(self._find_delay, self._queues)))
                return
            self._give_turn(ready)

    def _give_turn(self, name: str) -> None:
        """To the first of the name that waits; the name is the last one of the next round."""
        queue = self._queues.pop(name)
        turn = queue.popleft()
        if queue:
            self._queues[name] = queue
        self._waiting -= 1
        if not turn.done():
            self._free -= 1
            turn.set_result(None)

    def _hand_out_later(self, delay: float) -> None:
        """A name that came later may owe less than those for which the timer runs."""
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() > loop.time() + delay:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_later(delay, self._end_delay)

    def _end_delay(self) -> None:
        self._timer = None
        self._hand_out()


class _Places(Protocol):
    async def acquire(self, name: str) -> None: ...

    def release(self, name: str, _seconds: float | None = None, /) -> None: ...


class SharePlace:
    """One place while it is used. A class: a generator's context costs three times as much."""

    __slots__ = ("_began", "_name", "_shares")

    def __init__(self, shares: _Places, name: str) -> None:
        self._shares = shares
        self._name = name
        self._began = 0.0

    async def __aenter__(self) -> None:
        await self._shares.acquire(self._name)
        self._began = monotonic()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shares.release(self._name, monotonic() - self._began)
