"""Slow queries, described for the log and kept for `auth-collections check --indexes`; and databases that are profiled."""

import re
from binascii import crc32
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from bson.regex import Regex
from pymongo import timeout
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from service.observe.requests import REQUEST
from service.schema.values import now
from service.storage.client import Database, Document

# Each project keeps this many shapes of slow queries; a shape's place follows from its text, so none is counted.
PLACES = 64
# A worker stores one shape at most once in so many seconds, and asks for its plan as often.
AGAIN_SECONDS = 60.0
# At most so many shapes are remembered by a worker, and so many databases are looked at in one turn.
MAX_REMEMBERED = 1_000
MAX_LOOKED_AT = 100
# The plan and its storing together.
NOTE_SECONDS = 0.5
# A description names at most this many conditions, and as many stages of a plan.
MAX_DESCRIBED = 20
JOINED = frozenset({"$and", "$or", "$nor"})
# The parts of a command that decide its plan, in an order that MongoDB takes: the command's name comes first.
PLANNED = ("find", "aggregate", "count", "filter", "query", "sort", "projection", "skip", "limit", "pipeline", "cursor")


@dataclass(frozen=True, slots=True)
class QueryShape:
    """A command of MongoDB without its values: names and operators of its filter, and its sort.

    `{"find": "c_notes", "filter": {"data.title": {"$regex": "x"}}}` → filter `["data.title $regex"]`; `sort` has entries
    "name direction".
    """

    collection: str
    filter: tuple[str, ...]
    sort: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.collection}|{self.filter}|{self.sort}"


def describe(command: Mapping[str, Any]) -> QueryShape:
    """The shape of a `find`, `count` or `aggregate`; of an aggregation, that of its first $match and $sort."""
    collection = next((str(command[name]) for name in ("find", "count", "aggregate") if name in command), "")
    match = command.get("filter") or command.get("query") or _first(command, "$match") or {}
    sort = command.get("sort") or _first(command, "$sort") or {}
    names = dict.fromkeys(_conditions(match, ""))
    return QueryShape(
        collection, tuple(names)[:MAX_DESCRIBED], tuple(f"{name} {order}" for name, order in sort.items())
    )


def _first(command: Mapping[str, Any], stage: str) -> Any:
    return next((each[stage] for each in command.get("pipeline", ()) if stage in each), None)


def _conditions(match: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, value in match.items():
        if key in JOINED:
            for part in value:
                yield from _conditions(part, path)
        elif key in {"$not", "$elemMatch"} and isinstance(value, Mapping):
            yield from _conditions(value, path)
        elif key.startswith("$"):
            # The options of an expression belong to it.
            yield from () if key == "$options" else (f"{path} {key}".strip(),)
        elif isinstance(value, Mapping) and any(name.startswith("$") for name in value):
            yield from _conditions(value, key)
        else:
            yield f"{key} {'$regex' if isinstance(value, re.Pattern | Regex) else '$eq'}"


def explained(command: Mapping[str, Any]) -> dict[str, Any]:
    """The command that asks MongoDB for the plan of `command`, without running it."""
    kept: dict[str, Any] = {name: command[name] for name in PLANNED if name in command}
    return {"explain": kept, "verbosity": "queryPlanner"}


def describe_plan(reply: Any) -> str:
    """The stages of the winning plan, outermost first, with the names of indexes: "SORT COLLSCAN", "FETCH IXSCAN(email)"."""
    stages = list(dict.fromkeys(_stages(_winning(reply))))
    return " ".join(stages[:MAX_DESCRIBED])


def _winning(reply: Any) -> Any:
    """The winning plan anywhere in a reply: an aggregation has it inside its first stage."""
    if isinstance(reply, Mapping):
        if "winningPlan" in reply:
            return reply["winningPlan"]
        return next(filter(None, map(_winning, reply.values())), None)
    if isinstance(reply, Sequence) and not isinstance(reply, str | bytes):
        return next(filter(None, map(_winning, reply)), None)
    return None


def _stages(plan: Any) -> Iterator[str]:
    if isinstance(plan, Mapping):
        if isinstance(stage := plan.get("stage"), str):
            index = plan.get("indexName")
            yield f"{stage}({index})" if isinstance(index, str) else stage
        for inner in plan.values():
            yield from _stages(inner)
    elif isinstance(plan, list):
        for inner in plan:
            yield from _stages(inner)


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
        shape, database = describe(command), collection.database.name
        name = f"{database}/{shape.text}"
        until, plan = self._plans.get(name, (0.0, "unknown"))
        if monotonic() >= until:
            # The request's own answer matters more than its description.
            with suppress(PyMongoError), timeout(NOTE_SECONDS):
                plan = await _find_plan(collection, command)
                await self._keep(database, shape, plan, seconds)
            self._remember(name, plan)
        if (request := REQUEST.get()) is not None:
            ms = round(seconds * 1000)
            parts = {"collection": shape.collection, "filter": shape.filter, "sort": shape.sort}
            request.add_slow({**parts, "plan": plan, "ms": ms})

    def _remember(self, name: str, plan: str) -> None:
        if len(self._plans) >= MAX_REMEMBERED:
            self._plans.clear()
        self._plans[name] = (monotonic() + AGAIN_SECONDS, plan)

    async def _keep(self, database: str, shape: QueryShape, plan: str, seconds: float) -> None:
        """Stores the shape in its place, with the longest of its times."""
        place = f"{database}/{crc32(shape.text.encode()) % PLACES}"
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


async def _find_plan(collection: AsyncCollection[Document], command: Mapping[str, Any]) -> str:
    """The plan of a command, as MongoDB explains it. Raises PyMongoError."""
    return describe_plan(await collection.database.command(explained(command)))


def _places(database: str) -> Document:
    """The keys of one database: "0" follows "/"."""
    return {"_id": {"$gte": f"{database}/", "$lt": f"{database}0"}}
