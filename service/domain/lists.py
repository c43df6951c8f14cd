"""Runs a bound query: probes relations, then asks for the page and the total side by side."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from service.query import pipeline
from service.query.nodes import BoundQuery, Match, RelationMatch
from service.query.operators import Filter
from service.query.populate import attach
from service.storage.client import within
from service.storage.databases import ProjectDatabase

# All of a list's database time together.
LIST_SECONDS = 2.0
# Past this offset a window would save nothing.
LARGEST_OFFSET = 10_000


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of records, `_id` and the fields asked for, and how many match in all (None when not asked)."""

    records: list[dict[str, Any]]
    total: int | None
    limit: int
    offset: int


async def list_records(database: ProjectDatabase, query: BoundQuery) -> Listing:
    """One command for the page, one for the total if asked, and one probe for each relation filtered by.

    Raises QueryTooSlow after two seconds of database time.
    """
    with within(LIST_SECONDS):
        if query.match.relations:
            query = replace(query, match=await _resolve(database, query.match))
        if query.count:
            records, total = await asyncio.gather(_page(database, query), _total(database, query))
        else:
            records, total = await _page(database, query), None
    if query.expansions:
        records = [attach(record, query.expansions) for record in records]
    return Listing(records, total, query.limit, query.offset)


async def _page(database: ProjectDatabase, query: BoundQuery) -> list[dict[str, Any]]:
    """A streamed page is looked for among the first records in order, and only if it is not full there, among all."""
    records = database.records(query.collection)
    if query.match.relations and query.offset <= LARGEST_OFFSET:
        stages = pipeline.page(query, window=pipeline.window(query))
        if len(found := await records.page(stages, size=query.limit)) == query.limit:
            return found
    return await records.page(pipeline.page(query), size=query.limit)


async def _total(database: ProjectDatabase, query: BoundQuery) -> int:
    records = database.records(query.collection)
    if query.match == Match():
        return await records.count_all()
    rows = await records.page(pipeline.total(query.match), size=1)
    return int(rows[0]["n"]) if rows else 0


async def _resolve(database: ProjectDatabase, match: Match) -> Match:
    """`match` with each relation that few records satisfy replaced by those records' ids, from the far end inwards."""
    if not match.relations:
        return match
    resolved = await asyncio.gather(*(_resolve_relation(database, relation) for relation in match.relations))
    filters = tuple(r for r in resolved if not isinstance(r, RelationMatch))
    return Match((*match.filters, *filters), tuple(r for r in resolved if isinstance(r, RelationMatch)))


async def _resolve_relation(database: ProjectDatabase, relation: RelationMatch) -> Filter | RelationMatch:
    relation = replace(relation, match=await _resolve(database, relation.match))
    size = pipeline.PROBE_LIMIT + 1
    found = await database.records(relation.collection).page(pipeline.probe(relation.match), size=size)
    if len(found) == size:
        return relation
    return pipeline.by_ids(relation, (record["_id"] for record in found))
