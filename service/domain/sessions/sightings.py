"""Notes the use of sessions while their tokens are verified, once a second and outside of requests.

The use of a refreshed token (`seen`) closes the door to the refresh token before it. The use of the session
(`last_used_at`) is shown to its user, and noted once an hour.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from service.domain.projects.lookup import Project
from service.errors import ServiceError
from service.storage.databases import ProjectDatabase
from service.storage.sessions import Use, note_uses

EVERY_SECONDS = 1.0
CLOSE_SECONDS = 2.0
NOTED_SECONDS = 3_600
# Sessions whose notes a worker remembers, and notes that wait to be written; a forgotten one is noted again.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Noted:
    count: int
    at: float


class Sightings:
    """The uses of sessions that this worker saw."""

    def __init__(self) -> None:
        self._noted: dict[str, _Noted] = {}
        self._waiting: dict[str, tuple[ProjectDatabase, Use]] = {}
        self._writing = asyncio.Lock()

    def note(self, project: Project, claims: Mapping[str, Any]) -> None:
        """A token with these claims was verified."""
        sid, count, moment = claims.get("sid"), claims.get("rc", 0), time.time()
        if sid is None:
            return
        before = self._noted.get(sid) or _Noted(0, claims["iat"])
        if count <= before.count and moment - before.at < NOTED_SECONDS:
            return
        if len(self._waiting) >= MOST:
            return
        self._noted.pop(sid, None)
        if len(self._noted) >= MOST:
            del self._noted[next(iter(self._noted))]
        self._noted[sid] = _Noted(max(count, before.count), moment)
        used_at = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
        self._waiting[sid] = (project.database, Use(sid, max(count, before.count), used_at))

    async def close(self) -> None:
        """Writes what waits, as far as the database answers."""
        with suppress(ServiceError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.write()

    async def write(self) -> None:
        """Returns when what was noted is written; what cannot be written now is kept for the next time."""
        async with self._writing:
            await self._write()

    async def _write(self) -> None:
        waiting, self._waiting = self._waiting, {}
        uses: dict[ProjectDatabase, list[Use]] = {}
        for database, use in waiting.values():
            uses.setdefault(database, []).append(use)
        try:
            for database, some in list(uses.items()):
                await note_uses(database, some)
                del uses[database]
        finally:
            left = {use.sid: (database, use) for database, some in uses.items() for use in some}
            self._waiting = left | self._waiting
