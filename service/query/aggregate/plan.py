"""BoundAggregation → a pipeline of MongoDB, whose rows are `{_id: {k0, k1, ...} or null, v0, v1, ...}`.

Two rewrites make it fast, and each can be left out. If a key is a field of a related record, records are grouped by the
id first, and only each id is looked up. Date buckets are computed from 15-minute buckets. Both pay if there are fewer
ids, or quarters of an hour, than records. If there are so many that a group runs out of memory, the plain way may still
work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.query.aggregate import partials
from service.query.aggregate.expressions import (
    Expression,
    bounded,
    bucket_of,
    bucket_of_quarter,
    checks_of_zones,
    is_slow,
    or_null,
    quarter_of,
    shown_file,
)
from service.query.aggregate.nodes import BoundAggregation, BoundKey, DateBucket
from service.query.aggregate.partials import DISTINCT, SMALL, Placed
from service.query.aggregate.relations import Relation, find_relations, id_in, look_up, look_up_in_records, value_in
from service.query.matching import matching
from service.query.nodes import Match

Stage = dict[str, Any]
Command = dict[str, Any]

# The fields of a looked-up record, and of the groups that name it.
FOUND, ROWS = "j", "rows"


@dataclass(frozen=True, slots=True)
class Way:
    """The rewrites to make."""

    by_ids: bool = True
    by_quarters: bool = True


FAST, PLAIN = Way(), Way(by_ids=False, by_quarters=False)


def is_rewritten(aggregation: BoundAggregation) -> bool:
    """True if the fast way differs from the plain one."""
    return any(key.hops or is_slow(key.bucket) for key in aggregation.keys)


def command(aggregation: BoundAggregation, way: Way) -> Command:
    """It may not write to disk: what does not fit into memory is refused, with MongoDB's code 292."""
    batch = {"batchSize": aggregation.limit + 1}
    stages = pipeline(aggregation, way)
    return {"aggregate": aggregation.collection, "pipeline": stages, "cursor": batch, "allowDiskUse": False}


def pipeline(aggregation: BoundAggregation, way: Way) -> list[Stage]:
    """Different values are counted in pipelines of their own, but for the first; their rows are joined by the key."""
    placed = list(enumerate(aggregation.values))
    distinct = [number for number, value in placed if value.function == DISTINCT]
    values = [(number, value) for number, value in placed if value.function != DISTINCT]
    first, more = (distinct[0] if distinct else None), distinct[1:]
    stages = _Grouping(aggregation, way, values, first).stages()
    for number in more:
        others = _Grouping(aggregation, way, [], number).stages()
        stages.append({"$unionWith": {"coll": aggregation.collection, "pipeline": others}})
    if more:
        fields = [*partials.merge(values), *(f"a{number}" for number in distinct)]
        stages.append({"$group": {"_id": "$_id", **{field: {"$max": f"${field}"} for field in fields}}})
    return [*stages, *_finish(aggregation)]


