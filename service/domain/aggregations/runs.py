"""Runs a bound aggregation: probes relations, then sends one command; where that ran out of memory, a plainer one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.bounds import MAX_AGGREGATIONS_UNDER_WAY, MAX_AGGREGATIONS_WAITING
from service.domain.lists import TimedReading
from service.domain.shares import Shares
from service.errors import AggregationTooLarge, Location, QueryTooSlow
from service.query.aggregate.nodes import BoundAggregation, BoundKey, NumberBucket
from service.query.aggregate.partials import nothing
from service.query.aggregate.plan import FAST, PLAIN, Way, command, is_rewritten
from service.query.matcher import matches
from service.query.nodes import Match
from service.storage.aggregations import read_rows as fetch
from service.storage.databases import ProjectDatabase

Row = dict[str, Any]

# Up to here a float is the whole number that it seems to be, and JSON's writer takes it.
LARGEST_EXACT = 2**53


def read_rows(found: Sequence[Mapping[str, Any]], aggregation: BoundAggregation) -> list[Row]:
    """In their order. Without a key there is one row, of nothing too, if `having` lets it be."""
    if aggregation.keys:
        return [_read_row(row, aggregation) for row in found]
    row = found[0] if found else {f"v{n}": nothing(value) for n, value in enumerate(aggregation.values)}
    return [_read_row(row, aggregation)] if matches(aggregation.having, row) else []


def _read_row(row: Mapping[str, Any], aggregation: BoundAggregation) -> Row:
    keys = {key.name: _bound(row["_id"][f"k{n}"], key) for n, key in enumerate(aggregation.keys)}
    return keys | {value.name: row[f"v{n}"] for n, value in enumerate(aggregation.values)}


def _bound(value: Any, key: BoundKey) -> Any:
    """Whole numbers have whole bounds, whether the numbers in the bucket are or not."""
    is_whole = isinstance(key.bucket, NumberBucket) and isinstance(key.bucket.step, int)
    fits = isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT
    return int(value) if is_whole and fits else value


WAIT_SECONDS = 2.0
NOTHING = Match(trees=(False,))


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an aggregation, and how many there could have been at most."""

    rows: list[dict[str, Any]]
    limit: int


class AggregationRuns:
    """The aggregations that a worker has under way, a few at a time for each project."""

    def __init__(self, most: int = MAX_AGGREGATIONS_UNDER_WAY, waiting: int = MAX_AGGREGATIONS_WAITING) -> None:
        self._shares = Shares(most, waiting=waiting, seconds=WAIT_SECONDS)

    async def run(
        self, database: ProjectDatabase, aggregation: BoundAggregation, *, seconds: float, place: Location
    ) -> Rows:
        """Raises Busy, QueryTooSlow after so many seconds of database time; and at `place`, where the
        aggregation stands, AggregationTooLarge, or Invalid for a time zone that MongoDB does not know.
        """
        async with self._shares.take(database.database.name):
            try:
                return await _run(database, aggregation, TimedReading(database, seconds), place)
            except QueryTooSlow:
                msg = f"The aggregation took longer than {seconds:g} seconds of database time; narrow it with where"
                raise QueryTooSlow(msg) from None

    async def check(self, database: ProjectDatabase, aggregation: BoundAggregation, *, place: Location) -> None:
        """Has MongoDB check the command, on no records. Raises as `run`."""
        await self.run(database, replace(aggregation, match=NOTHING), seconds=WAIT_SECONDS, place=place)


async def _run(
    database: ProjectDatabase, aggregation: BoundAggregation, reading: TimedReading, place: Location
) -> Rows:
    match = await reading.resolve(aggregation.match, aggregation.collection)
    aggregation = replace(aggregation, match=match)

    async def fetch_by(way: Way) -> Sequence[dict[str, Any]]:
        return await fetch(database, command(aggregation, way), seconds=reading.left(), place=place)

    try:
        found = await fetch_by(FAST)
    except AggregationTooLarge:
        if not is_rewritten(aggregation):
            raise
        # The groups of a rewrite may be larger than those of the plain way.
        found = await fetch_by(PLAIN)
    return Rows(read_rows(found, aggregation), aggregation.limit)
