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


def probe(match: Match) -> list[Stage]:
    """The ids of at most PROBE_LIMIT + 1 records that match: one more than are of use tells that there are too many."""
    return [*_matching(match), {"$limit": PROBE_LIMIT + 1}, {"$project": {"_id": 1}}]


def by_ids(relation: RelationMatch, ids: Iterable[str]) -> Filter:
    """The filter that stands for `relation` once the ids of all matching related records are known."""
    return {relation.local: {"$in": list(ids)}}


def page(query: BoundQuery) -> list[Stage]:
    """The records of one page, in order, with what they populate. Lookups that only add come after the page is cut."""
    return [
        *_filtered(query.match),
        {"$sort": dict(query.sort)},
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


def _matching(match: Match) -> list[Stage]:
    return [*_filtered(match), *_streamed(match)]


def _filtered(match: Match) -> list[Stage]:
    if not match.filters:
        return []
    return [{"$match": match.filters[0] if len(match.filters) == 1 else {"$and": list(match.filters)}}]


def _streamed(match: Match) -> list[Stage]:
    return [stage for relation in match.relations for stage in _exists(relation.local, relation)]


def _exists(local: str, relation: RelationMatch) -> list[Stage]:
    """Keeps the records whose id at `local` names a record that matches."""
    inner = [*_matching(relation.match), {"$project": {"_id": 1}}]
    return [
        _lookup(local, relation.collection, inner, "_matched"),
        {"$match": {"_matched": {"$ne": []}}},
        {"$unset": "_matched"},
    ]


def _lookup(local: str, collection: str, inner: Iterable[Stage], name: str) -> Stage:
    return {
        "$lookup": {"from": collection, "localField": local, "foreignField": "_id", "pipeline": list(inner), "as": name}
    }


def _populated(expansions: Sequence[Expansion]) -> list[Stage]:
    return [stage for number, expansion in enumerate(expansions) for stage in _expanded(expansion, related_key(number))]


def related_key(number: int) -> str:
    """Where the related records of the expansion with this number are put, beside `data`; see `populate.attach`."""
    return f"_related_{number}"


def _expanded(expansion: Expansion, key: str) -> list[Stage]:
    inner = [{"$project": dict.fromkeys(expansion.fields, 1)}, *_populated(expansion.inner)]
    if expansion.name == EVERY_RELATION:
        return [{"$set": {key: _EVERY_ID}}, _lookup(key, expansion.collection, inner, key)]
    return [_lookup(f"data.{expansion.name}_id", expansion.collection, inner, key)]


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
