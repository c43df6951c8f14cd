"""All that a worker's clients follow. What MongoDB tells is handed to channels; who may read what is looked at again as it

changes. One step at a time, on the event loop: between a moment that is told and the next nothing is in between.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

import structlog

from service.bounds import (
    MAX_CHANGES_BYTES,
    MAX_MISSED,
    MAX_RESUMES,
    MAX_SNAPSHOT_BYTES,
    MAX_SNAPSHOTS,
    MAX_SUBSCRIPTIONS,
    MAX_USER_SOCKETS,
)
from service.domain.access.caller import KeyCaller, UserCaller
from service.domain.access.control import AccessControl
from service.domain.collections.catalog import Catalogs
from service.domain.files.protection import FileProtection
from service.domain.projects.lookup import Project, Projects
from service.domain.realtime.binding import Binder, Bound, Parse
from service.domain.realtime.channels import HISTORY, TOO_LARGE, Channel, ChannelIndex, Missing
from service.domain.realtime.connections import EXPIRY_SECONDS, Connection
from service.domain.realtime.cursors import make_sign, read_cursor
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.floods import Floods
from service.domain.realtime.subscriptions import ACCESS, SLOW, Render, State, Subscription, frame
from service.domain.sessions.access_tokens import Tokens
from service.errors import (
    CollectionNotFound,
    Invalid,
    InvalidApiKey,
    InvalidToken,
    ProjectNotFound,
    ServiceError,
    TooManySockets,
    Unavailable,
)
from service.observe.metrics import RESYNCS, SOCKETS, SUBSCRIPTIONS
from service.query.populate import show_rows
from service.storage.change_feed import Change, Moment, Namespace
from service.storage.client import Client
from service.storage.collections import mongo_collection_name
from service.storage.moments import find_at

log = structlog.get_logger()

LOOK_SECONDS = 0.25
# How often it is looked whose key or project is gone, and which tokens expire.
CREDENTIAL_SECONDS = 1.0
TICK_SECONDS = 25.0
# How many callers' rights are looked at again at once; and snapshots that come to nothing, before the client is told.
AT_ONCE = 8
ATTEMPTS = 5
UNAUTHENTIC, TOO_SLOW = 4401, 4408
TOO_LARGE_SNAPSHOT = Invalid.one(
    ("query", "limit"),
    f"The snapshot would have more than {MAX_SNAPSHOT_BYTES} bytes; ask for fewer",
    type_="page_too_large",
)


class Realtime:
    """The connections of a worker, and the one change feed that they share."""

    def __init__(
        self,
        connect: Callable[[], Client],
        prefix: str,
        *,
        access: AccessControl,
        catalogs: Catalogs,
        projects: Projects,
        tokens: Tokens,
        protection: FileProtection,
        key: bytes,
    ) -> None:
        floods = Floods(may_hold=self._may_hold, begin_again=self._resync_all)
        self.feed = ChangeFeed(connect, prefix, deliver=self._deliver, lose=self._lose, floods=floods)
        self._binder = Binder(access, catalogs, projects, protection)
        self._access = access
        self._catalogs = catalogs
        self._projects = projects
        self._tokens = tokens
        # Of cursors.
        self._key = key
        self._resumes = asyncio.Semaphore(MAX_RESUMES)
        self._channels: dict[Namespace, ChannelIndex] = {}
        self._of_project: defaultdict[str, set[Connection]] = defaultdict(set)
        self._by_set: defaultdict[Namespace, set[tuple[Connection, Subscription]]] = defaultdict(set)
        self._snapshots = asyncio.Semaphore(MAX_SNAPSHOTS)
        self._stale: dict[Connection, None] = {}
        self._changed: set[str] = set()
        self._has_stale = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._looked_at = self._ticked_at = time.monotonic()

    @property
    def connections(self) -> list[Connection]:
        return [each for found in self._of_project.values() for each in found]

    def _count_of_user(self, connection: Connection) -> int:
        others = self._of_project.get(connection.database_name, ())
        return sum(each.user_id == connection.user_id for each in others)

    async def join(self, connection: Connection) -> None:
        """The connection is told of what concerns it until it leaves. Raises TooManySockets, Unavailable."""
        if not self._tasks:
            self._start()
        if connection.user_id is not None and self._count_of_user(connection) >= MAX_USER_SOCKETS:
            raise TooManySockets
        # Counted before anything is waited for, so that many at once are not each the last one.
        is_first = connection.database_name not in self._of_project
        self._of_project[connection.database_name].add(connection)
        SOCKETS.inc()
        try:
            await self._follow(connection.follows())
        except BaseException:
            self._forget(connection)
            raise
        if is_first:
            await self._refresh_rules(connection)

    async def _refresh_rules(self, connection: Connection) -> None:
        """What is remembered is of a time when nobody was told of changes. Raises Unavailable."""
        try:
            await self._access.refresh(connection.caller.project)
        except BaseException:
            self.leave(connection)
            raise
        # Others may have come meanwhile.
        self._note_stale(each for each in self._of_project[connection.database_name] if each is not connection)

    def leave(self, connection: Connection) -> None:
        connection.is_open = False
        for subscription in list(connection.subscriptions.values()):
            self.unsubscribe(connection, subscription)
        for task in list(connection.tasks):
            task.cancel()
        if connection in self._of_project.get(connection.database_name, ()):
            self._forget(connection)
            self.feed.forget(connection.follows())

    def _forget(self, connection: Connection) -> None:
        found = self._of_project[connection.database_name]
        found.discard(connection)
        SOCKETS.dec()
        if not found:
            del self._of_project[connection.database_name]
        self._stale.pop(connection, None)

    async def subscribe(
        self, connection: Connection, id_: str, name: str, *, parse: Parse, render: Render, after: str | None = None
    ) -> None:
        """Begins with what is later than the cursor `after`, where that holds; else with a snapshot, when it is read.

        What refuses it is told in `closed`.
        """
        if len(connection.subscriptions) >= MAX_SUBSCRIPTIONS:
            detail = f"A socket has at most {MAX_SUBSCRIPTIONS} subscriptions"
            connection.write(frame("closed", id=id_, code="too_many_subscriptions", detail=detail))
            return
        begin_again = partial(self._begin_again, connection)
        subscription = Subscription(
            connection, id_, name, parse=parse, render=render, begin_again=begin_again, after=after
        )
        connection.subscriptions[id_] = subscription
        SUBSCRIPTIONS.inc()
        try:
            await self._bind(connection, subscription)
        except InvalidToken:
            connection.close(UNAUTHENTIC)
        except ServiceError as error:
            self._refuse(connection, subscription, render(error))
        else:
            self._load(connection, subscription)

    def unsubscribe(self, connection: Connection, subscription: Subscription) -> None:
        if connection.has(subscription):
            del connection.subscriptions[subscription.id]
            SUBSCRIPTIONS.dec()
            self._unbind(connection, subscription)

    def _refuse(self, connection: Connection, subscription: Subscription, told: dict[str, object]) -> None:
        if connection.has(subscription):
            self.unsubscribe(connection, subscription)
            connection.write(frame("closed", id=subscription.id, **told))

    async def _follow(self, namespaces: Iterable[Namespace]) -> None:
        try:
            await self.feed.follow(namespaces)
        except TimeoutError:
            raise Unavailable from None

    async def _bind(self, connection: Connection, subscription: Subscription) -> None:
        """Joins the channel of what the caller may read now. Raises ServiceError.

        What is remembered may be older than all that the feed will tell, so it is read once more when everything that
        decides about it is followed. What changes while it is read has the connection looked at again.
        """
        changes = connection.changes
        known = await self._bind_known(connection, subscription)
        try:
            self._access.forget_caller(connection.caller)
            bound = await self._binder.bind(connection.caller, subscription.name, subscription.parse)
            await self._follow(_namespaces(bound))
        finally:
            self._unwatch(connection, subscription, known)
        self._unbind(connection, subscription)
        if not connection.has(subscription):
            self.feed.forget(_namespaces(bound))
            return
        index = self._channels.setdefault(bound.namespace, ChannelIndex())
        subscription.bound, subscription.channel = bound, index.join(bound.make_channel(), subscription)
        subscription.sign = make_sign(self._key, connection.caller, bound.key)
        self._watch(connection, subscription, bound)
        if changes != connection.changes:
            self._note_stale((connection,))

    async def _bind_known(self, connection: Connection, subscription: Subscription) -> Bound:
        """By what is remembered; from now on what decides about it is followed."""
        name = subscription.name
        if (connection.database_name, mongo_collection_name(name)) not in self._channels:
            await self._refresh_collection(connection, name)
        known = await self._binder.bind(connection.caller, name, subscription.parse)
        await self._follow(_namespaces(known))
        self._watch(connection, subscription, known)
        return known

    def _watch(self, connection: Connection, subscription: Subscription, bound: Bound) -> None:
        for watched in bound.sets:
            self._by_set[watched.namespace].add((connection, subscription))
            self.feed.insist(watched.namespace)

    def _unwatch(self, connection: Connection, subscription: Subscription, bound: Bound) -> None:
        """What the subscription is bound to, if anything, stays watched."""
        for watched in bound.sets:
            self._by_set[watched.namespace].discard((connection, subscription))
            if not self._by_set[watched.namespace]:
                del self._by_set[watched.namespace]
        if subscription.bound is not None and subscription.bound is not bound:
            self._watch(connection, subscription, subscription.bound)
        self.feed.forget(_namespaces(bound))

    def _unbind(self, connection: Connection, subscription: Subscription) -> None:
        bound, channel = subscription.bound, subscription.channel
        if bound is None or channel is None:
            return
        subscription.bound = subscription.channel = None
        self._channels[bound.namespace].leave(channel, subscription)
        if not self._channels[bound.namespace].by_key:
            del self._channels[bound.namespace]
        self._unwatch(connection, subscription, bound)

    def _begin_again(self, connection: Connection, subscription: Subscription, reason: str) -> None:
        RESYNCS.labels(reason).inc()
        connection.write(frame("resync", id=subscription.id, reason=reason))
        self._load(connection, subscription)

    def _load(self, connection: Connection, subscription: Subscription) -> None:
        subscription.load()
        task = asyncio.create_task(self._send_snapshot(connection, subscription))
        connection.tasks.add(task)
        task.add_done_callback(connection.tasks.discard)

    async def _send_snapshot(self, connection: Connection, subscription: Subscription) -> None:
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
            self._refuse(connection, subscription, subscription.render(error))

    async def _wait_for_flood(self, subscription: Subscription) -> None:
        if subscription.bound is not None:
            await self.feed.floods.wait(subscription.bound.namespace)

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
            position = self.feed.position
            moments = await self.feed.find_between(bound.namespace, at, position, most=MAX_MISSED)
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
        rows, at = await find_at(bound.database, bound.command(), self.feed.position)
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

    def _deliver(self, moment: Moment) -> None:
        """Who may read is looked at before the next moment; what this one tells was written before."""
        by_namespace: dict[Namespace, list[Change]] = {}
        for change in moment.changes:
            by_namespace.setdefault(change.namespace, []).append(change)
        for namespace, changes in by_namespace.items():
            self._look_for_stale(namespace, changes)
            if (index := self._channels.get(namespace)) is not None:
                index.tell(moment.at, changes)

    def _look_for_stale(self, namespace: Namespace, changes: Iterable[Change]) -> None:
        database, collection = namespace
        if collection in {"rules", "collections"}:
            self._changed.add(database)
            self._note_stale(self._of_project.get(database, ()))
        elif collection == "users":
            ids = {change.id for change in changes}
            self._note_stale(each for each in self._of_project.get(database, ()) if each.user_id in ids)
        for connection, subscription in self._by_set.get(namespace, ()):
            bound = subscription.bound
            # One that is being bound may be bound by what was there before.
            if bound is None or any(
                watched.namespace == namespace and any(map(watched.is_concerned, changes)) for watched in bound.sets
            ):
                self._note_stale((connection,))

    def _may_hold(self, namespace: Namespace) -> bool:
        """Not what rights follow from: users, rules, definitions and the sources of sets."""
        return namespace in self._channels and namespace not in self._by_set and namespace[1] != "users"

    def _resync_all(self, namespace: Namespace) -> None:
        for channel in list(self._channels[namespace].by_key.values()):
            channel.resync(TOO_LARGE)

    def _note_stale(self, connections: Iterable[Connection]) -> None:
        for connection in connections:
            connection.changes += 1
            self._stale[connection] = None
        if self._stale:
            self._has_stale.set()

    def _lose(self) -> None:
        """Some of what was written was not told, rights among it."""
        self._changed.update(self._of_project)
        self._note_stale(self.connections)
        for connection in self.connections:
            for subscription in list(connection.subscriptions.values()):
                subscription.resync(HISTORY)

    def _start(self) -> None:
        works = (self._keep_rights, self._keep_pace)
        self._tasks = [
            asyncio.create_task(_forever(work), name=f"background: realtime {work.__name__}") for work in works
        ]

    async def _keep_rights(self) -> None:
        """Binds anew what somebody follows whose rights may have changed."""
        await self._has_stale.wait()
        self._has_stale.clear()
        changed, self._changed = self._changed, set()
        stale, self._stale = list(self._stale), {}
        for project in {
            each.caller.project.id: each.caller.project for each in stale if each.database_name in changed
        }.values():
            await self._access.refresh(project)
        for start in range(0, len(stale), AT_ONCE):
            await asyncio.gather(
                *(
                    self._look_again(each, is_changed=each.database_name in changed)
                    for each in stale[start : start + AT_ONCE]
                )
            )

    async def _look_again(self, connection: Connection, *, is_changed: bool) -> None:
        self._access.forget_caller(connection.caller)
        try:
            if isinstance(connection.caller, UserCaller):
                connection.caller = await self._tokens.verify(connection.credential)
                await self._access.require_user(connection.caller)
            for subscription in list(connection.subscriptions.values()):
                if is_changed:
                    await self._refresh_collection(connection, subscription.name)
                await self._bind_again(connection, subscription)
        except InvalidToken:
            connection.close(UNAUTHENTIC)
        except ServiceError as error:
            # What nobody can tell now is looked at again; meanwhile nothing is told to whom it may not concern any more.
            log.warning("rights_not_read", code=error.code)
            await asyncio.sleep(LOOK_SECONDS)
            self._note_stale([connection] if connection.is_open else [])

    async def _refresh_collection(self, connection: Connection, name: str) -> None:
        try:
            await self._catalogs.refresh(connection.caller.project, name)
        except CollectionNotFound:
            return

    async def _bind_again(self, connection: Connection, subscription: Subscription) -> None:
        """Nothing happens where the same is found as before. Raises InvalidToken, Unavailable."""
        before = subscription.bound
        if before is None:
            return
        try:
            bound = await self._binder.bind(connection.caller, subscription.name, subscription.parse)
            if bound.key == before.key and _namespaces(bound) == _namespaces(before):
                return
            await self._bind(connection, subscription)
        except (InvalidToken, Unavailable):
            raise
        except ServiceError as error:
            self._refuse(connection, subscription, subscription.render(error))
            return
        if connection.has(subscription):
            self._begin_again(connection, subscription, ACCESS)

    async def _keep_pace(self) -> None:
        """Looks after slow clients, credentials that end, and ticks."""
        await asyncio.sleep(LOOK_SECONDS)
        moment, connections = time.monotonic(), self.connections
        for connection in connections:
            self._look_after_slow(connection)
        if moment - self._looked_at >= CREDENTIAL_SECONDS:
            self._looked_at = moment
            await self._look_at_credentials(connections)
        if moment - self._ticked_at >= TICK_SECONDS:
            self._ticked_at = moment
            for connection in connections:
                self._tick(connection)

    def _look_after_slow(self, connection: Connection) -> None:
        slow = connection.slow()
        if slow and connection.is_drained():
            for subscription in slow:
                self._begin_again(connection, subscription, SLOW)
        elif connection.is_too_slow:
            connection.close(TOO_SLOW)

    async def _look_at_credentials(self, connections: Iterable[Connection]) -> None:
        projects: dict[str, Project | None] = {}
        for connection in connections:
            warn_or_expire(connection, time.time())
            is_key = isinstance(connection.caller, KeyCaller)
            name = connection.credential if is_key else connection.caller.project.id
            if name not in projects:
                projects[name] = await self._find_project(connection, is_key=is_key)
            if (project := projects[name]) is None:
                connection.close(UNAUTHENTIC)
            elif connection.follows_users and not project.settings.realtime_users:
                self._note_stale((connection,))

    async def _find_project(self, connection: Connection, *, is_key: bool) -> Project | None:
        """None where it, or the key, is not there any more; it is as it was where nobody can tell now."""
        project, key = connection.caller.project, connection.credential
        try:
            return await (self._projects.by_api_key(key) if is_key else self._projects.by_id(project.id))
        except (InvalidApiKey, ProjectNotFound):
            return None
        except ServiceError:
            return project

    def _tick(self, connection: Connection) -> None:
        live = [each for each in connection.subscriptions.values() if each.state is State.LIVE]
        cursors = {each.id: each.sign(each.reached(self.feed.position)) for each in live}
        connection.write(frame("tick", cursors=cursors), next(iter(cursors.values()), None))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.feed.close()


def read_missed(channel: Channel, moments: Iterable[Moment]) -> bytes | None:
    """The changes of some moments, one after the other; None where MongoDB does not tell all of one."""
    try:
        found = [channel.read(change) for moment in moments for change in moment.changes]
    except Missing:
        return None
    return b",".join(each for each in found if each is not None)


def _namespaces(bound: Bound) -> list[Namespace]:
    return [bound.namespace, *(watched.namespace for watched in bound.sets)]


def warn_or_expire(connection: Connection, now: float) -> None:
    """Tells who has a token that it is about to expire, once; and closes when it has."""
    if connection.expires_at is None:
        return
    left = connection.expires_at - now
    if left <= 0:
        connection.close(UNAUTHENTIC)
    elif left < EXPIRY_SECONDS and not connection.was_warned:
        connection.was_warned = True
        connection.write(frame("token_expiring", **{"in": max(1, int(left))}))


async def _forever(work: Callable[[], object]) -> None:
    while True:
        try:
            await work()  # type: ignore[misc]
        except Exception:
            log.exception("realtime_failed")
            await asyncio.sleep(LOOK_SECONDS)
