"""Aggregations: the command of one; and the saved ones, one record each, in a collection of the project.

    {_id: name, collection, text, created_at, updated_at}

A saved aggregation is kept as JSON text, for its keys are no names of MongoDB's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service.bounds import MAX_GROUPED_BYTES
from service.errors import AggregationTooLarge, Invalid, Location, QueryTooSlow, ServiceError
from service.schema.values import now
from service.storage.client import Document
from service.storage.collections import NAMESPACE_EXISTS, run_unless
from service.storage.databases import ProjectDatabase
from service.storage.errors import MAX_TIME_EXPIRED, KnownErrors
from service.storage.records import translated

AGGREGATIONS = "aggregations"
MAX_LISTED = 10_000
# An impossible conversion, by which a pipeline reports a value too large for a row.
VALUE_TOO_LARGE = 241
# A group, a sort or an array of a group past its memory; a record, or a lookup, past 16 MB.
OUT_OF_MEMORY = (292, 146, 10334, 17419, 4568)
UNKNOWN_ZONE = 40485
UNKNOWN_ZONE_RULE = "MongoDB knows no time zone of such a name; write it as in Europe/Paris"
VALUE_RULE = f"A text, an object or an array of more than {MAX_GROUPED_BYTES:,} bytes cannot be a key, a min or a max"


@dataclass(frozen=True, slots=True)
class StoredAggregation:
    """A saved definition; `text` is the JSON of all of it but its name and its collection."""

    name: str
    collection: str
    text: str
    created_at: datetime
    updated_at: datetime


async def read_rows(database: ProjectDatabase, command: Document, *, seconds: float, place: Location) -> list[Document]:
    """The rows of a pipeline, in one reply of MongoDB.

    Raises, at `place`, AggregationTooLarge, and Invalid where MongoDB does not know a time zone; QueryTooSlow after so many
    seconds.
    """

    zones = (*place, "group") if place[0] == "body" else place

    def is_too_large() -> ServiceError:
        return AggregationTooLarge(place)

    known: KnownErrors = {
        MAX_TIME_EXPIRED: QueryTooSlow,
        VALUE_TOO_LARGE: lambda: AggregationTooLarge(place, VALUE_RULE),
        UNKNOWN_ZONE: lambda: Invalid.one(zones, UNKNOWN_ZONE_RULE, type_="timezone"),
        **dict.fromkeys(OUT_OF_MEMORY, is_too_large),
    }
    records = database.records(command["aggregate"])
    return await records.page(command, seconds=seconds, known=known, too_large=is_too_large)


class SavedAggregations:
    """The saved aggregations of one project. Raises the errors of `errors.translated`."""

    def __init__(self, database: ProjectDatabase) -> None:
        self._database = database
        self._records = database.records(AGGREGATIONS)

    async def ensure(self) -> None:
        """Makes the collection, before a transaction writes the first; see `rules.ensure_rules`."""
        with translated("prepare the aggregations"):
            await run_unless(NAMESPACE_EXISTS, self._database.database, {"create": AGGREGATIONS})

    async def list(self) -> list[StoredAggregation]:
        """All of them, by name."""
        rows = await self._records.aggregate([{"$sort": {"_id": 1}}], size=MAX_LISTED)
        return [_read(row) for row in rows]

    async def find(self, name: str) -> StoredAggregation | None:
        found = await self._records.find({"_id": name})
        return _read(found) if found is not None else None

    async def put(self, name: str, collection: str, text: str) -> StoredAggregation:
        """Saves a definition in the place of the one of that name, whose `created_at` stays."""
        moment = now()
        fields = {
            "collection": {"$literal": collection},
            "text": {"$literal": text},
            "created_at": {"$ifNull": ["$created_at", moment]},
            "updated_at": moment,
        }
        return _read(await self._records.create({"_id": name}, [{"$set": fields}]))

    async def count(self) -> int:
        return await self._records.count_all()

    async def delete(self, name: str) -> bool:
        """Returns False if no such aggregation was saved."""
        return await self._records.delete({"_id": name})


def _read(record: Mapping[str, Any]) -> StoredAggregation:
    return StoredAggregation(
        record["_id"], record["collection"], record["text"], record["created_at"], record["updated_at"]
    )
