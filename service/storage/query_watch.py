"""Slow queries, described for the log and kept for `auth-collections check --indexes`; and databases that are profiled."""

from binascii import crc32
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from pymongo import timeout
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from service.observe.requests import REQUEST
from service.schema.values import now
from service.storage.client import Database, Document
from service.storage.query_shapes import QueryShape, describe, describe_plan, explained

# Each project keeps this many shapes of slow queries; a shape's place follows from its text, so none is counted.
PLACES = 64
# A worker stores one shape at most once in so many seconds, and asks for its plan as often.
AGAIN_SECONDS = 60.0
# At most so many shapes are remembered by a worker, and so many databases are looked at in one turn.
MAX_REMEMBERED = 1_000
MAX_LOOKED_AT = 100
# The plan and its storing together.
NOTE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SlowQuery:
    """A kept query: `worst` is its longest time in seconds, `plan` as `describe_plan` writes it."""

    shape: QueryShape
    plan: str
    worst: float
    at: datetime


class QueryWatch:
    """The slow queries of one service. A query is slow after `slow_seconds`, as MongoDB's own log has it."""

    def __init__(self, system: Database, slow_seconds: float) -> None:
        self.slow_seconds = slow_seconds
        self._kept = system["slow_queries"]
        self._plans: dict[str, tuple[float, str]] = {}
        self._used: set[str] = set()
        self._profiled: frozenset[str] = frozenset()

    def use(self, database: str) -> bool:
        """True if the profiler of a database is on; from now on `refresh` asks for it."""
        if len(self._used) < MAX_LOOKED_AT:
            self._used.add(database)
        return database in self._profiled

    async def refresh(self) -> None:
        """Looks at the profiler's level in each database that was used since the last call, or was profiled then."""
        used, self._used = self._used, set()
        client, found = self._kept.database.client, set()
        for name in used:
            try:
                if (await client[name].command({"profile": -1}))["was"]:
                    found.add(name)
            except PyMongoError:
                # A user without this right, or a router of a sharded cluster, which has no profiler.
                continue
        self._profiled = frozenset(found)
        self._used |= found

    async def note(self, collection: AsyncCollection[Document], command: Mapping[str, Any], seconds: float) -> None:
        """Adds a slow query to its request's line in the log, and keeps its shape. It never raises."""
        shape = describe(command)
        plan = await self._find_plan(collection, command, shape, seconds)
        if (request := REQUEST.get()) is not None:
            ms = round(seconds * 1000)
            parts = {"collection": shape.collection, "filter": shape.filter, "sort": shape.sort}
            request.add_slow({**parts, "plan": plan, "ms": ms})

    async def _find_plan(
        self, collection: AsyncCollection[Document], command: Mapping[str, Any], shape: QueryShape, seconds: float
    ) -> str:
        database, text = collection.database.name, f"{shape.collection}|{shape.filter}|{shape.sort}"
        place = f"{database}/{crc32(text.encode()) % PLACES}"
        at, plan = self._plans.get(f"{database}/{text}", (0.0, ""))
        if at and monotonic() < at + AGAIN_SECONDS:
            return plan
        try:
            with timeout(NOTE_SECONDS):
                plan = describe_plan(await collection.database.command(explained(command)))
                await self._keep(place, database, shape, plan, seconds)
        except PyMongoError:
            # The request's own answer matters more than its description.
            plan = plan or "unknown"
        if len(self._plans) >= MAX_REMEMBERED:
            self._plans.clear()
        self._plans[f"{database}/{text}"] = (monotonic(), plan)
        return plan

    async def _keep(self, place: str, database: str, shape: QueryShape, plan: str, seconds: float) -> None:
        found = {"database": database, "collection": shape.collection, "filter": shape.filter, "sort": shape.sort}
        changes = {"$set": {**found, "plan": plan, "at": now()}, "$max": {"worst": seconds}}
        await self._kept.update_one({"_id": place}, changes, upsert=True)

    async def find(self, database: str) -> list[SlowQuery]:
        """The slow queries kept of a database, the slowest first."""
        records = await self._kept.find(_places(database)).sort("worst", -1).to_list(PLACES)
        return [
            SlowQuery(
                QueryShape(each["collection"], tuple(each["filter"]), tuple(each["sort"])),
                each["plan"],
                each["worst"],
                each["at"],
            )
            for each in records
        ]

    async def forget(self, database: str) -> None:
        """Removes all that is kept of a database."""
        await self._kept.delete_many(_places(database))


def _places(database: str) -> Document:
    """The keys of one database: "0" follows "/"."""
    return {"_id": {"$gte": f"{database}/", "$lt": f"{database}0"}}
