"""The worker notes uses of sessions and sign-ins of users once a second, apart from the requests.

`seen` is the refresh whose token was used last: the refresh token before it is void from then on. `last_used_at` of a
session is for its user, and is noted once an hour. `last_sign_in_at` of a user is for the project's servers.
A worker that is killed loses the sightings of its last second.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from service.bounds import MAX_NOTED_SESSIONS, MAX_SIGHTINGS
from service.domain.projects.lookup import Project
from service.errors import ServiceError
from service.storage.databases import ProjectDatabase
from service.storage.layout import SESSIONS
from service.storage.sessions import Sighting, note_sightings
from service.storage.users import day_of

EVERY_SECONDS = 1.0
CLOSE_SECONDS = 2.0
NOTED_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class _Noted:
    count: int
    at: float


class WaitingSightings:
    """The sightings of the records of one collection that wait to be written; the newest of each record."""

    def __init__(self, collection: str) -> None:
        self._collection = collection
        self._sightings: dict[tuple[str, str], tuple[ProjectDatabase, Sighting]] = {}

    @property
    def is_full(self) -> bool:
        return len(self._sightings) >= MAX_SIGHTINGS

    def note(self, project: Project, sighting: Sighting) -> None:
        """A sighting is dropped while MAX_SIGHTINGS of other records wait."""
        key = (project.id, sighting.id)
        if key in self._sightings or not self.is_full:
            known = self._sightings.get(key)
            fields = {**known[1].fields, **sighting.fields} if known else sighting.fields
            self._sightings[key] = (project.database, Sighting(sighting.id, fields))

    def clear(self) -> None:
        self._sightings.clear()

    async def write(self) -> None:
        """Sightings that cannot be written wait for the next call."""
        waiting, self._sightings = self._sightings, {}
        left: dict[ProjectDatabase, dict[tuple[str, str], Sighting]] = {}
        for key, (database, sighting) in waiting.items():
            left.setdefault(database, {})[key] = sighting
        try:
            for database, some in list(left.items()):
                await note_sightings(database, self._collection, list(some.values()))
                del left[database]
        finally:
            kept = {key: (database, each) for database, some in left.items() for key, each in some.items()}
            self._sightings = kept | self._sightings


class Sightings:
    """The uses of sessions and the sign-ins of users that this worker saw."""

    def __init__(self) -> None:
        self._noted: dict[str, _Noted] = {}
        self._uses, self._users = WaitingSightings(SESSIONS), WaitingSightings("users")
        self._writing = asyncio.Lock()

    def note(self, project: Project, claims: Mapping[str, Any]) -> None:
        """A token with these claims was verified."""
        sid, count, moment = claims.get("sid"), claims.get("rc", 0), time.time()
        if sid is None:
            return
        before = self._noted.get(sid) or _Noted(0, claims["iat"])
        if count <= before.count and moment - before.at < NOTED_SECONDS:
            return
        if self._uses.is_full:
            return
        self._noted.pop(sid, None)
        if len(self._noted) >= MAX_NOTED_SESSIONS:
            del self._noted[next(iter(self._noted))]
        self._noted[sid] = _Noted(max(count, before.count), moment)
        used_at = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
        self._uses.note(project, Sighting(sid, {"seen": max(count, before.count), "last_used_at": used_at}))
        if claims.get("anonymous"):
            # The user ends some days after the last use.
            self._users.note(project, Sighting(claims["sub"], {"active_on": day_of(used_at)}))

    def note_sign_in(self, project: Project, user_id: str, moment: datetime) -> None:
        """A session of the user was opened."""
        self._users.note(project, Sighting(user_id, {"last_sign_in_at": moment}))

    async def close(self) -> None:
        """Writes the sightings that wait, unless the database does not answer in time."""
        with suppress(ServiceError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.write()

    async def write(self) -> None:
        """Returns when the sightings are written. A sighting that cannot be written waits for the next call."""
        async with self._writing:
            await self._uses.write()
            await self._users.write()
