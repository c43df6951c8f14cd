"""Moments that take longer than one step to deliver: they wait by collection, and go out step by step, by turns of
projects.

The moments of a collection are delivered in their order. If too much of a collection waits, or for too long, it begins
again: its followers are sent `resync`, and its waiting moments are dropped.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic

import structlog

from service.bounds import MAX_BACKLOG_BYTES
from service.observe.metrics import FEED_DELAY
from service.schema.steps import Steps, take_steps
from service.storage.change_stages import Namespace
from service.storage.changes import RecordChange

log = structlog.get_logger()

# Seconds one step may hold the event loop: other requests wait for as long, several times each. Most moments are delivered
# in the first step.
STEP_SECONDS = 0.002
# Seconds a collection may be behind. Its followers were promised to hear of a write within 25 seconds.
BEHIND_SECONDS = 20.0
# Bytes of a change that waits, beside its encoded records.
OVERHEAD = 512


@dataclass(slots=True)
class WaitingMoment:
    """A moment that is delivered in `steps`, and waits since `since`. `size` is the bytes of its changes.

    The steps by which a collection begins again have no `size`, and wait since ever: they are never dropped.
    """

    at: int
    steps: Steps[bool]
    size: int = 0
    since: float = inf


class Backlog:
    """`begin_again` makes the steps by which all who follow a collection begin again."""

    def __init__(
        self,
        begin_again: Callable[[Namespace], Steps[bool]],
        *,
        most_bytes: int = MAX_BACKLOG_BYTES,
        most_seconds: float = BEHIND_SECONDS,
    ) -> None:
        self._begin_again = begin_again
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds
        self._lanes: dict[Namespace, deque[WaitingMoment]] = {}
        self._sizes: Counter[Namespace] = Counter()
        # The databases, and the collections of each, in the order of their turns.
        self._turns: dict[str, dict[Namespace, None]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def size(self) -> int:
        """The bytes of all changes that wait."""
        return self._sizes.total()

    def tell(self, namespace: Namespace, at: int, steps: Steps[bool], changes: Sequence[RecordChange]) -> None:
        """Tells a moment at once, where nothing of its collection waits and a step is enough; else the rest waits."""
        if namespace in self._lanes or take_steps(steps, STEP_SECONDS) is None:
            self._add(
                namespace, WaitingMoment(at, steps, sum(change.size + OVERHEAD for change in changes), monotonic())
            )
            if self.size > self._most_bytes:
                self.begin_again(max(self._sizes, key=self._sizes.__getitem__))

    def begin_again(self, namespace: Namespace) -> None:
        """Drops the waiting moments of the collection, and has its followers begin again."""
        at = self.find_first(namespace) or 1
        self._drop(namespace)
        self._add(namespace, WaitingMoment(at, self._begin_again(namespace)))

    def find_first(self, namespace: Namespace) -> int | None:
        """The next moment of the collection to be delivered, if any waits."""
        lane = self._lanes.get(namespace)
        return lane[0].at if lane else None

    def _add(self, namespace: Namespace, waiting: WaitingMoment) -> None:
        self._lanes.setdefault(namespace, deque()).append(waiting)
        self._turns.setdefault(namespace[0], {})[namespace] = None
        self._sizes[namespace] += waiting.size
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="background: realtime backlog")

    def _drop(self, namespace: Namespace) -> None:
        self._lanes.pop(namespace, None)
        del self._sizes[namespace]
        self._turns.get(namespace[0], {}).pop(namespace, None)

    async def _work(self) -> None:
        while self._turns:
            database, lanes = next(iter(self._turns.items()))
            # The database and the collection that have this turn are the last ones of the next round.
            del self._turns[database]
            namespace = next(iter(lanes), None)
            if namespace is not None:
                self._turns[database] = lanes
                lanes[namespace] = lanes.pop(namespace)
                self._take_turn(namespace)
            await asyncio.sleep(0)

    def _take_turn(self, namespace: Namespace) -> None:
        lane = self._lanes[namespace]
        first = lane[0]
        if monotonic() - first.since > self._most_seconds:
            log.warning("change_feed_behind", database=namespace[0], collection=namespace[1])
            self.begin_again(namespace)
            return
        try:
            is_done = take_steps(first.steps, STEP_SECONDS) is not None
        except Exception:
            log.exception("telling_failed")
            (self._drop if first.since == inf else self.begin_again)(namespace)
            return
        if is_done:
            self._finish(namespace, lane)

    def _finish(self, namespace: Namespace, lane: deque[WaitingMoment]) -> None:
        told = lane.popleft()
        self._sizes[namespace] -= told.size
        if told.since < inf:
            FEED_DELAY.observe(monotonic() - told.since)
        if not lane:
            self._drop(namespace)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
