"""Periodic checks while sockets are open: slow clients, expired credentials, and `tick` frames, which carry the cursors."""

import asyncio
import time
from collections.abc import Callable, Iterable

import structlog

from service.bounds import MAX_WORKER_UNSENT_BYTES
from service.domain.access.caller import KeyCaller, OperatorCaller
from service.domain.projects.lookup import Project, Projects
from service.domain.realtime.connections import EXPIRY_SECONDS, UNAUTHENTIC, Connection, Stale, close_largest
from service.domain.realtime.feed import ChangeFeed
from service.domain.realtime.snapshots import Snapshots
from service.domain.realtime.subscriptions import SLOW, SubscriptionState, frame
from service.errors import InvalidApiKey, ProjectNotFound, ServiceError

log = structlog.get_logger()

LOOK_SECONDS = 0.25
# Seconds between two searches for deleted keys and projects, and for tokens that expire.
CREDENTIAL_SECONDS = 1.0
TICK_SECONDS = 25.0


class Upkeep:
    """Closes slow clients, checks credentials, and sends ticks. `find_connections` returns the open connections."""

    def __init__(
        self,
        find_connections: Callable[[], list[Connection]],
        *,
        feed: ChangeFeed,
        stale: Stale,
        snapshots: Snapshots,
        projects: Projects,
    ) -> None:
        self._find_connections = find_connections
        self._feed = feed
        self._stale = stale
        self._snapshots = snapshots
        self._projects = projects
        self._looked_at = self._ticked_at = time.monotonic()

    async def keep_readers(self) -> None:
        """Looks after clients that read too little. It waits for nothing, so a database that is away delays no close."""
        await asyncio.sleep(LOOK_SECONDS)
        connections = self._find_connections()
        for connection in connections:
            for subscription in connection.look_at_reader():
                self._snapshots.begin_again(connection, subscription, SLOW)
        close_largest(connections, MAX_WORKER_UNSENT_BYTES)

    async def keep(self) -> None:
        await asyncio.sleep(LOOK_SECONDS)
        moment, connections = time.monotonic(), self._find_connections()
        if moment - self._looked_at >= CREDENTIAL_SECONDS:
            self._looked_at = moment
            await self._look_at_credentials(connections)
        if moment - self._ticked_at >= TICK_SECONDS:
            self._ticked_at = moment
            for connection in connections:
                if not connection.is_paused:
                    self._tick(connection)

    async def _look_at_credentials(self, connections: Iterable[Connection]) -> None:
        projects: dict[str, Project | None] = {}
        for connection in connections:
            warn_or_expire(connection, time.time())
            name = connection.credential if isinstance(connection.caller, KeyCaller) else connection.caller.project.id
            if name not in projects:
                projects[name] = await self._find_project(connection)
            if (project := projects[name]) is None:
                connection.close(UNAUTHENTIC)
            elif connection.follows_users and not project.settings.realtime_users:
                self._stale.note((connection,))

    async def _find_project(self, connection: Connection) -> Project | None:
        """The project; None if it, or the credential, was deleted. If the database is away, the project as it was."""
        caller, project = connection.caller, connection.caller.project
        try:
            if isinstance(caller, OperatorCaller) and not await caller.is_allowed():
                return None
            if isinstance(caller, KeyCaller) and not isinstance(caller, OperatorCaller):
                return await self._projects.by_api_key(connection.credential)
            return await self._projects.by_id(project.id)
        except (InvalidApiKey, ProjectNotFound):
            return None
        except ServiceError:
            return project

    def _tick(self, connection: Connection) -> None:
        live = [
            (each, each.bound) for each in connection.subscriptions.values() if each.state is SubscriptionState.LIVE
        ]
        reached = self._feed.reached
        cursors = {
            each.id: each.sign(each.reached(reached(bound.namespace))) for each, bound in live if bound is not None
        }
        connection.write(frame("tick", cursors=cursors), next(iter(cursors.values()), None))


def warn_or_expire(connection: Connection, now: float) -> None:
    """Warns once before the token expires; closes the socket when it has."""
    if connection.expires_at is None:
        return
    left = connection.expires_at - now
    if left <= 0:
        connection.close(UNAUTHENTIC)
    elif left < EXPIRY_SECONDS and not connection.was_warned:
        connection.was_warned = True
        connection.write(frame("token_expiring", **{"in": max(1, int(left))}))


def start_forever(name: str, work: Callable[[], object]) -> asyncio.Task[None]:
    return asyncio.create_task(_forever(work), name=f"background: realtime {name}")


async def _forever(work: Callable[[], object]) -> None:
    while True:
        try:
            await work()  # type: ignore[misc]
        except Exception:
            log.exception("realtime_failed")
            await asyncio.sleep(LOOK_SECONDS)
