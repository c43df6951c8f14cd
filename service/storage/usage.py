"""Requests by project and hour: `usage` {_id: "<project>/<hour>", project_id, hour, requests, errors_4xx, errors_5xx,
bytes, ms {bucket: number}, by {kind: number}, last_at, expires_at}.

Beside them stand a record of each project's sizes, `<project>/sizes`, and one for each worker with open sockets,
`<project>/sockets/<worker>` {project_id, sockets, expires_at}, neither of which has an hour.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo import ASCENDING, IndexModel, UpdateOne

from service.storage.client import Document
from service.storage.databases import Databases, ProjectDatabase
from service.storage.records import Records, translated

USAGE = "usage"
KEEP = timedelta(days=400)
PAGE_SECONDS = 2.0
HOUR = timedelta(hours=1)
# The driver takes 5 ms of the event loop to encode so many updates.
WRITTEN_AT_ONCE = 500
# Seconds for which a worker's number of sockets is good; workers write it more often.
SOCKETS_SECONDS = 30
USAGE_INDEXES = (
    IndexModel([("project_id", ASCENDING), ("hour", ASCENDING)], name="project_id"),
    IndexModel([("hour", ASCENDING)], name="hour"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)
SUMS: Document = {name: {"$sum": f"${name}"} for name in ("requests", "errors_4xx", "errors_5xx", "bytes")}
ERRORS: Document = {"$sum": {"$add": [{"$ifNull": ["$errors_4xx", 0]}, {"$ifNull": ["$errors_5xx", 0]}]}}


@dataclass(frozen=True, slots=True)
class HourCounts:
    """The addition of one worker to the record of an hour; `counts` are by their paths."""

    project_id: str
    hour: datetime
    counts: Mapping[str, float]
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a project, as MongoDB's metadata has them."""

    users: int
    documents: int
    files: int
    storage_bytes: int


class UsageStore:
    """Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._usage = databases.system[USAGE]
        self._records = Records(self._usage)

    async def add(self, rows: Sequence[HourCounts]) -> None:
        """Adds the rows to the records of their hours, which are made where they are missing."""
        for start in range(0, len(rows), WRITTEN_AT_ONCE):
            writes = [_write(row) for row in rows[start : start + WRITTEN_AT_ONCE]]
            with translated("count requests"):
                await self._usage.bulk_write(writes, ordered=False)

    async def sum_up(
        self, project_id: str, since: datetime, until: datetime, *, step: str, paths: Iterable[str], most: int
    ) -> Sequence[Mapping[str, Any]]:
        """The sums of the numbers at `paths` by `step`, "hour" or "day", named by the paths with `_` for the point.

        `_id` is the beginning of the step; steps without a request are left out. Raises QueryTooSlow.
        """
        key = {"$dateTrunc": {"date": "$hour", "unit": step}}
        sums = {path.replace(".", "_"): {"$sum": f"${path}"} for path in paths}
        stages: list[Document] = [
            {"$match": {"project_id": project_id, "hour": {"$gte": since, "$lt": until}}},
            {"$group": {"_id": key, **sums}},
        ]
        return await self._aggregate(stages, most)

    async def busiest(self, since: datetime, until: datetime, *, but: str, limit: int) -> Sequence[Mapping[str, Any]]:
        """The sums of the projects with most requests in that time, without the row `but`. Raises QueryTooSlow."""
        stages: list[Document] = [
            {"$match": {"hour": {"$gte": since, "$lt": until}, "project_id": {"$ne": but}}},
            {"$group": {"_id": "$project_id", **SUMS}},
            {"$sort": {"requests": -1, "_id": 1}},
            {"$limit": limit},
        ]
        return await self._aggregate(stages, limit)

    async def recent(self, since: datetime) -> dict[str, Document]:
        """{project: {requests, errors, last_at}} of the hours from `since` on, of all projects. Raises QueryTooSlow."""
        group = {"_id": "$project_id", "requests": SUMS["requests"], "errors": ERRORS, "last_at": {"$max": "$last_at"}}
        stages: list[Document] = [{"$match": {"hour": {"$gte": since}}}, {"$group": group}]
        return {row["_id"]: row for row in await self._aggregate(stages, 100_000)}

    async def _aggregate(self, stages: Sequence[Document], size: int) -> list[Document]:
        command: Document = {"aggregate": USAGE, "pipeline": stages, "cursor": {"batchSize": size + 1}}
        return await self._records.page(command, seconds=PAGE_SECONDS)

    async def find_sizes(self, project_id: str) -> Document | None:
        """The record of a project's sizes."""
        return await self._records.find({"_id": sizes_id(project_id)})

    async def all_sizes(self) -> dict[str, Document]:
        """The records of the sizes of all projects, by project."""
        match: Document = {"hour": None, "as_of": {"$exists": True}}
        command: Document = {"find": USAGE, "filter": match, "batchSize": 100_000}
        return {row["project_id"]: row for row in await self._records.page(command, seconds=PAGE_SECONDS)}

    async def put_sizes(self, project_id: str, sizes: Document) -> None:
        await self._records.put({"_id": sizes_id(project_id), "project_id": project_id, **sizes})

    async def measure(self, project_id: str) -> Sizes:
        """The present sizes of a project, by MongoDB's metadata: no scan."""
        project = self._databases.project(project_id)
        with translated("measure a project"):
            stats = await project.database.command({"dbStats": 1})
            names = await project.database.list_collection_names(filter={"name": {"$regex": "^c_"}})
        documents = [await _count(project, name) for name in names]
        return Sizes(
            users=await _count(project, "users"),
            documents=sum(documents),
            files=await _count(project, "files.files"),
            storage_bytes=int(stats["storageSize"] + stats["indexSize"]),
        )

    async def note_sockets(self, worker: str, numbers: Mapping[str, int]) -> None:
        """Stores how many sockets a worker has open, by project. The record goes where it is not written again."""
        writes = [_write_sockets(project_id, worker, number) for project_id, number in numbers.items()]
        for start in range(0, len(writes), WRITTEN_AT_ONCE):
            with translated("count sockets"):
                await self._usage.bulk_write(writes[start : start + WRITTEN_AT_ONCE], ordered=False)

    async def count_sockets(self, project_id: str) -> int:
        """The sockets of a project that the workers have open."""
        stages: list[Document] = [
            {"$match": {"project_id": project_id, "hour": None, "$expr": {"$gt": ["$expires_at", "$$NOW"]}}},
            {"$group": {"_id": None, "sockets": {"$sum": "$sockets"}}},
        ]
        rows = await self._aggregate(stages, 1)
        return int(rows[0]["sockets"]) if rows else 0


