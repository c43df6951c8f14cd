"""The one change stream of a worker: opened by the first follower, opened again after a loss, and closed without
followers.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing

import structlog

from service.domain.realtime.backlog import STEP_SECONDS, Backlog
from service.domain.realtime.floods import Floods
from service.observe.metrics import FEED_DELAY, FEED_EVENTS, FEED_LOST, FEED_OPENED
from service.schema.values import now
from service.storage.change_feed import (
    ChangeStream,
    FeedHistoryLost,
    FeedMoment,
    Namespace,
    RecordChange,
    find_now,
    is_lost,
    read_between,
)
from service.storage.change_stages import WantedAt
from service.storage.client import Client

log = structlog.get_logger()

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.05, 2.0
# Seconds a follower waits for MongoDB's present time.
BEGIN_SECONDS = 10.0


class ChangeFeed:
    """Passes every moment of the followed collections to `deliver`, and calls `lose` after a gap.

    `position` is the moment up to which all was handed to `deliver`; moments still to be delivered are in `backlog`.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        prefix: str,
        *,
        deliver: Callable[[FeedMoment], None],
        lose: Callable[[], None],
        floods: Floods,
        backlog: Backlog,
    ) -> None:
        self.position = 0
        self.floods = floods
        self.backlog = backlog
        self._connect = connect
        self._prefix = prefix
        self._deliver = deliver
        self._lose = lose
        self._client: Client | None = None
        self._followed: Counter[Namespace] = Counter()
        self._generation = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_begun = asyncio.Event()
        # True while a gap in the stream has not been reported.
        self._has_lost = False

    async def follow(self, namespaces: Iterable[Namespace]) -> None:
        """Delivers the writes of these collections from `position` on, until `forget`.

        Raises TimeoutError without MongoDB.
        """
        wanted = list(namespaces)
        is_new = any(not self._followed[each] for each in wanted)
        self._followed.update(wanted)
        if is_new:
            self._open()
        try:
            await self.begun()
        except BaseException:
            self.forget(wanted)
            raise

    async def begun(self) -> None:
        """Returns when the first delivered moment is known. Raises TimeoutError without MongoDB."""
        async with asyncio.timeout(BEGIN_SECONDS):
            await self._has_begun.wait()

    def forget(self, namespaces: Iterable[Namespace]) -> None:
        self._followed.subtract(namespaces)
        self._followed = +self._followed
        if not self._followed:
            # The stream that is open ends with its next reply.
            self._generation += 1
            self.position, self._has_lost = 0, False
            self._has_begun.clear()

    def reached(self, namespace: Namespace) -> int:
        """The moment up to which all of a collection was delivered."""
        first = self.backlog.find_first(namespace)
        return self.position if first is None else first - 1

    def insist(self, namespace: Namespace) -> None:
        """Delivers all later writes of the collection, in any amount."""
        if self.floods.release(namespace):
            self._open()

    @property
    def is_open(self) -> bool:
        return bool(self._followed)

    def _open(self) -> None:
        """A stream over the followed collections of now replaces the present one, whose reply may take a second."""
        self._generation += 1
        task = asyncio.create_task(self._run(self._generation), name="background: change feed")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, generation: int) -> None:
        wait = FIRST_WAIT_SECONDS
        while generation == self._generation:
            began = time.monotonic()
            try:
                await self._begin(generation)
                await self._read(generation)
            except FeedHistoryLost:
                log.warning("change_feed_history_lost")
                FEED_LOST.labels("history").inc()
                if generation == self._generation:
                    # New followers wait until the first moment is known.
                    self.position, self._has_lost = 0, True
                    self._has_begun.clear()
            except Exception as error:
                # After any error, only this loop can open the stream again.
                FEED_LOST.labels("connection").inc()
                log.warning("change_feed_lost", cause=type(error).__name__, exc_info=None if is_lost(error) else error)
                if time.monotonic() - began > LONGEST_WAIT_SECONDS:
                    wait = FIRST_WAIT_SECONDS
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    async def _begin(self, generation: int) -> None:
        """Begins with the present moment, at the first time and after a gap."""
        if self.position:
            return
        if self._client is None:
            self._client = self._connect()
        moment = await find_now(self._client)
        if generation != self._generation:
            return
        self.position = self.position or moment
        self._has_begun.set()
        if self._has_lost:
            self._has_lost = False
            self._lose()

    async def _read(self, generation: int) -> None:
        if self._client is None or generation != self._generation:
            return
        FEED_OPENED.inc()
        stream = ChangeStream(self._client, self._followed, self.position, self._prefix, without=self.floods.held)
        ahead = asyncio.create_task(stream.next_moments())
        try:
            while generation == self._generation:
                moments, position, is_full = await ahead, stream.position, stream.is_full
                written_at = stream.written_at
                # MongoDB reads the next reply while this one is delivered; by turns both would wait.
                ahead = asyncio.create_task(stream.next_moments())
                # Another stream delivers the rest again, from the same position on.
                if not await self._tell(moments, generation):
                    return
                self.position = max(self.position, position)
                if written_at is not None:
                    FEED_DELAY.observe(max(0.0, (now() - written_at).total_seconds()))
                if self.floods.note(moments, is_full=is_full):
                    self._open()
        finally:
            ahead.cancel()
            await asyncio.gather(ahead, return_exceptions=True)
            await stream.close()

    async def _tell(self, moments: Iterable[FeedMoment], generation: int) -> bool:
        """Delivers the moments; False if another stream took over. Other work has its turn after each step."""
        ends = 0.0
        for moment in moments:
            if time.monotonic() >= ends:
                await asyncio.sleep(0)
                if generation != self._generation:
                    return False
                ends = time.monotonic() + STEP_SECONDS
            FEED_EVENTS.inc(len(moment.changes))
            self._deliver(moment)
            self.position = moment.at
        return generation == self._generation

    async def read_between(
        self, namespace: Namespace, after: int, until: int, wanted: WantedAt
    ) -> AsyncGenerator[RecordChange, None]:
        """The changes of a collection later than `after` and up to `until` that concern the records `wanted` finds.

        Raises HistoryLost if MongoDB no longer has them.
        """
        if after >= until:
            return
        if self._client is None:
            raise FeedHistoryLost
        try:
            found = read_between(self._client, namespace, after, until, wanted=wanted, prefix=self._prefix)
            async with aclosing(found) as changes:
                async for change in changes:
                    yield change
        except Exception as error:
            if not is_lost(error):
                raise
            raise FeedHistoryLost from error

    async def close(self) -> None:
        self._generation += 1
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.backlog.close()
        if self._client is not None:
            await self._client.close()
