"""BoundQuery → MongoDB commands. The caller chooses how a relation filter runs, after a probe for the related ids.

A relation with few, known ids was replaced by an indexed `$in` (`by_ids`). One that is left over is streamed: sorted
records are looked up one after the other, with the condition inside the lookup, until the page is full. A pipeline
costs MongoDB a tenth more than a plain `find`, so only queries with relations become one (docs/decisions/0008).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from service.query.matching import Stage, exists, filtered, is_streamed, lookup, matching, streamed, whole_filter
from service.query.nodes import EVERY_RELATION, BoundQuery, Expansion, Match, RelationMatch
from service.query.selection import Selection, data_paths
from service.query.tree import Filter, has_relations

Command = dict[str, Any]

# Measured at 1,000,000 users: up to this many ids, `$in` answers in milliseconds; beyond it, streaming a page does.
PROBE_LIMIT = 1_000
# A condition that many satisfy fills a page from this many records for each one wanted. MongoDB 6.0 reads 4 MB ahead of a
# lookup; a window keeps it from reading thousands of records for a page of twenty.
WINDOW_FACTOR = 10
# The fields of a populated page for its records, and of each record for the ids that `*` follows.
ROWS, IDS = "rows", "_ids"
# Fields that the rules of a field may read, besides the shown ones.
TIMES = ("created_at", "updated_at")


def probe(relation: RelationMatch) -> Command:
    """The ids of at most PROBE_LIMIT + 1 records that match: one more than are of use tells that there are too many."""
    limit, match = PROBE_LIMIT + 1, relation.match
    if is_streamed(match):
        stages = [*matching(match), {"$limit": limit}, {"$project": {"_id": 1}}]
        return _aggregate(relation.collection, stages, limit)
    return _find(relation.collection, match, {"limit": limit, "projection": {"_id": 1}})


def by_ids(relation: RelationMatch, ids: Iterable[str]) -> Filter:
    """The filter that stands for `relation` once the ids of all matching related records are known."""
    return {relation.local: {"$in": list(ids)}}


def page(query: BoundQuery, *, window: int | None = None) -> Command:
    """The records of one page, in order. Populated records come in the same reply, of the form `populate.attach` reads.

    With a `window` MongoDB looks only at that many records, the first in order: the page may then be too short.
    """
    if is_streamed(query.match) or query.expansions:
        return _aggregate(query.collection, [*_page_stages(query, window), *_populated(query)], query.size)
    options: Command = {
        "sort": dict(query.sort),
        "limit": query.size,
        "projection": dict.fromkeys(read_fields(query), 1),
    }
    if query.offset:
        options["skip"] = query.offset
    return _find(query.collection, query.match, options)


def read_fields(query: BoundQuery) -> tuple[str, ...]:
    """The fields to read of a page's records: all of `data` if a view looks at it, or if any field of it may be an id."""
    if query.selection is None or query.view is not None or _is_every(query.expansions):
        return query.fields
    keys = [path for path, _ in query.sort if query.cursor is not None and path.startswith("data.")]
    return _narrowed(query.fields, query.selection, query.expansions, keys)


def _narrowed(
    fields: Sequence[str], selection: Selection, expansions: Sequence[Expansion], more: Sequence[str] = ()
) -> tuple[str, ...]:
    """`fields`, with the chosen parts of `data` in its place, and the parts needed beside them."""
    ids = [f"data.{expansion.ids}" for expansion in expansions]
    return (*(name for name in fields if name != "data"), *data_paths(selection, [*ids, *more]))


def total(collection: str, match: Match, most: int | None = None) -> Command:
    """A `count`; or, where a relation is streamed, a pipeline of one row `{"n": count}`, or none for zero.

    Grouped by related ids first: each of those is looked up once. It counts to `most`, if that is given, and no further.
    """
    if not is_streamed(match):
        return {"count": collection, "query": whole_filter(match), **({"limit": most} if most is not None else {})}
    if most is not None or any(map(has_relations, match.trees)):
        capped = [{"$limit": most}] if most is not None else []
        return _aggregate(collection, [*matching(match), *capped, {"$count": "n"}], 1)
    key = {f"r{number}": f"${relation.local}" for number, relation in enumerate(match.relations)}
    lookups = (exists(f"_id.r{number}", relation) for number, relation in enumerate(match.relations))
    stages = [
        *filtered(match),
        {"$group": {"_id": key, "n": {"$sum": 1}}},
        *(stage for stages in lookups for stage in stages),
        {"$group": {"_id": None, "n": {"$sum": "$n"}}},
    ]
    return _aggregate(collection, stages, 1)


