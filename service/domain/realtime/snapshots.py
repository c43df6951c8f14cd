"""How a subscription begins: with what its client missed since its cursor, else with what is there at one moment."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import structlog

from service.bounds import MAX_CHANGES_BYTES, MAX_MISSED, MAX_RESUMES, MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS
from service.domain.realtime.binding import Bound
from service.domain.realtime.channels import Channel, Images, Missing
from service.domain.realtime.connections import FAILED, Connection
from service.domain.realtime.cursors import read_cursor
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.subscriptions import Subscription, frame
from service.domain.steps import run_in_steps
from service.errors import ServiceError, Unavailable, page_too_large
from service.observe.metrics import RESYNCS
from service.query.populate import Row, show_rows
from service.schema.steps import Steps
from service.storage.change_feed import Moment
from service.storage.moments import find_at

log = structlog.get_logger()

# How many snapshots may come to nothing before the client is told.
ATTEMPTS = 5


class Snapshots:
    """`refuse` is called where a subscription cannot begin."""

    def __init__(self, feed: ChangeFeed, refuse: Callable[[Connection, Subscription, ServiceError], None]) -> None:
        self._feed = feed
        self._refuse = refuse
        self._snapshots = asyncio.Semaphore(MAX_SNAPSHOTS)
        self._resumes = asyncio.Semaphore(MAX_RESUMES)

    def begin_again(self, connection: Connection, subscription: Subscription, reason: str) -> None:
        RESYNCS.labels(reason).inc()
        connection.write(frame("resync", id=subscription.id, reason=reason))
        self.load(connection, subscription)

    def load(self, connection: Connection, subscription: Subscription) -> None:
        """Whatever was being read for it is of no use any more: two at once would undo each other's order."""
        subscription.load()
        if subscription.task is not None:
            subscription.task.cancel()
        task = subscription.task = asyncio.create_task(self._send(connection, subscription))
        connection.tasks.add(task)
        task.add_done_callback(partial(_let_go, connection, subscription))

    async def _send(self, connection: Connection, subscription: Subscription) -> None:
        try:
            if await self._try_resume(subscription):
                return
            for _ in range(ATTEMPTS):
                if await self._try_snapshot(connection, subscription):
                    return
            raise Unavailable
        except ServiceError as error:
            self._refuse(connection, subscription, error)
        except Exception:
            # Nobody else would notice that nothing comes.
            log.exception("snapshot_failed")
            connection.close(FAILED)

    @asynccontextmanager
    async def _turn(self, turns: asyncio.Semaphore, subscription: Subscription) -> AsyncIterator[None]:
        """Begins when what is written from now on is told, and waits for it in the subscription.

        Nothing is awaited between that and the context: a flood may have begun while others had their turn.
        """
        while True:
            await self._wait_until_told(subscription)
            async with turns:
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

    async def _try_resume(self, subscription: Subscription) -> bool:
        """Whether all that is later than the client's cursor was sent, in one frame, so that it needs no snapshot."""
        bound, channel, after = subscription.bound, subscription.channel, subscription.after
        subscription.after = None
        at = read_cursor(after, subscription.sign) if after is not None else None
        if bound is None or channel is None or at is None:
            return False
        async with self._turn(self._resumes, subscription):
            # What is later than this comes by the feed.
            position = self._feed.position
            moments = await self._feed.find_between(bound.namespace, at, position, most=MAX_MISSED)
        if moments is None or subscription.bound is not bound or subscription.spoilt is not None:
            return False
        missed = read_missed(channel, moments)
        if missed is None or len(missed) > MAX_CHANGES_BYTES:
            return False
        subscription.write(max(at, position), missed)
        subscription.begin(max(at, position))
        return True

    async def _try_snapshot(self, connection: Connection, subscription: Subscription) -> bool:
        """Whether it was sent; not where something spoilt it meanwhile."""
        async with self._turn(self._snapshots, subscription):
            bound = subscription.bound
            if bound is None:
                return True
            rows, at = await find_at(bound.database, bound.command(), self._feed.position)
            documents = await run_in_steps(bound.database, write_rows(bound, rows[: bound.query.limit]))
        if subscription.bound is not bound:
            # Bound anew meanwhile, or ended: another task has it.
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


def write_rows(bound: Bound, rows: Sequence[Row]) -> Steps[bytes]:
    """The documents of a snapshot as JSON, separated by commas. Raises Invalid for more than MAX_SNAPSHOT_BYTES."""
    shown = yield from show_rows(rows, show=bound.show, view=bound.query.view)
    written, left = list[bytes](), int(MAX_SNAPSHOT_BYTES)
    for row in shown:
        yield
        written.append(bound.form.write(row))
        left -= len(written[-1]) + 1
        if left < -1:
            raise page_too_large(f"The snapshot would have more than {MAX_SNAPSHOT_BYTES} bytes")
    return b",".join(written)


def read_missed(channel: Channel, moments: Iterable[Moment]) -> bytes | None:
    """The changes of some moments, one after the other; None where MongoDB does not tell all of one."""
    try:
        found = [channel.read(Images(change)) for moment in moments for change in moment.changes]
    except Missing:
        return None
    return b",".join(each for each in found if each is not None)
