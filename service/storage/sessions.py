"""The sessions of one project's users, one for each sign-in; `endings` has their end.

`sessions`: {_id, user_id, ver, created_at, last_used_at, auth_time, expires_at, tokens_until, ip, user_agent, amr, aal, count,
operator_id?}.
The TTL index only cleans up; the stored time decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pymongo import UpdateOne

from service.bounds import MAX_LISTED_SESSIONS
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.layout import SESSIONS
from service.storage.records import Records, translated

LIST_SECONDS = 2.0
# The methods of a user who was not recognized.
ANONYMOUS = ("anon",)


@dataclass(frozen=True, slots=True)
class Session:
    """One sign-in. Its tokens have the user's `version`, and the last of them ends at `tokens_until`.

    With an `operator_id` it is that of an operator who acts as the user.

    `amr` are the ways in which the user was recognized (RFC 8176), at `auth_time`, and `aal` the level that they reach.
    """

    id: str
    user_id: str
    version: int
    created_at: datetime
    auth_time: datetime
    expires_at: datetime
    tokens_until: datetime
    last_used_at: datetime
    ip: str
    user_agent: str
    amr: tuple[str, ...]
    aal: int
    count: int = 0
    operator_id: str | None = None

    @property
    def is_anonymous(self) -> bool:
        """True if the user was anonymous when the session began."""
        return self.amr == ANONYMOUS


class SessionRecords:
    """Bound to a transaction where its database is. Raises the errors of `records.translated`."""

    __slots__ = ("_records",)

    def __init__(self, database: ProjectDatabase) -> None:
        self._records: Records = database.records(SESSIONS)

    async def insert(self, session: Session) -> None:
        await self._records.insert_new(
            {
                "_id": session.id,
                "user_id": session.user_id,
                "ver": session.version,
                "created_at": session.created_at,
                "last_used_at": session.last_used_at,
                "auth_time": session.auth_time,
                "expires_at": session.expires_at,
                "tokens_until": session.tokens_until,
                "ip": session.ip,
                "user_agent": session.user_agent,
                "amr": list(session.amr),
                "aal": session.aal,
                "count": session.count,
                **({"operator_id": session.operator_id} if session.operator_id is not None else {}),
            }
        )

    async def find(self, session_id: str) -> Session | None:
        record = await self._records.find({"_id": session_id})
        return None if record is None else read_session(record)

    async def remove(self, session_id: str) -> bool:
        """Returns False if there is no such session."""
        return await self._records.delete({"_id": session_id})

    async def list_of(self, user_id: str, moment: datetime) -> Sequence[Session]:
        """The user's sessions that have not expired, the newest first."""
        command: Document = {
            "find": SESSIONS,
            "filter": {"user_id": user_id, "expires_at": {"$gt": moment}},
            "sort": {"created_at": -1},
            "limit": int(MAX_LISTED_SESSIONS),
            "batchSize": MAX_LISTED_SESSIONS + 1,
        }
        return [read_session(record) for record in await self._records.page(command, seconds=LIST_SECONDS)]


def read_session(record: Document) -> Session:
    return Session(
        id=record["_id"],
        user_id=record["user_id"],
        version=record["ver"],
        created_at=record["created_at"],
        auth_time=record["auth_time"],
        expires_at=record["expires_at"],
        tokens_until=record["tokens_until"],
        last_used_at=record["last_used_at"],
        ip=record["ip"],
        user_agent=record["user_agent"],
        amr=tuple(record["amr"]),
        aal=record["aal"],
        count=record["count"],
        operator_id=record.get("operator_id"),
    )


# The driver takes 5 ms of the event loop to encode so many updates.
WRITTEN_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Sighting:
    """Each of `fields` of the record `id` has at least the value given here."""

    id: str
    fields: Mapping[str, Any]


async def note_sightings(database: ProjectDatabase, collection: str, sightings: Sequence[Sighting]) -> None:
    """Sends one command for each WRITTEN_AT_ONCE sightings. A record that is gone is not made again."""
    for start in range(0, len(sightings), WRITTEN_AT_ONCE):
        some = sightings[start : start + WRITTEN_AT_ONCE]
        writes = [UpdateOne({"_id": each.id}, {"$max": each.fields}) for each in some]
        with translated(f"note {collection}"):
            await database.database[collection].bulk_write(writes, ordered=False)
