"""Uses of sessions and tokens of operators, which a job writes down each second, apart from the requests.

A use is noted once a minute. A worker that is killed loses the notes of its last second.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

from service.errors import ServiceError
from service.storage.databases import Databases
from service.storage.operator_sessions import note_uses

EVERY_SECONDS = 1.0
CLOSE_SECONDS = 2.0
NOTED = timedelta(minutes=1)


class Uses:
    """The uses that wait to be written: of no more sessions and tokens than operators may have."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._sessions: set[str] = set()
        self._tokens: set[str] = set()

    def note_session(self, hash_: str, before: datetime, now: datetime) -> None:
        """The session was used at `now`, and last noted as used `before`."""
        if now - before >= NOTED:
            self._sessions.add(hash_)

    def note_token(self, hash_: str, before: datetime | None, now: datetime) -> None:
        if before is None or now - before >= NOTED:
            self._tokens.add(hash_)

    async def write(self) -> None:
        """Returns when the uses are written; those that cannot be written are noted again at their next use."""
        sessions, self._sessions = self._sessions, set()
        tokens, self._tokens = self._tokens, set()
        await note_uses(self._databases, sessions, tokens)

    async def close(self) -> None:
        """Writes the uses that wait, unless the database does not answer in time."""
        with suppress(ServiceError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.write()
