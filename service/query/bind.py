"""ListQuery + Shape → BoundQuery: names get their meaning, also those behind relations, and texts become values.

Names and values that do not fit are refused.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from service.errors import Invalid, Violation
from service.query.after import SortPart, check_values, find_after
from service.query.conditions import (
    and_match,
    bind_where,
    describe_no_relation,
    describe_unknown,
    relation_name,
    to_match,
)
from service.query.names import Path
from service.query.nodes import EVERY_RELATION, BoundQuery, Expansion, ListQuery, Match, SortKey, Where
from service.query.selection import Selection, select
from service.query.shapes import ID, Shape, ShapeField
from service.schema.nearest import describe_nearest
from service.schema.strict_json import shown

Paths = Sequence[Path] | None


def bind(query: ListQuery, shape: Shape) -> BoundQuery:
    """The query as MongoDB can run it on records of `shape`. Raises Invalid naming all parameters that do not fit."""
    violations: list[Violation] = []
    keys = _sort(query.sort, shape, violations)
    bound = BoundQuery(
        collection=shape.collection,
        match=_match(query, shape, violations),
        sort=tuple((key.field.path, -1 if key.descending else 1) for key in keys),
        limit=query.limit,
        offset=query.offset,
        count=query.count,
        expansions=bind_expansions(query.populate, query.fields, shape, violations),
        fields=tuple(shape.listed),
        view=shape.view,
        selection=choose(query.fields, query.populate, shape, violations),
        cursor=query.cursor,
    )
    if violations:
        raise Invalid(violations)
    if query.cursor is None or query.cursor.values is None:
        return bound
    check_values(keys, query.cursor.values)
    return replace(bound, after=find_after(keys, query.cursor.values))


@dataclass(frozen=True, slots=True)
class BoundDistinct:
    """The records whose values are wanted, and the field of the values."""

    collection: str
    match: Match
    field: ShapeField


def bind_distinct(path: Path, query: ListQuery, shape: Shape) -> BoundDistinct:
    """Raises Invalid."""
    violations: list[Violation] = []
    match = _match(query, shape, violations)
    field = shape.sort_field(path) if relation_name(path, shape.nested) is None else None
    if field is None:
        violations.append(Violation(("query", "field"), describe_unknown(path, shape, violations), "value_error"))
    if field is None or violations:
        raise Invalid(violations)
    return BoundDistinct(shape.collection, match, field)


def _match(query: ListQuery, shape: Shape, violations: list[Violation]) -> Match:
    """The conditions of the query string's filters, of its `where`, and of the shape itself."""
    asked = (Where(query.conditions), query.where)
    trees = [bind_where(where, shape, violations) for where in asked if where.conditions or where.joined]
    return and_match(shape.match, to_match(trees)) if trees else shape.match


def _sort(sort: Sequence[SortKey], shape: Shape, violations: list[Violation]) -> list[SortPart]:
    """The keys, and the id behind them, in the direction of the last: it is in the place of all that would follow it."""
    keys: list[SortPart] = []
    for wanted in sort:
        field = _sort_field(wanted.path, shape)
        if field is None or (keys and field.path in {key.field.path for key in keys}):
            unsorted = describe_unknown(wanted.path, shape, violations, "Not a field that can be sorted by")
            msg = unsorted if field is None else "A field may be sorted by once"
            violations.append(Violation(("query", "sort_by"), msg, "value_error"))
            continue
        keys.append(SortPart(field, wanted.descending))
        if field.path == ID.path:
            return keys
    return [*keys, SortPart(ID, bool(keys) and keys[-1].descending)]


def _sort_field(path: Path, shape: Shape) -> ShapeField | None:
    return None if len(path) > 1 and path[0] != "data" else shape.sort_field(path)


def bind_expansions(
    populate: Sequence[Path], fields: Paths, shape: Shape, violations: list[Violation]
) -> tuple[Expansion, ...]:
    """The trie of `populate`: a.b and a.c are one expansion of a with two inside."""
    if not populate:
        return ()
    names = dict.fromkeys(path[0] for path in populate)
    if EVERY_RELATION in names:
        return _every(fields, shape, violations)
    found = []
    for name in names:
        target = shape.relation(name)
        if target is None:
            msg = describe_no_relation(name, shape, violations)
            violations.append(Violation(("query", "populate"), msg, "value_error"))
            continue
        inner = [path[1:] for path in populate if path[0] == name and path[1:]]
        found.append(_expansion(name, shape, target, inner, _behind(name, fields, shape), violations))
    return tuple(found)


def _every(fields: Paths, shape: Shape, violations: list[Violation]) -> tuple[Expansion, ...]:
    names = shape.relations()
    if names is None:
        return (_expansion(EVERY_RELATION, shape, shape, (), None, violations),)
    targets = ((name, shape.relation(name)) for name in names)
    return tuple(
        _expansion(name, shape, target, (), _behind(name, fields, shape), violations)
        for name, target in targets
        if target is not None
    )


def _expansion(
    name: str, shape: Shape, target: Shape, inner: Sequence[Path], fields: Paths, violations: list[Violation]
) -> Expansion:
    local = shape.local(name)
    field = shape.field(tuple(local.split(".")))
    return Expansion(
        name,
        local.removeprefix("data."),
        target.collection,
        tuple(target.related),
        bind_expansions(inner, fields, target, violations),
        drops=field is not None and field.many,
        match=target.match,
        view=target.view,
        selection=choose(fields, inner, target, violations),
    )


def _behind(name: str, fields: Paths, shape: Shape) -> Paths:
    """The fields chosen of the records that a relation leads to; None for all of them, if none was chosen."""
    found = [path[1:] for path in fields or () if relation_name(path, shape.nested) == name]
    return found or None


def choose(fields: Paths, populate: Iterable[Path], shape: Shape, violations: list[Violation]) -> Selection | None:
    """The chosen paths in `data` of the records themselves; None for all of it. A populated relation is shown in any
    case.
    """
    if fields is None:
        return None
    names = {path[0] for path in populate}
    if EVERY_RELATION in names:
        names = set(shape.relations() or ())
    chosen = []
    for path in fields:
        if (relation := relation_name(path, shape.nested)) is not None:
            violations += [] if relation in names else [_unpopulated(relation)]
        elif path[0] not in names or len(path) > 1:
            chosen += _data_path(path, shape, violations)
    return select(chosen)


def _data_path(path: Path, shape: Shape, violations: list[Violation]) -> list[Path]:
    """The path of a field in `data`; empty for fields that always come, and for hidden ones."""
    field = shape.field(path)
    if field is None:
        nearest = describe_nearest(path[0], shape.names()) if len(path) == 1 and not violations else ""
        msg = f"There is no such field in this collection: {shown('.'.join(path))}{nearest}"
        violations.append(Violation(("query", "fields"), msg, "value_error"))
    if field is None or not field.path.startswith("data."):
        return []
    return [tuple(field.path.split(".")[1:])]


def _unpopulated(relation: str) -> Violation:
    msg = f"Name the relation {shown(relation)} in populate to choose fields of it"
    return Violation(("query", "fields"), msg, "value_error")
