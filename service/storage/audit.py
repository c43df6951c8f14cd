"""The audit log: `audit` {_id, at, actor {kind, id, name}, project_id, action, target {type, id, name}, status, changes,
omitted, request_id, ip, user_agent, reason, expires_at}.

`changes` is JSON text, for its paths have names that MongoDB's are not. No call of the service changes an entry, but for
the outcome of one that begins before its write. The TTL index cleans up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel

from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.records import Records, translated

AUDIT = "audit"
# The status of a write that was begun and, if its process died, never ended.
BEGUN = "begun"
PAGE_SECONDS = 2.0
NEWEST = ("at", DESCENDING), ("_id", DESCENDING)
AUDIT_INDEXES = (
    IndexModel([*NEWEST], name="at"),
    IndexModel([("project_id", ASCENDING), *NEWEST], name="project_id"),
    IndexModel([("actor.id", ASCENDING), *NEWEST], name="actor"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an entry in the log: the page after it begins with the next older one."""

    at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The wanted entries; None for all."""

    project_id: str | None = None
    action: str | None = None
    actor: str | None = None
    target: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def match(self, after: Place | None) -> Document:
        equal = {
            "project_id": self.project_id,
            "action": self.action,
            "actor.id": self.actor,
            "target.id": self.target,
        }
        found: Document = {name: value for name, value in equal.items() if value is not None}
        bounds = {"$gte": self.since, "$lt": self.until}
        if times := {name: value for name, value in bounds.items() if value is not None}:
            found["at"] = times
        if after is not None:
            found["$or"] = [{"at": {"$lt": after.at}}, {"at": after.at, "_id": {"$lt": after.id}}]
            found["$and"] = [{"at": {"$lte": after.at}}]
        return found


class AuditStore:
    """Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases) -> None:
        self._audit = databases.system[AUDIT]

    async def insert(self, entry: Document, session: ClientSession | None) -> None:
        """Stores an entry, within the transaction of its change; acknowledged by a majority."""
        with translated("store an audit entry"):
            await self._audit.insert_one(entry, session=session)

    async def finish(self, entry_id: str, outcome: Document) -> None:
        """Gives a begun entry its status and its changes, once."""
        with translated("store an audit entry"):
            await self._audit.update_one({"_id": entry_id, "status": BEGUN}, {"$set": outcome})

    async def page(self, wanted: AuditFilter, *, after: Place | None, limit: int) -> Sequence[Mapping[str, Any]]:
        """At most `limit` entries, the newest first. Raises QueryTooSlow."""
        command: Document = {
            "find": AUDIT,
            "filter": wanted.match(after),
            "sort": dict(NEWEST),
            "limit": limit,
            "batchSize": limit + 1,
        }
        return await Records(self._audit).page(command, seconds=PAGE_SECONDS)


async def ensure_audit_indexes(databases: Databases) -> None:
    with translated("prepare the audit log"):
        await databases.system[AUDIT].create_indexes(list(AUDIT_INDEXES))