def sizes_id(project_id: str) -> str:
    """The id of the record of a project's sizes."""
    return f"{project_id}/sizes"


def lookup_sizes() -> list[Document]:
    """The stages that give each record of a project its `figures`; a project that was not measured yet has none."""
    pipeline = [{"$match": {"$expr": {"$eq": ["$_id", {"$concat": ["$$id", "/sizes"]}]}}}]
    found = {"from": USAGE, "let": {"id": "$_id"}, "pipeline": pipeline, "as": "figures"}
    return [{"$lookup": found}, {"$set": {"figures": {"$first": "$figures"}}}]


async def _count(project: ProjectDatabase, name: str) -> int:
    return await project.records(name).count_all()


def _write(row: HourCounts) -> UpdateOne:
    return UpdateOne(
        {"_id": f"{row.project_id}/{row.hour:%Y%m%d%H}"},
        {
            "$inc": dict(row.counts),
            "$max": {"last_at": row.last_at},
            "$setOnInsert": {"project_id": row.project_id, "hour": row.hour, "expires_at": row.hour + KEEP},
        },
        upsert=True,
    )


def _write_sockets(project_id: str, worker: str, number: int) -> UpdateOne:
    expires = {"$add": ["$$NOW", SOCKETS_SECONDS * 1_000]}
    found = {"project_id": project_id, "sockets": number, "expires_at": expires}
    return UpdateOne({"_id": f"{project_id}/sockets/{worker}"}, [{"$set": found}], upsert=True)


def hour_of(number: int) -> datetime:
    """The beginning of an hour that is counted since 1970, as MongoDB's times are: UTC without a zone."""
    return datetime.fromtimestamp(number * HOUR.total_seconds(), UTC).replace(tzinfo=None)


async def ensure_usage_indexes(databases: Databases) -> None:
    with translated("prepare the hours of usage"):
        await databases.system[USAGE].create_indexes(list(USAGE_INDEXES))
