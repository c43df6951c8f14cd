"""Runs a bound aggregation: probes relations, then sends one command; where that ran out of memory, a plainer one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.bounds import MAX_AGGREGATIONS_UNDER_WAY, MAX_AGGREGATIONS_WAITING
from service.domain.lists import TimedReading
from service.domain.shares import Shares
from service.errors import AggregationTooLarge, Location, QueryTooSlow
from service.query.aggregate.nodes import BoundAggregation
from service.query.aggregate.plan import FAST, PLAIN, Way, command, is_rewritten
from service.query.aggregate.rows import read_rows
from service.query.nodes import Match
from service.storage.aggregations import read_rows as fetch
from service.storage.databases import ProjectDatabase

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
