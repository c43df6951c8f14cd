"""Deleting a project: a tombstone first, which refuses its keys and tokens, then all its data, until no data comes
back.

Another worker may remember the project for five seconds, and a request that began by then may write at its end. So the
database is dropped again and again until it stayed empty for longer than any such request lasts. The progress is in the
tombstone: the command, the job of a server and the next start all go on from there.
"""

import asyncio

import structlog

from service.domain.projects.lookup import CACHE_SECONDS
from service.storage.databases import Databases
from service.storage.leases import Leases
from service.storage.projects import ProjectStore

log = structlog.get_logger()

# The longest that a request may take from its last byte on, which is one that asks a sign-in's provider.
REQUEST_SECONDS = 25.0
QUIET_SECONDS = CACHE_SECONDS + REQUEST_SECONDS
LOOK_SECONDS = 1.0


class Deletions:
    """Deletions of projects. Every call raises Unavailable, and may be repeated."""

    def __init__(self, databases: Databases, store: ProjectStore, leases: Leases, *, leader: str) -> None:
        self._databases = databases
        self._store = store
        self._leases = leases
        self._leader = leader

    async def finish(self, project_id: str) -> None:
        """Returns when nothing of a project with a tombstone is left, and its id is free."""
        while not await self.advance(project_id):  # noqa: ASYNC110 - MongoDB sends no event
            await asyncio.sleep(LOOK_SECONDS)

    async def advance_all(self) -> None:
        """One step of every deletion that was begun."""
        for project_id in await self._store.deleting_ids():
            if await self.advance(project_id):
                log.info("project_deleted", project=project_id)

    async def advance(self, project_id: str) -> bool:
        """Removes the present data. Returns True if the deletion is complete: no data came for long enough."""
        project = self._databases.project(project_id)
        if await project.is_there() or await self._store.has_rest(project_id):
            await project.drop()
            await self._databases.watch.forget(project.database.name)
            await self._store.remove_rest(project_id)
            await self._store.note_rest(project_id)
            return False
        # If no server runs, or the last one was stopped in order, no writer is left.
        quiet = QUIET_SECONDS if await self._leases.is_known(self._leader) else 0.0
        return await self._store.bury(project_id, quiet)
