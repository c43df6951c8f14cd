"""Collections with more writes than can be delivered: they pause for a while, so that no other collection waits.

A stream delivers the writes of all collections one after the other; of a followed bulk write it delivers some ten
thousand changes a second, and all other writes queue behind them. Followers of the bulk begin again instead.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable

import structlog

from service.storage.change_feed import FeedMoment, Namespace

log = structlog.get_logger()

# A collection pauses after so many full replies in a row of which it has more than half, and for so many seconds.
FULL_REPLIES = 3
HOLD_SECONDS = 3.0


class Floods:
    """`may_hold` is true for collections that no rights depend on; `begin_again` is called for each that pauses."""

    def __init__(
        self,
        *,
        may_hold: Callable[[Namespace], bool],
        begin_again: Callable[[Namespace], None],
        hold_seconds: float = HOLD_SECONDS,
    ) -> None:
        self.hold_seconds = hold_seconds
        self._may_hold = may_hold
        self._begin_again = begin_again
        self._full: Counter[Namespace] = Counter()
        self._held: dict[Namespace, tuple[float, asyncio.Event]] = {}

    @property
    def held(self) -> list[Namespace]:
        return list(self._held)

    def is_held(self, namespace: Namespace) -> bool:
        return namespace in self._held

    def note(self, moments: Iterable[FeedMoment], *, is_full: bool) -> bool:
        """Called after each reply of the stream; True if a new stream is needed, as a collection pauses or resumes."""
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
        self._held[namespace] = time.monotonic() + self.hold_seconds, asyncio.Event()
        self._begin_again(namespace)

    def release(self, namespace: Namespace) -> bool:
        """Ends the pause; False if there was none. A stream with the collection must be opened before the next
        delivery.
        """
        _, over = self._held.pop(namespace, (0.0, None))
        if over is not None:
            over.set()
        return over is not None

    async def wait(self, namespace: Namespace) -> None:
        """Returns at once where nothing is held back."""
        while namespace in self._held:
            await self._held[namespace][1].wait()
