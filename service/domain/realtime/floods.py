"""Collections that are written faster than they can be told: nothing is told of them for a while, so that no other waits.

A stream tells one after the other what all collections have seen; of a bulk write that somebody follows it tells some ten
thousand changes a second, and whatever else was written stands behind them. Those who follow the bulk begin anew instead.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable

import structlog

from service.storage.change_feed import Moment, Namespace

log = structlog.get_logger()

# After so many full replies one after the other, of which a collection has more than half, it is held back, for so long.
FULL_REPLIES = 3
HOLD_SECONDS = 3.0


class Floods:
    """`may_hold` says what nobody's rights depend on; `begin_again` is called with what is held back from now on."""

    def __init__(self, *, may_hold: Callable[[Namespace], bool], begin_again: Callable[[Namespace], None]) -> None:
        self._may_hold = may_hold
        self._begin_again = begin_again
        self._full: Counter[Namespace] = Counter()
        self._held: dict[Namespace, tuple[float, asyncio.Event]] = {}

    @property
    def held(self) -> list[Namespace]:
        return list(self._held)

    def is_held(self, namespace: Namespace) -> bool:
        return namespace in self._held

    def note(self, moments: Iterable[Moment], *, is_full: bool) -> bool:
        """After each reply of the stream: whether another one is needed, for something is held back, or not any more."""
        if not is_full:
            self._full.clear()
            now = time.monotonic()
            over = [namespace for namespace, (until, _) in self._held.items() if until <= now]
            for namespace in over:
                self.release(namespace)
            return bool(over)
        counts = Counter(change.namespace for moment in moments for change in moment.changes)
        for namespace, count in counts.most_common(1):
            self._full = Counter({namespace: self._full[namespace] + 1 if 2 * count > counts.total() else 0})
            if self._full[namespace] >= FULL_REPLIES and self._may_hold(namespace):
                self._hold(namespace)
                return True
        return False

    def _hold(self, namespace: Namespace) -> None:
        log.warning("change_feed_flooded", database=namespace[0], collection=namespace[1])
        self._full.clear()
        self._held[namespace] = time.monotonic() + HOLD_SECONDS, asyncio.Event()
        self._begin_again(namespace)

    def release(self, namespace: Namespace) -> bool:
        """Whether it was held back. A stream that tells of it again must be opened before anything else is told."""
        _, over = self._held.pop(namespace, (0.0, None))
        if over is not None:
            over.set()
        return over is not None

    async def wait(self, namespace: Namespace) -> None:
        """Returns at once where nothing is held back."""
        while namespace in self._held:
            await self._held[namespace][1].wait()
