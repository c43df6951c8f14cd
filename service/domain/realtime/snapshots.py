"""How a subscription begins: with what its client missed since its cursor, else with what is there at one moment."""

import asyncio
from collections.abc import Callable, Iterable

from service.bounds import MAX_CHANGES_BYTES, MAX_MISSED, MAX_RESUMES, MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS
from service.domain.realtime.channels import Channel, Missing
from service.domain.realtime.connections import Connection
from service.domain.realtime.cursors import read_cursor
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.subscriptions import Subscription, frame
from service.errors import Invalid, ServiceError, Unavailable
from service.observe.metrics import RESYNCS
from service.query.populate import show_rows
from service.storage.change_feed import Moment
from service.storage.moments import find_at

# How many snapshots may come to nothing before the client is told.
ATTEMPTS = 5
TOO_LARGE_SNAPSHOT = Invalid.one(
    ("query", "limit"),
    f"The snapshot would have more than {MAX_SNAPSHOT_BYTES} bytes; ask for fewer",
    type_="page_too_large",
)


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
        subscription.load()
        task = asyncio.create_task(self._send(connection, subscription))
        connection.tasks.add(task)
        task.add_done_callback(connection.tasks.discard)

    async def _send(self, connection: Connection, subscription: Subscription) -> None:
        try:
            await self._wait_for_flood(subscription)
            if await self._try_resume(subscription):
                return
            for _ in range(ATTEMPTS):
                await self._wait_for_flood(subscription)
                async with self._snapshots:
                    if await self._try_snapshot(connection, subscription):
                        return
            raise Unavailable
        except ServiceError as error:
            self._refuse(connection, subscription, error)

    async def _wait_for_flood(self, subscription: Subscription) -> None:
        if subscription.bound is not None:
            await self._feed.floods.wait(subscription.bound.namespace)

    async def _try_resume(self, subscription: Subscription) -> bool:
        """Whether all that is later than the client's cursor was sent, in one frame, so that it needs no snapshot."""
        bound, channel, after = subscription.bound, subscription.channel, subscription.after
        subscription.after = None
        at = read_cursor(after, subscription.sign) if after is not None else None
        if bound is None or channel is None or at is None:
            return False
        subscription.load()
        async with self._resumes:
            # What is later than this comes by the feed, and waits; others may have been read before, for a while.
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
        bound = subscription.bound
        if bound is None:
            return True
        subscription.load()
        rows, at = await find_at(bound.database, bound.command(), self._feed.position)
        if subscription.bound is not bound:
            # Bound anew meanwhile, or ended: another task has it.
            return True
        if subscription.spoilt is not None:
            return False
        limit = bound.query.limit
        shown = show_rows(rows[:limit], show=bound.show, view=bound.query.view)
        documents = b",".join(map(bound.form.write, shown))
        if len(documents) > MAX_SNAPSHOT_BYTES:
            raise TOO_LARGE_SNAPSHOT
        cursor = subscription.sign(at)
        head = frame("snapshot", id=subscription.id, complete=len(rows) <= limit, cursor=cursor)
        connection.write_snapshot(b'%s,"documents":[%s]}' % (head[:-1], documents), cursor)
        subscription.begin(at)
        return True


def read_missed(channel: Channel, moments: Iterable[Moment]) -> bytes | None:
    """The changes of some moments, one after the other; None where MongoDB does not tell all of one."""
    try:
        found = [channel.read(change) for moment in moments for change in moment.changes]
    except Missing:
        return None
    return b",".join(each for each in found if each is not None)