def stages_of_all(query: BoundQuery) -> list[Stage]:
    """All records that match, in order, for a pipeline without an end."""
    return [
        *filtered(query.match),
        {"$sort": dict(query.sort)},
        *streamed(query.match),
        {"$project": _shown_fields(query)},
    ]


def window(query: BoundQuery) -> int:
    """The number of records to look at first, if a relation is streamed."""
    return (query.offset + query.size) * WINDOW_FACTOR


def _find(collection: str, match: Match, options: Command) -> Command:
    # One more than can come tells the server to close the cursor with the first batch.
    batch = {"batchSize": options["limit"] + 1}
    return {"find": collection, "filter": whole_filter(match), **options, **batch}


def _aggregate(collection: str, stages: Sequence[Stage], size: int) -> Command:
    return {"aggregate": collection, "pipeline": list(stages), "cursor": {"batchSize": size + 1}}


def _page_stages(query: BoundQuery, window: int | None) -> list[Stage]:
    """Lookups that only add come after the page is cut."""
    return [
        *filtered(query.match),
        {"$sort": dict(query.sort)},
        *([{"$limit": window}] if window is not None else []),
        *streamed(query.match),
        *([{"$skip": query.offset}] if query.offset else []),
        {"$limit": query.size},
        {"$project": _shown_fields(query)},
    ]


def _shown_fields(query: BoundQuery) -> Stage:
    fields: Stage = dict.fromkeys(read_fields(query), 1)
    return fields | {IDS: _EVERY_ID} if _is_every(query.expansions) else fields


def _populated(query: BoundQuery) -> list[Stage]:
    """The page as one document `{rows: [...], r0: [...], r0_0: [...], ...}`: each related record once, however often
    named.

    One lookup for each relation of the page, not of each record: half the time for a page of twenty. The shown fields
    of a record are chosen at the end, for a lookup without a pipeline runs in the newer engine; nothing else leaves
    MongoDB.
    """
    if not query.expansions:
        return []
    shown = _columns(ROWS, read_fields(query))
    lookups = _lookups(query.expansions, "r", ROWS, shown)
    return [{"$group": {"_id": None, ROWS: {"$push": "$$ROOT"}}}, *lookups, {"$project": {"_id": 0, **shown}}]


def _lookups(expansions: Sequence[Expansion], prefix: str, local: str, shown: Stage) -> list[Stage]:
    """The lookups of the records that those in the array `local` name, and their own lookups; `shown` gets their
    fields.
    """
    stages: list[Stage] = []
    for number, expansion in enumerate(expansions):
        key = related_key(prefix, number)
        path = f"{IDS}.v" if expansion.name == EVERY_RELATION else f"data.{expansion.ids}"
        stages.append(lookup(f"{local}.{path}", expansion.collection, key, matching(expansion.match) or None))
        shown.update(_columns(key, _related_fields(expansion)))
        stages += _lookups(expansion.inner, f"{key}_", key, shown)
    return stages


def _related_fields(expansion: Expansion) -> tuple[str, ...]:
    if expansion.view is not None:
        return (*expansion.fields, *TIMES)
    if expansion.selection is None or _is_every(expansion.inner):
        return expansion.fields
    return _narrowed(expansion.fields, expansion.selection, expansion.inner)


def _columns(key: str, fields: Iterable[str]) -> Stage:
    return dict.fromkeys((f"{key}.{name}" for name in ("_id", *fields)), 1)


def related_key(prefix: str, number: int) -> str:
    """The field of the related records of the expansion with this number, beside the rows; see `populate.attach`."""
    return f"{prefix}{number}"


def _is_every(expansions: Sequence[Expansion]) -> bool:
    return any(expansion.name == EVERY_RELATION for expansion in expansions)


# The fields of `data` that may hold ids, as [{"k": name, "v": value}]: a lookup reads the values, of arrays one by one.
_EVERY_ID = {
    "$filter": {
        "input": {"$objectToArray": "$data"},
        "cond": {
            "$and": [
                {"$in": [{"$type": "$$this.v"}, ["string", "array"]]},
                {"$regexMatch": {"input": "$$this.k", "regex": "_id$"}},
            ]
        },
    }
}
