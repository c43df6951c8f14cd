"""A subscription begins with the changes that its client missed since its cursor, else with a snapshot of one moment."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial

import structlog

from service.bounds import MAX_CHANGES_BYTES, MAX_MISSED, MAX_SNAPSHOT_BYTES
from service.domain.lists import LIST_SECONDS, Lists
from service.domain.realtime.binding import BoundSubscription
from service.domain.realtime.channels import Channel, Images, Missing
from service.domain.realtime.connections import FAILED, Connection
from service.domain.realtime.cursors import read_cursor
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.subscriptions import Subscription, frame
from service.domain.steps import run_in_steps
from service.errors import Busy, ServiceError, Unavailable, page_too_large
from service.observe.metrics import RESYNCS
from service.query.populate import show_rows
from service.schema.steps import Steps
from service.storage.change_feed import FeedHistoryLost
from service.storage.encoded_rows import EncodedRow, decode_rows
from service.storage.snapshots import find_at

log = structlog.get_logger()

# Snapshots that may fail before the subscription is closed.
ATTEMPTS = 5
# The event loop does other work after so many seconds of reading what a client missed.
STEP_SECONDS = 0.002


class Snapshots:
    """`refuse` is called where a subscription cannot begin."""

    def __init__(
        self, feed: ChangeFeed, lists: Lists, refuse: Callable[[Connection, Subscription, ServiceError], None]
    ) -> None:
        self._feed = feed
        self._lists = lists
        self._refuse = refuse

    def begin_again(self, connection: Connection, subscription: Subscription, reason: str) -> None:
        RESYNCS.labels(reason).inc()
        connection.write(frame("resync", id=subscription.id, reason=reason))
        self.load(connection, subscription)

    def load(self, connection: Connection, subscription: Subscription) -> None:
        """A read that is under way for the subscription ends: two at once would undo each other's order."""
        subscription.queue()
        if subscription.task is not None:
            subscription.task.cancel()
        task = subscription.task = asyncio.create_task(self._send(connection, subscription))
        connection.tasks.add(task)
        task.add_done_callback(partial(_let_go, connection, subscription))

    async def _send(self, connection: Connection, subscription: Subscription) -> None:
        try:
            if await self._try_resume(connection, subscription):
                return
            for _ in range(ATTEMPTS):
                if await self._try_snapshot(connection, subscription):
                    return
            raise Unavailable
        except ServiceError as error:
            self._refuse(connection, subscription, error)
        except Exception:
            # The client would wait for ever.
            log.exception("snapshot_failed")
            connection.close(FAILED)

    @asynccontextmanager
    async def _turn(self, connection: Connection, subscription: Subscription) -> AsyncIterator[None]:
        """The socket's one turn to read, with room for what is read and a place among its project's lists.

        The context begins when the feed delivers what is written from now on, and the subscription keeps it. Nothing is
        awaited between that look and the context: a flood may have begun while the subscription waited. Raises Busy.
        """
        while True:
            await self._wait_until_told(subscription)
            async with connection.turn:
                await connection.room()
                async with self._lists.place(connection.caller.project.database):
                    if self._is_told(subscription):
                        subscription.load()
                        yield
                        return

    async def _wait_until_told(self, subscription: Subscription) -> None:
        """Raises Unavailable."""
        if subscription.bound is not None:
            await self._feed.floods.wait(subscription.bound.namespace)
        try:
            await self._feed.begun()
        except TimeoutError:
            raise Unavailable from None

    def _is_told(self, subscription: Subscription) -> bool:
        is_held = subscription.bound is not None and self._feed.floods.is_held(subscription.bound.namespace)
        return not is_held and self._feed.position > 0

    async def _try_resume(self, connection: Connection, subscription: Subscription) -> bool:
        """True where all that is later than the client's cursor was sent in one frame, so that it needs no snapshot."""
        bound, channel, after = subscription.bound, subscription.channel, subscription.after
        subscription.after = None
        at = read_cursor(after, subscription.sign) if after is not None else None
        if bound is None or channel is None or at is None:
            return False
        async with self._turn(connection, subscription):
            # Later changes come by the feed.
            position = self._feed.position
            if subscription.bound is not bound:
                return False
            missed = await self._read_missed(bound, channel, at, position)
            if missed is None or subscription.bound is not bound or subscription.spoilt is not None:
                return False
            subscription.write(max(at, position), missed)
            subscription.begin(max(at, position))
        return True

    async def _read_missed(self, bound: BoundSubscription, channel: Channel, at: int, position: int) -> bytes | None:
        """The changes between two moments, as the inside of a JSON array; None where a snapshot takes their place.

        That is past MAX_CHANGES_BYTES or MAX_MISSED, past the time of a list, and where MongoDB does not tell all.
        """
        missed, left, count, began = list[bytes](), int(MAX_CHANGES_BYTES), 0, time.thread_time()
        try:
            async with (
                asyncio.timeout(LIST_SECONDS),
                aclosing(self._feed.read_between(bound.namespace, at, position, bound.wanted_at)) as changes,
            ):
                async for change in changes:
                    images = Images(change)
                    for _ in channel.look_ahead(images):
                        await asyncio.sleep(0)
                    written = channel.read(images)
                    missed += [written] if written is not None else []
                    left, count = left - len(written or b"") - 1, count + 1
                    if left < 0 or count > MAX_MISSED:
                        return None
                    if time.thread_time() - began > STEP_SECONDS:
                        await asyncio.sleep(0)
                        began = time.thread_time()
        except (Missing, FeedHistoryLost, TimeoutError):
            return None
        return b",".join(missed)

    async def _try_snapshot(self, connection: Connection, subscription: Subscription) -> bool:
        """True where it was sent, or another task has the subscription; False where something spoilt it meanwhile."""
        try:
            async with self._turn(connection, subscription):
                return await self._read_snapshot(connection, subscription)
        except Busy:
            if not subscription.has_begun:
                raise
            # A begun subscription tries again: thousands may begin again in the same moment.
            return False

    async def _read_snapshot(self, connection: Connection, subscription: Subscription) -> bool:
        bound = subscription.bound
        if bound is None:
            return True
        rows, at = await find_at(bound.database, bound.command(), self._feed.position, seconds=LIST_SECONDS)
        documents = await run_in_steps(bound.database, write_rows(bound, rows[: bound.query.limit]))
        if subscription.bound is not bound:
            # Bound to something else meanwhile, or ended: another task has it.
            return True
        if subscription.spoilt is not None:
            return False
        cursor = subscription.sign(at)
        head = frame("snapshot", id=subscription.id, complete=len(rows) <= bound.query.limit, cursor=cursor)
        connection.write_snapshot(b'%s,"documents":[%s]}' % (head[:-1], documents), cursor)
        subscription.begin(at)
        return True


def _let_go(connection: Connection, subscription: Subscription, task: asyncio.Task[None]) -> None:
    connection.tasks.discard(task)
    if subscription.task is task:
        subscription.task = None


def write_rows(bound: BoundSubscription, encoded: Sequence[EncodedRow]) -> Steps[bytes]:
    """The documents of a snapshot as JSON, separated by commas. Raises Invalid for more than MAX_SNAPSHOT_BYTES."""
    rows = yield from decode_rows(encoded, bound.database.database.codec_options)
    shown = yield from show_rows(rows, show=bound.show, view=bound.query.view)
    written, left = list[bytes](), int(MAX_SNAPSHOT_BYTES)
    for row in shown:
        yield
        written.append(bound.form.write(row))
        left -= len(written[-1]) + 1
        if left < -1:
            raise page_too_large(f"The snapshot would have more than {MAX_SNAPSHOT_BYTES} bytes")
    return b",".join(written)