class _Grouping:
    """One pipeline that groups the records: the values that add up, and the count of the different ones of one field."""

    def __init__(self, aggregation: BoundAggregation, way: Way, values: Placed, distinct: int | None) -> None:
        self._aggregation = aggregation
        self._values = values
        self._distinct = distinct
        self._relations = find_relations(aggregation.keys)
        self._by_ids = way.by_ids and bool(self._relations)
        # With an id, or another value, beside it, a quarter has hardly more than one record.
        self._by_quarters = way.by_quarters and not self._relations and distinct is None

    def stages(self) -> list[Stage]:
        return [
            *matching(self._aggregation.match),
            *([] if self._by_ids else self._look_up_records()),
            *self._group_records(),
            *self._group_quarters(),
            *(stage for relation in self._relations if self._by_ids for stage in self._resolve(relation)),
            *self._count_distinct(),
        ]

    def _look_up_records(self) -> list[Stage]:
        return [stage for relation in self._relations for stage in look_up_in_records(relation, _place_of)]

    def _group_records(self) -> list[Stage]:
        keys, found = self._record_keys(), partials.sources(self._values, self._aggregation.file_prefix)
        raw = keys | self._record_ids() | found
        if self._distinct is not None:
            raw["v"] = f"${self._aggregation.values[self._distinct].path}"
        stages, raw = _unwind(raw, [name for name in keys if self._key(name).each])
        group = {name: self._finish_key(name, raw[name]) if name in keys else raw[name] for name in raw.keys() - found}
        return [*stages, _group(group, partials.accumulate(self._values, raw))]

    def _record_keys(self) -> dict[str, Expression]:
        """The expressions of the keys that a record itself can give; if ids are grouped first, those along relations
        are missing.
        """
        ends = {place: relation for relation in self._relations for place in relation.keys}
        return {
            f"k{place}": self._own(key) if place not in ends else self._related(key, _place_of(ends[place].number))
            for place, key in enumerate(self._aggregation.keys)
            if place not in ends or not self._by_ids
        }

    def _record_ids(self) -> dict[str, Expression]:
        roots = [relation for relation in self._relations if relation.parent is None] if self._by_ids else []
        return {f"r{relation.number}": id_in(relation) for relation in roots}

    def _own(self, key: BoundKey) -> Expression:
        path, prefix = f"${key.path}", self._aggregation.file_prefix
        return shown_file(path, f"$files.{key.path.removeprefix('data.')}", prefix) if key.is_file else path

    def _related(self, key: BoundKey, place: str) -> Expression:
        return value_in(key, f"{place}.", self._aggregation.file_prefix)

    def _key(self, name: str) -> BoundKey:
        return self._aggregation.keys[int(name[1:])]

    def _finish_key(self, name: str, value: Expression) -> Expression:
        key = self._key(name)
        if isinstance(key.bucket, DateBucket) and self._by_quarters and is_slow(key.bucket):
            return quarter_of(value, key.bucket)
        if key.bucket is not None:
            return bucket_of(value, key.bucket)
        return or_null(value) if key.kind in SMALL and (key.each or not key.many) else bounded(value)

    def _group_quarters(self) -> list[Stage]:
        slow = {
            f"k{place}": key.bucket
            for place, key in enumerate(self._aggregation.keys)
            if self._by_quarters and isinstance(key.bucket, DateBucket) and is_slow(key.bucket)
        }
        if not slow:
            return []
        names = [f"k{place}" for place in range(len(self._aggregation.keys))]
        keys = {
            name: bucket_of_quarter(f"$_id.{name}", slow[name]) if name in slow else f"$_id.{name}" for name in names
        }
        return [_group(keys, partials.merge(self._values))]

    def _resolve(self, relation: Relation) -> list[Stage]:
        """From groups by the id of a relation, and whatever else, to groups by what its records have."""
        own, others = f"r{relation.number}", self._names_before(relation)
        root = f"{ROWS}." if others else ""
        gathered = {"$group": {"_id": f"$_id.{own}", ROWS: {"$push": "$$ROOT"}}}
        # Each id is looked up once, though it may be in many groups.
        stages = [gathered, look_up(relation, "_id", FOUND)] if others else [look_up(relation, f"_id.{own}", FOUND)]
        keys = {f"k{place}": self._related(self._aggregation.keys[place], FOUND) for place in relation.keys}
        ids = {
            f"r{child.number}": id_in(child, f"{FOUND}.")
            for child in self._relations
            if child.parent == relation.number
        }
        stages += [{"$set": keys | ids}, {"$unset": FOUND}]
        stages += [{"$unwind": f"${name}"} for name in keys if self._key(name).each]
        stages += [{"$unwind": f"${ROWS}"}] if others else []
        group = {name: f"${root}_id.{name}" for name in others}
        group |= {name: self._finish_key(name, f"${name}") for name in keys} | {name: f"${name}" for name in ids}
        return [*stages, _group(group, partials.merge(self._values, root))]

    def _names_before(self, relation: Relation) -> list[str]:
        """The names in the keys of groups, besides the relation's id, when the relation is looked up."""
        done = self._relations[: relation.number]
        reached = {None, *(each.number for each in done)}
        ids = [each.number for each in self._relations[relation.number + 1 :] if each.parent in reached]
        along = {place for each in self._relations for place in each.keys}
        own = [place for place in range(len(self._aggregation.keys)) if place not in along]
        keys = sorted([*own, *(place for each in done for place in each.keys)])
        distinct = ["v"] if self._distinct is not None else []
        return [*(f"k{place}" for place in keys), *(f"r{number}" for number in ids), *distinct]

    def _count_distinct(self) -> list[Stage]:
        if self._distinct is None:
            return []
        keys = {f"k{place}": f"$_id.k{place}" for place in range(len(self._aggregation.keys))}
        counted = {f"a{self._distinct}": partials.count_present("$_id.v")}
        return [_group(keys, partials.merge(self._values) | counted)]


def _group(keys: Mapping[str, Expression], parts: Stage) -> Stage:
    """Rows are sorted by their whole `_id`, and joined by it, so its fields stand in one order."""
    return {"$group": {"_id": dict(sorted(keys.items())) or None, **parts}}


def _place_of(relation: int) -> str:
    """The field in which the related record is put, in the record that names it."""
    return f"{FOUND}{relation}"


def _unwind(raw: Mapping[str, Expression], each: Iterable[str]) -> tuple[list[Stage], dict[str, Expression]]:
    """One record for each element, or for each pair of such; where there are any, all is taken out of the record before."""
    unwound = [{"$unwind": f"${name}"} for name in each]
    if not unwound:
        return [], dict(raw)
    return [{"$project": {"_id": 0, **raw}}, *unwound], {name: f"${name}" for name in raw}


def _finish(aggregation: BoundAggregation) -> list[Stage]:
    """The rows that are wanted, in their order. That of a whole document is the order of its fields, arrays as they are."""
    values = partials.finish(aggregation.values)
    zones = {key.bucket.timezone for key in aggregation.keys if isinstance(key.bucket, DateBucket)}
    stages = [{"$project": {"_id": 1, **values}}] if values else []
    if not aggregation.keys:
        return stages
    if aggregation.having is not True:
        stages += matching(Match(trees=(aggregation.having,)))
    wrapped = {f"s{number}": {"v": f"${path}"} for number, (path, _) in enumerate(aggregation.sort)}
    order = {f"s{number}": direction for number, (_, direction) in enumerate(aggregation.sort)}
    stages += [{"$set": wrapped}] if wrapped else []
    return [*stages, {"$sort": order | {"_id": 1}}, {"$limit": aggregation.limit}, *checks_of_zones(zones)]
