"""Live subscriptions: each is bound by its caller's rights, and joins the channel of all with the same records."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from service.bounds import MAX_SOCKETS
from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs
from service.domain.realtime.binding import Binder, BoundSubscription, Sources
from service.domain.realtime.channels import TOO_LARGE, Channel, ChannelIndex
from service.domain.realtime.connections import Connection, Stale
from service.domain.realtime.cursors import make_sign
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.sources import SetSource
from service.domain.realtime.subscriptions import Subscription, frame
from service.domain.shares import Turns
from service.domain.steps import LOOP_SHARE
from service.errors import CollectionNotFound, ServiceError, Unavailable
from service.observe.metrics import SUBSCRIPTIONS
from service.schema.steps import Steps
from service.storage.change_feed import Namespace, RecordChange
from service.storage.collections import mongo_collection_name

Follower = tuple[Connection, Subscription]
# The event loop's time for the largest query. A binding that waits for MongoDB takes longer, and no more of the loop.
LONGEST_BIND_SECONDS = 0.003


class Following:
    """The channels of a worker, and what the sets of their rules are taken from. `key` is that of cursors."""

    def __init__(
        self,
        feed: ChangeFeed,
        stale: Stale,
        *,
        binder: Binder,
        access: AccessControl,
        catalogs: Catalogs,
        key: bytes,
    ) -> None:
        self._feed = feed
        self._stale = stale
        self._binder = binder
        self._access = access
        self._catalogs = catalogs
        self._key = key
        self._channels: dict[Namespace, ChannelIndex] = {}
        self._sources: defaultdict[Namespace, SetSource[Follower]] = defaultdict(SetSource)
        # A socket may ask for a hundred subscriptions at once, and each is a millisecond of work. It waits for one of
        # its own, and for one that is bound again.
        self._turns = Turns(1, waiting=2 * MAX_SOCKETS, retry_after=1, slow=LOOP_SHARE)
        # The bytes of the filters of all subscriptions.
        self.where_bytes = 0

    async def follow(self, namespaces: Iterable[Namespace]) -> None:
        """Raises Unavailable."""
        try:
            await self._feed.follow(namespaces)
        except TimeoutError:
            raise Unavailable from None

    def begin(self, connection: Connection, subscription: Subscription) -> None:
        """It is there from now on, bound to nothing yet."""
        connection.subscriptions[subscription.id] = subscription
        self.where_bytes += subscription.where_bytes
        SUBSCRIPTIONS.inc()

    def end(self, connection: Connection, subscription: Subscription) -> None:
        if connection.has(subscription):
            del connection.subscriptions[subscription.id]
            self.where_bytes -= subscription.where_bytes
            SUBSCRIPTIONS.dec()
            self._unbind(connection, subscription)

    def refuse(self, connection: Connection, subscription: Subscription, error: ServiceError) -> None:
        told = subscription.render(error)
        if connection.has(subscription):
            self.end(connection, subscription)
            connection.write(frame("closed", id=subscription.id, **told))

    async def bind(self, connection: Connection, subscription: Subscription) -> None:
        """Joins the channel of the records the caller may read now. Raises ServiceError.

        Cached sets may be older than the feed's first moment, so they are read when all their sources are followed. A
        change during that read has the connection checked again. The user is followed since the socket joined.
        """
        changes = connection.changes
        known = await self._follow_sources(connection, subscription)
        try:
            if known.sets:
                self._access.renew_sets(connection.caller)
            bound = await self._binder.bind(connection.caller, subscription.name, subscription.parse)
            await self.follow(bound.namespaces())
        finally:
            self._unwatch(connection, subscription, known)
        self._unbind(connection, subscription)
        if not connection.has(subscription):
            self._feed.forget(bound.namespaces())
            return
        index = self._channels.setdefault(bound.namespace, ChannelIndex())
        channel = subscription.channel = index.join(bound.make_channel(), subscription)
        bound = subscription.bound = share(bound, channel)
        subscription.sign = make_sign(self._key, connection.caller, bound.key)
        self._watch(connection, subscription, bound)
        if changes != connection.changes:
            self._stale.note((connection,))

    async def take_turn(self, connection: Connection) -> None:
        """Returns when the connection's project may bind a subscription. Raises Busy."""
        name = connection.database_name
        await self._turns.acquire(name)
        try:
            # The next one of the worker is bound when the loop has gone round once: that time is others' work.
            await asyncio.sleep(0)
        finally:
            self._turns.release(name)

    def note_turn(self, connection: Connection, seconds: float) -> None:
        """The connection's turn, and what it waited for meanwhile, took so long."""
        self._turns.note(connection.database_name, min(seconds, LONGEST_BIND_SECONDS))

    async def bind_again(self, connection: Connection, subscription: Subscription) -> bool:
        """Binds the subscription again; True if it finds other records than before. Raises ServiceError."""
        await self.take_turn(connection)
        before = subscription.bound
        if before is None:
            # It is being bound, maybe by older rights: the counter makes its binder check again.
            connection.changes += 1
            return False
        bound = await self._binder.bind(connection.caller, subscription.name, subscription.parse)
        if bound.key == before.key and bound.namespaces() == before.namespaces():
            return False
        await self.bind(connection, subscription)
        return connection.has(subscription)

    async def refresh_collection(self, connection: Connection, name: str) -> None:
        try:
            await self._catalogs.refresh(connection.caller.project, name)
        except CollectionNotFound:
            return

    async def _follow_sources(self, connection: Connection, subscription: Subscription) -> Sources:
        """Follows the sources of the collection by cached rights."""
        name = subscription.name
        if (connection.database_name, mongo_collection_name(name)) not in self._channels:
            await self.refresh_collection(connection, name)
        known = await self._binder.find_sources(connection.caller, name, subscription.parse)
        await self.follow(known.namespaces())
        self._watch(connection, subscription, known)
        return known

    def _watch(self, connection: Connection, subscription: Subscription, sources: Sources) -> None:
        for watched in sources.sets:
            is_bound = subscription.bound is not None
            self._sources[watched.namespace].watch(watched, (connection, subscription), is_bound=is_bound)
            self._feed.insist(watched.namespace)

    def _unwatch(self, connection: Connection, subscription: Subscription, sources: Sources) -> None:
        """Stops watching `sources`, but for those of the subscription's present query."""
        for watched in sources.sets:
            self._sources[watched.namespace].unwatch(watched, (connection, subscription))
            if not self._sources[watched.namespace]:
                del self._sources[watched.namespace]
        if subscription.bound is not None and subscription.bound is not sources:
            self._watch(connection, subscription, subscription.bound)
        self._feed.forget(sources.namespaces())

    def _unbind(self, connection: Connection, subscription: Subscription) -> None:
        bound, channel = subscription.bound, subscription.channel
        if bound is None or channel is None:
            return
        subscription.bound = subscription.channel = None
        self._channels[bound.namespace].leave(channel, subscription)
        if not self._channels[bound.namespace].by_key:
            del self._channels[bound.namespace]
        self._unwatch(connection, subscription, bound)

    def tell(self, at: int, namespace: Namespace, changes: Sequence[RecordChange]) -> Steps[bool] | None:
        """The steps that deliver changes to the collection's followers; None without followers."""
        index = self._channels.get(namespace)
        return index.tell(at, changes) if index is not None else None

    def find_concerned(self, namespace: Namespace, changes: Sequence[RecordChange]) -> set[Connection]:
        """The subscriptions whose sets may have other values now."""
        source = self._sources.get(namespace)
        return {connection for connection, _ in source.find_concerned(changes)} if source is not None else set()

    def may_hold(self, namespace: Namespace) -> bool:
        """Not what rights follow from: users, rules, definitions and the sources of sets."""
        return namespace in self._channels and namespace not in self._sources and namespace[1] != "users"

    def resync_all(self, namespace: Namespace) -> Steps[bool]:
        return self._channels.get(namespace, ChannelIndex()).resync(TOO_LARGE)


def share(bound: BoundSubscription, channel: Channel) -> BoundSubscription:
    """The same query of the same channel is one object, unless it depends on the caller's sets: thousands may follow it."""
    if bound.sets:
        return bound
    shared: BoundSubscription = channel.bounds.setdefault((bound.query.sort, bound.query.limit), bound)
    return shared
