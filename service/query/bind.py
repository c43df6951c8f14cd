"""ListQuery + Shape → BoundQuery: names get their meaning, texts become values, and what does not fit is refused."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.errors import Invalid, Violation
from service.query.after import Key, check_values, find_after
from service.query.conditions import and_match, bind_where, describe_unknown, relation_name, to_match
from service.query.expansions import bind_expansions, choose
from service.query.names import Path
from service.query.nodes import BoundQuery, ListQuery, Match, SortKey, Where
from service.query.shapes import ID, Field, Shape


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
    """The records whose values are asked for, and where those stand."""

    collection: str
    match: Match
    field: Field


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


def _sort(sort: Sequence[SortKey], shape: Shape, violations: list[Violation]) -> list[Key]:
    """The keys, and the id behind them, in the direction of the last: it is in the place of all that would follow it."""
    keys: list[Key] = []
    for wanted in sort:
        field = _sort_field(wanted.path, shape)
        if field is None or (keys and field.path in {key.field.path for key in keys}):
            unsorted = describe_unknown(wanted.path, shape, violations, "Not a field that can be sorted by")
            msg = unsorted if field is None else "A field may be sorted by once"
            violations.append(Violation(("query", "sort_by"), msg, "value_error"))
            continue
        keys.append(Key(field, wanted.descending))
        if field.path == ID.path:
            return keys
    return [*keys, Key(ID, bool(keys) and keys[-1].descending)]


def _sort_field(path: Path, shape: Shape) -> Field | None:
    return None if len(path) > 1 and path[0] != "data" else shape.sort_field(path)
