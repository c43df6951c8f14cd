"""BoundQuery → MongoDB stages. How a relation filter runs is chosen by the caller, who probed for the related ids.

A relation whose ids are few and known was replaced by an indexed `$in` (`by_ids`). One that is left over is streamed:
sorted records are looked up one after the other, with the condition inside the lookup, until the page is full.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from service.query.nodes import EVERY_RELATION, BoundQuery, Expansion, Match, RelationMatch
from service.query.operators import Filter

Stage = dict[str, Any]

# Measured at 1,000,000 users: up to this many ids, `$in` answers in milliseconds; beyond it, streaming a page does.
PROBE_LIMIT = 1_000
# A condition that many satisfy fills a page from this many records for each one wanted. MongoDB 6.0 reads 4 MB ahead of a
# lookup; a window keeps it from reading thousands of records for a page of twenty.
WINDOW_FACTOR = 10


def probe(match: Match) -> list[Stage]:
    """The ids of at most PROBE_LIMIT + 1 records that match: one more than are of use tells that there are too many."""
    return [*_matching(match), {"$limit": PROBE_LIMIT + 1}, {"$project": {"_id": 1}}]


def by_ids(relation: RelationMatch, ids: Iterable[str]) -> Filter:
    """The filter that stands for `relation` once the ids of all matching related records are known."""
    return {relation.local: {"$in": list(ids)}}


def page(query: BoundQuery, *, window: int | None = None) -> list[Stage]:
    """The records of one page, in order, with what they populate. Lookups that only add come after the page is cut.

    With a `window` only so many records, the first in order, are looked at: the page may then be too short.
    """
    return [
        *_filtered(query.match),
        {"$sort": dict(query.sort)},
        *([{"$limit": window}] if window is not None else []),
        *_streamed(query.match),
        *([{"$skip": query.offset}] if query.offset else []),
        {"$limit": query.limit},
        {"$project": dict.fromkeys(query.fields, 1)},
        *_populated(query.expansions),
    ]


def total(match: Match) -> list[Stage]:
    """One row `{"n": count}`, or none for zero. Grouped by related ids first: each of those is looked up once."""
    if not match.relations:
        return [*_filtered(match), {"$count": "n"}]
    key = {f"r{number}": f"${relation.local}" for number, relation in enumerate(match.relations)}
    lookups = (_exists(f"_id.r{number}", relation) for number, relation in enumerate(match.relations))
    return [
        *_filtered(match),
        {"$group": {"_id": key, "n": {"$sum": 1}}},
        *(stage for stages in lookups for stage in stages),
        {"$group": {"_id": None, "n": {"$sum": "$n"}}},
    ]


def window(query: BoundQuery) -> int:
    """How many records to look at first, when a relation is streamed."""
    return (query.offset + query.limit) * WINDOW_FACTOR


def _matching(match: Match) -> list[Stage]:
    return [*_filtered(match), *_streamed(match)]


def _filtered(match: Match) -> list[Stage]:
    return [{"$match": _all_of(match.filters)}] if match.filters else []


def _all_of(filters: Sequence[Filter]) -> Filter:
    return filters[0] if len(filters) == 1 else {"$and": list(filters)}


def _streamed(match: Match) -> list[Stage]:
    return [stage for relation in match.relations for stage in _exists(relation.local, relation)]


def _exists(local: str, relation: RelationMatch) -> list[Stage]:
    """Keeps the records whose id at `local` names a record that matches.

    A lookup without a pipeline of its own runs in MongoDB's newer engine: measured here, a fifth of the time of one that
    carries the condition inside. Only conditions on further relations need that.
    """
    if relation.match.relations:
        inner = [*_matching(relation.match), {"$project": {"_id": 1}}]
        return [_lookup(local, relation.collection, "_matched", inner), {"$match": {"_matched": {"$ne": []}}}, _FORGET]
    condition = {"$elemMatch": _all_of(relation.match.filters)}
    return [_lookup(local, relation.collection, "_matched"), {"$match": {"_matched": condition}}, _FORGET]


_FORGET = {"$unset": "_matched"}


def _lookup(local: str, collection: str, name: str, inner: Iterable[Stage] | None = None) -> Stage:
    pipeline = {} if inner is None else {"pipeline": list(inner)}
    return {"$lookup": {"from": collection, "localField": local, "foreignField": "_id", **pipeline, "as": name}}


def _populated(expansions: Sequence[Expansion]) -> list[Stage]:
    return [stage for number, expansion in enumerate(expansions) for stage in _expanded(expansion, related_key(number))]


def related_key(number: int) -> str:
    """Where the related records of the expansion with this number are put, beside `data`; see `populate.attach`."""
    return f"_related_{number}"


def _expanded(expansion: Expansion, key: str) -> list[Stage]:
    inner = [{"$project": dict.fromkeys(expansion.fields, 1)}, *_populated(expansion.inner)]
    if expansion.name == EVERY_RELATION:
        return [{"$set": {key: _EVERY_ID}}, _lookup(key, expansion.collection, key, inner)]
    return [_lookup(f"data.{expansion.name}_id", expansion.collection, key, inner)]


# All values of the fields of `data` whose names end in `_id`; the values of an array count one by one.
_EVERY_ID = {
    "$reduce": {
        "input": {
            "$filter": {
                "input": {"$objectToArray": "$data"},
                "cond": {"$regexMatch": {"input": "$$this.k", "regex": "_id$"}},
            }
        },
        "initialValue": [],
        "in": {"$concatArrays": ["$$value", {"$cond": [{"$isArray": "$$this.v"}, "$$this.v", ["$$this.v"]]}]},
    }
}
