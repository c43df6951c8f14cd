"""The log of requests: written once a second by each worker, and read by project."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from service.domain.projects.keys import key_id
from service.domain.projects.lookup import hash_api_key
from service.domain.traffic.tally import FAILED_STATUS, Note, Ring
from service.storage.client import Document
from service.storage.ids import new_id
from service.storage.request_log import RequestFilter, RequestLogStore

EVERY_SECONDS = 1.0
# Seconds between two looks of the leader at the size of the collection.
SIZE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RequestPage:
    """Some requests, the newest first; how many were not written in that time; the time of the oldest that is kept."""

    rows: Sequence[Mapping[str, Any]]
    skipped: int
    oldest: datetime | None
    next: str | None


class RequestLog:
    """The log of this worker, and of all workers to read. Without a `ring` nothing is noted."""

    def __init__(self, ring: Ring | None, store: RequestLogStore) -> None:
        self.ring = ring
        self._store = store

    async def write(self) -> None:
        """Writes the notes of the last second. A worker that is killed loses those; a database that is away, too."""
        if self.ring is None:
            return
        taken = self.ring.take()
        records = [_write(note) for note in taken.notes]
        if taken.skipped:
            records.append(self._store.skipped(new_id(), datetime.now(UTC), taken.skipped))
        if records:
            await self._store.insert(records)

    async def keep_size(self) -> None:
        """Makes the capped collection, or gives it the size of the environment."""
        if self.ring is not None:
            await self._store.ensure()

    async def page(self, wanted: RequestFilter, *, after: str | None = None, limit: int = 50) -> RequestPage:
        """Raises QueryTooSlow."""
        rows = await self._store.page(wanted, after=after, limit=limit + 1)
        shown = rows[:limit]
        following = shown[-1]["_id"] if len(rows) > limit else None
        return RequestPage(shown, await self._store.count_skipped(wanted), await self._store.oldest(), following)


def _write(note: Note) -> Document:
    at, method, route, status, seconds, size, project_id, caller, api_key, code, rule, request_id = note
    admin = getattr(caller, "admin", caller)
    return {
        "_id": new_id(),
        "at": datetime.fromtimestamp(at, UTC),
        "method": method,
        "route": route,
        "status": status,
        "ms": round(seconds * 1_000, 2),
        "bytes": size,
        "project_id": project_id,
        "key_id": key_id(hash_api_key(api_key)) if api_key else None,
        "user_id": getattr(caller, "user_id", None),
        "operator_id": getattr(admin, "operator_id", None),
        "code": code,
        "rule": rule,
        "request_id": request_id,
        **({"failed": True} if status >= FAILED_STATUS else {}),
    }


def show_request(row: Mapping[str, Any]) -> dict[str, Any]:
    """A stored request as the API and the commands show it; `at` is a datetime."""
    return {"id": row["_id"], **{name: value for name, value in row.items() if name not in HIDDEN}}


HIDDEN = frozenset({"_id", "failed", "project_id"})
