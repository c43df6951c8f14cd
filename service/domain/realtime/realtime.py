"""All live queries of a worker's clients. Channels deliver the moments of MongoDB; changed rights are read again.

One step at a time, on the event loop: no other work runs between two moments of one step.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any

from service.bounds import MAX_SOCKET_WHERE_BYTES, MAX_SUBSCRIPTIONS, MAX_USER_SOCKETS, MAX_WHERE_BYTES
from service.domain.files.protection import FileProtection
from service.domain.projects.lookup import Project
from service.domain.realtime.backlog import Backlog
from service.domain.realtime.binding import Binder, Parse
from service.domain.realtime.channels import HISTORY
from service.domain.realtime.connections import UNAUTHENTIC, Connection, Stale
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.floods import Floods
from service.domain.realtime.following import Following
from service.domain.realtime.rights import RightsRefresher
from service.domain.realtime.snapshots import Snapshots
from service.domain.realtime.subscriptions import Render, Subscription, SubscriptionState, frame
from service.domain.realtime.upkeep import Upkeep, start_forever
from service.domain.sessions.sessions import Sessions
from service.errors import InvalidToken, ServiceError, TooManySockets, TooManySubscriptions
from service.observe.metrics import SOCKETS
from service.schema.steps import Steps
from service.storage.change_feed import FeedMoment, Namespace, RecordChange
from service.storage.client import Client


class Realtime:
    """The connections of a worker, and the one change feed that they share."""

    def __init__(
        self,
        connect: Callable[[], Client],
        prefix: str,
        *,
        protection: FileProtection,
        sessions: Sessions,
        key: bytes,
    ) -> None:
        access, catalogs, projects = protection.access, protection.catalogs, sessions.projects
        backlog = Backlog(self._resync_all)
        floods = Floods(may_hold=self._may_hold, begin_again=backlog.begin_again)
        self.feed = ChangeFeed(connect, prefix, deliver=self._deliver, lose=self._lose, floods=floods, backlog=backlog)
        self._access = access
        self._catalogs = catalogs
        self._stale = Stale()
        binder = Binder(access, catalogs, projects, protection)
        self._following = Following(self.feed, self._stale, binder=binder, access=access, catalogs=catalogs, key=key)
        self._snapshots = Snapshots(self.feed, protection.lists, self._following.refuse)
        self._rights = RightsRefresher(
            self._stale, self._following, self._snapshots, access=access, tokens=sessions.tokens
        )
        self._upkeep = Upkeep(
            lambda: self.connections,
            feed=self.feed,
            stale=self._stale,
            snapshots=self._snapshots,
            projects=projects,
        )
        self._of_project: defaultdict[str, set[Connection]] = defaultdict(set)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def connections(self) -> list[Connection]:
        return [each for found in self._of_project.values() for each in found]

    def count_sockets(self) -> dict[str, int]:
        """The open sockets of each project, streams of events among them."""
        sets = [found for found in self._of_project.values() if found]
        return {next(iter(found)).caller.project.id: len(found) for found in sets}

    def _count_of_holder(self, connection: Connection) -> int:
        others = self._of_project.get(connection.database_name, ())
        return sum(each.holder == connection.holder for each in others)

    async def join(self, connection: Connection) -> None:
        """Adds the connection; it hears of its rights and rules until it leaves. Raises TooManySockets, Unavailable."""
        if not self._tasks:
            work = {"rights": self._rights.keep, "upkeep": self._upkeep.keep, "readers": self._upkeep.keep_readers}
            self._tasks = [start_forever(name, each) for name, each in work.items()]
        if connection.holder is not None and self._count_of_holder(connection) >= MAX_USER_SOCKETS:
            raise TooManySockets
        # Counted before anything is waited for, so that many at once are not each the last one.
        is_first = connection.database_name not in self._of_project
        self._of_project[connection.database_name].add(connection)
        SOCKETS.inc()
        try:
            await self._following.follow(connection.follows())
        except BaseException:
            self._forget(connection)
            raise
        # The feed delivers each later change of the user; what is cached may be older than its first moment.
        self._access.forget_caller(connection.caller)
        if is_first:
            await self._refresh_rules(connection)

    async def _refresh_rules(self, connection: Connection) -> None:
        """Reads the rules again: cached ones date from before the connection followed them. Raises Unavailable."""
        try:
            await self._access.refresh(connection.caller.project)
        except BaseException:
            self.leave(connection)
            raise
        # Others may have come meanwhile.
        self._stale.note(each for each in self._of_project[connection.database_name] if each is not connection)

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
        self._stale.forget(connection)

    async def subscribe(
        self,
        connection: Connection,
        id_: str,
        name: str,
        *,
        parse: Parse,
        render: Render,
        where_bytes: int = 0,
        after: str | None = None,
    ) -> None:
        """Begins with the changes after the cursor `after`, if it is valid; else with a snapshot, once it is read.

        `closed` tells the client what refuses the subscription.

        """
        await self._following.take_turn(connection)
        if (refusal := self._find_refusal(connection, where_bytes)) is not None:
            connection.write(frame("closed", id=id_, **render(TooManySubscriptions(refusal))))
            return
        begin_again = partial(self._snapshots.begin_again, connection)
        options: Any = {"begin_again": begin_again, "where_bytes": where_bytes, "after": after}
        subscription = Subscription(connection, id_, name, parse=parse, render=render, **options)
        self._following.begin(connection, subscription)
        began = monotonic()
        try:
            await self._following.bind(connection, subscription)
        except InvalidToken:
            connection.close(UNAUTHENTIC)
        except ServiceError as error:
            self._following.refuse(connection, subscription, error)
        else:
            self._snapshots.load(connection, subscription)
        finally:
            self._following.note_turn(connection, monotonic() - began)

    def _find_refusal(self, connection: Connection, where_bytes: int) -> str | None:
        """The reason why the socket cannot have another subscription with a filter of so many bytes; None if it can."""
        if len(connection.subscriptions) >= MAX_SUBSCRIPTIONS:
            return f"A socket has at most {MAX_SUBSCRIPTIONS} subscriptions; end one first"
        if connection.where_bytes() + where_bytes > MAX_SOCKET_WHERE_BYTES:
            return (
                f"The filters of a socket have at most {int(MAX_SOCKET_WHERE_BYTES):,} bytes; end a subscription first"
            )
        if self._following.where_bytes + where_bytes > MAX_WHERE_BYTES:
            return "The filters of all subscriptions take too much memory; try again later"
        return None

    def unsubscribe(self, connection: Connection, subscription: Subscription) -> None:
        self._following.end(connection, subscription)
        if subscription.state is SubscriptionState.QUEUED and subscription.task is not None:
            # It waits for its turn, and keeps its filter in memory. A read that is under way ends by itself.
            subscription.task.cancel()

    def _deliver(self, moment: FeedMoment) -> None:
        """Delivers a moment. Changed rights take effect before the next moment; this one was written before."""
        by_namespace: dict[Namespace, list[RecordChange]] = {}
        for change in moment.changes:
            by_namespace.setdefault(change.namespace, []).append(change)
        for namespace, changes in by_namespace.items():
            if deciding := [each for each in changes if not each.notes_sign_in]:
                self._look_for_stale(namespace, deciding)
            if (steps := self._following.tell(moment.at, namespace, changes)) is not None:
                self.feed.backlog.tell(namespace, moment.at, steps, changes)

    def _look_for_stale(self, namespace: Namespace, changes: Sequence[RecordChange]) -> None:
        database, collection = namespace
        project = next((each.caller.project for each in self._of_project.get(database, ())), None)
        if project is not None:
            self._forget_remembered(project, collection, changes)
        if collection in {"rules", "collections"}:
            self._stale.note(self._of_project.get(database, ()), changed=(database,))
        elif collection == "users":
            ids = {change.id for change in changes}
            self._stale.note(each for each in self._of_project.get(database, ()) if each.user_id in ids)
        self._stale.note(self._following.find_concerned(namespace, changes))

    def _forget_remembered(self, project: Project, collection: str, changes: Sequence[RecordChange]) -> None:
        """Drops cached records that the feed saw change, for every request of this worker; the rules are read with the
        rights.
        """
        for change in changes:
            if collection == "users":
                self._access.forget_user(project, str(change.id))
            elif collection == "collections":
                self._catalogs.forget(project, str(change.id))

    def _may_hold(self, namespace: Namespace) -> bool:
        return self._following.may_hold(namespace)

    def _resync_all(self, namespace: Namespace) -> Steps[bool]:
        return self._following.resync_all(namespace)

    def _lose(self) -> None:
        """After a gap, marks all rights as stale and has all subscriptions begin again."""
        self._stale.note(self.connections, changed=self._of_project)
        for connection in self.connections:
            for subscription in list(connection.subscriptions.values()):
                subscription.resync(HISTORY)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.feed.close()
