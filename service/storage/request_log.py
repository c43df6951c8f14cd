"""The log of requests: the capped collection `requests` {_id, at, method, route, status, ms, bytes, project_id, key_id,
user_id, operator_id, code, rule, request_id, failed?}, and records {_id, at, project_id: "/skipped", skipped}.

No record has an address, a path, a query, a header or a value of a body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import OperationFailure

from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.records import Records, translated

REQUESTS = "requests"
# No id of a project has a slash.
SKIPPED = "/skipped"
PAGE_SECONDS = 2.0
LAST_SECOND = 2**32 - 1
NAMESPACE_EXISTS = 48
REQUEST_INDEXES = (
    IndexModel([("project_id", ASCENDING), ("_id", DESCENDING)], name="project_id"),
    IndexModel(
        [("project_id", ASCENDING), ("_id", DESCENDING)], name="failed", partialFilterExpression={"failed": True}
    ),
)


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """The wanted requests of a project; None for all. `statuses` are the least status and the one after the greatest."""

    project_id: str
    since: datetime | None = None
    until: datetime | None = None
    statuses: tuple[int, int] | None = None
    equal: tuple[tuple[str, str], ...] = ()
    min_ms: float | None = None

    def match(self) -> Document:
        found: Document = {"project_id": self.project_id, **dict(self.equal), **self.times()}
        if self.statuses is not None:
            found["status"] = {"$gte": self.statuses[0], "$lt": self.statuses[1]}
            found |= {"failed": True} if self.statuses[0] >= 400 else {}
        if self.min_ms is not None:
            found["ms"] = {"$gte": self.min_ms}
        return found

    def times(self) -> Document:
        """The bounds of time; those of ids, which begin with their second, let MongoDB use the index."""
        bounds = {"$gte": self.since, "$lt": self.until}
        given = {name: value for name, value in bounds.items() if value is not None}
        if not given:
            return {}
        return {"at": given, **({} if self.since is None else {"_id": {"$gte": _first_id(self.since)}})}


class RequestLogStore:
    """Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases, size: int) -> None:
        """The collection has at most `size` bytes."""
        self._database = databases.system
        self._requests = databases.system[REQUESTS]
        self._size = size
        self._is_made = False

    def skipped(self, id_: str, at: datetime, number: int) -> Document:
        """The record of so many requests that were not written."""
        return {"_id": id_, "at": at, "project_id": SKIPPED, "skipped": number}

    async def insert(self, records: Sequence[Document]) -> None:
        """The first call of a process makes the collection: an insert would make one without bounds."""
        if not self._is_made:
            await self.ensure()
        with translated("write the log of requests"):
            await self._requests.insert_many(records, ordered=False)

    async def ensure(self) -> None:
        """Makes the capped collection with its indexes; another size of one that is there is changed (MongoDB 6.0)."""
        with translated("prepare the log of requests"):
            try:
                await self._database.command({"create": REQUESTS, "capped": True, "size": self._size})
            except OperationFailure as error:
                if error.code != NAMESPACE_EXISTS:
                    raise
                await self._resize()
            await self._requests.create_indexes(list(REQUEST_INDEXES))
        self._is_made = True

    async def _resize(self) -> None:
        options = await self._requests.options()
        if not options.get("capped"):
            await self._database.command({"convertToCapped": REQUESTS, "size": self._size})
        elif options["size"] != self._size:
            await self._database.command({"collMod": REQUESTS, "cappedSize": self._size})

    async def page(self, wanted: RequestFilter, *, after: str | None, limit: int) -> Sequence[Mapping[str, Any]]:
        """At most `limit` requests before the one with the id `after`, the newest first. Raises QueryTooSlow."""
        match = wanted.match()
        if after is not None:
            match["_id"] = {**match.get("_id", {}), "$lt": after}
        return await self._find(match, limit)

    async def recent(self, wanted: RequestFilter, since: datetime, *, limit: int) -> Sequence[Mapping[str, Any]]:
        """The newest of the wanted requests that were written from `since` on, and the records of those that no worker
        wrote, as far as the filter holds for these.

        Raises QueryTooSlow.
        """
        written: Document = {"project_id": {"$in": [wanted.project_id, SKIPPED]}, "_id": {"$gte": _first_id(since)}}
        return await self._find({**wanted.match(), **written}, limit)

    async def _find(self, match: Document, limit: int) -> list[Document]:
        """The newest first."""
        command: Document = {"find": REQUESTS, "filter": match, "sort": {"_id": DESCENDING}, "limit": limit}
        return await Records(self._requests).page({**command, "batchSize": limit + 1}, seconds=PAGE_SECONDS)

    async def count_skipped(self, wanted: RequestFilter) -> int:
        """Requests of the whole deployment that were not written in that time: no worker knows whose they were."""
        stages: list[Document] = [
            {"$match": {"project_id": SKIPPED, **wanted.times()}},
            {"$group": {"_id": None, "skipped": {"$sum": "$skipped"}}},
        ]
        command: Document = {"aggregate": REQUESTS, "pipeline": stages, "cursor": {}}
        rows = await Records(self._requests).page(command, seconds=PAGE_SECONDS)
        return int(rows[0]["skipped"]) if rows else 0

    async def oldest(self) -> datetime | None:
        """The time of the oldest record."""
        command: Document = {"find": REQUESTS, "sort": {"$natural": 1}, "limit": 1, "batchSize": 2}
        rows = await Records(self._requests).page(command, seconds=PAGE_SECONDS)
        return rows[0]["at"] if rows else None


def _first_id(at: datetime) -> str:
    """The least id of a second: an ObjectId begins with four bytes of Unix time."""
    second = int(at.replace(tzinfo=UTC).timestamp())
    return f"{min(max(second, 0), LAST_SECOND):08x}{'0' * 16}"
