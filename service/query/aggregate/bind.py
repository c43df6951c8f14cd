"""AskedAggregation + Shape → BoundAggregation: names get their meaning, and what does not fit is refused.

A key or a value looks at fields visible in all records, as sorting does: the rows reveal their values.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from service.errors import Invalid, Location, Violation
from service.query.aggregate.grammar import COUNT
from service.query.aggregate.nodes import (
    AskedAggregation,
    AskedKey,
    BoundAggregation,
    BoundKey,
    BoundValue,
    DateBucket,
    Hop,
    NumberBucket,
    Path,
    Value,
)
from service.query.conditions import (
    NO_FIELD,
    NO_RELATION,
    and_match,
    bind_where,
    describe_unknown,
    relation_name,
    to_match,
)
from service.query.nodes import Match, Where
from service.query.shapes import NESTED, USERS, Shape, ShapeField, local_of
from service.query.tree import Tree
from service.schema.values import Kind

NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER})
SUMS = frozenset({"sum", "avg"})
NO_COLUMN = "There is no such column; name a key or a value of this aggregation"

Bound = TypeVar("Bound")


class _Misfit(ValueError):
    """Why a key or a value cannot be; becomes a violation of it."""


def bind_aggregation(
    aggregation: AskedAggregation, shape: Shape, place: Location, *, file_prefix: str = ""
) -> BoundAggregation:
    """The aggregation as MongoDB can run it on records of `shape`. Raises Invalid naming all that does not fit.

    `place` is where the aggregation stands; the name of a user's file is shown behind `file_prefix`.
    """
    violations: list[Violation] = []
    keys = _bind_each(aggregation.keys, _key, shape, (*place, "group"), violations)
    values = _bind_each(aggregation.values, _value, shape, (*place, "values"), violations)
    where = bind_where(aggregation.where, shape, violations)
    if violations:
        raise Invalid(violations)
    columns = _Columns(keys, values)
    return BoundAggregation(
        collection=shape.collection,
        match=and_match(shape.match, to_match([where])),
        keys=keys,
        values=values,
        having=_having(aggregation.having, columns),
        sort=tuple((columns.fields[name].path, -1 if descends else 1) for name, descends in aggregation.sort),
        limit=aggregation.limit,
        file_prefix=file_prefix,
    )


Named = TypeVar("Named", AskedKey, Value)


def _bind_each(
    named: Iterable[Named],
    bind: Callable[[Named, Shape], Bound],
    shape: Shape,
    place: Location,
    violations: list[Violation],
) -> tuple[Bound, ...]:
    found = []
    for each in named:
        try:
            found.append(bind(each, shape))
        except _Misfit as misfit:
            violations.append(Violation((*place, each.name), str(misfit), "value_error"))
    return tuple(found)


def _key(key: AskedKey, shape: Shape) -> BoundKey:
    hops, target, path = _follow(key.path, shape)
    field = _field(path, target)
    if key.each and not (field.many or field.kind is Kind.ANY):
        raise _Misfit("The field is no array, so it has no elements to look at each of")
    if key.bucket is not None:
        _check_bucket(key, field)
    is_file = _may_hold_file(field, target) and key.bucket is None and not key.each
    return BoundKey(key.name, hops, field.path, field.kind, key.bucket, key.each, field.many, is_file)


def _follow(path: Path, shape: Shape) -> tuple[tuple[Hop, ...], Shape, Path]:
    """The steps along the relations that `path` begins with, the shape that they lead to, and the path that is left."""
    hops: list[Hop] = []
    while (name := relation_name(path, shape.nested)) is not None:
        target, id_ = shape.relation(name), shape.sort_field(tuple(shape.local(name).split(".")))
        if target is None or id_ is None:
            raise _Misfit(NO_RELATION)
        if id_.many:
            raise _Misfit('A group follows no array of references; group by its ids, with "each": true')
        hops.append(Hop(id_.path, target.collection, target.match, is_declared=id_.kind is Kind.REFERENCE))
        shape, path = target, path[1:]
    return tuple(hops), shape, path


def _field(path: Path, shape: Shape) -> ShapeField:
    field = shape.sort_field(path)
    if field is None:
        raise _Misfit(describe_unknown(path, shape, ()))
    return field


def _check_bucket(key: AskedKey, field: ShapeField) -> None:
    if field.many and not key.each:
        raise _Misfit('The field is an array; its elements have buckets with "each": true')
    if isinstance(key.bucket, DateBucket) and field.kind not in {Kind.DATETIME, Kind.ANY}:
        raise _Misfit(f"The field is {field.kind.value}, and only dates have buckets of time")
    if isinstance(key.bucket, NumberBucket) and field.kind not in {*NUMBERS, Kind.ANY}:
        raise _Misfit(f"The field is {field.kind.value}, and only numbers have buckets of a step")


def _value(value: Value, shape: Shape) -> BoundValue:
    if value.function == COUNT:
        return BoundValue(value.name, COUNT)
    if relation_name(value.path, shape.nested) is not None:
        raise _Misfit("A value looks at a field of the records themselves, not along a relation")
    field = _field(value.path, shape)
    if value.function in SUMS and (field.many or field.kind not in {*NUMBERS, Kind.ANY}):
        kind = Kind.ARRAY if field.many else field.kind
        raise _Misfit(f"The field is {kind.value}, and only numbers have a {value.function}")
    is_file = _may_hold_file(field, shape) and value.function in {"min", "max"}
    return BoundValue(value.name, value.function, field.path, field.kind, field.many, is_file)


def _may_hold_file(field: ShapeField, shape: Shape) -> bool:
    """Users' files stand at the top of their data."""
    return shape.collection == USERS.collection and field.path.startswith("data.") and field.path.count(".") == 1


class _Columns:
    """The columns of a row as the shape that `having` is bound to."""

    collection = ""
    listed = related = ()
    nested = NESTED
    match = Match()
    view = None

    def __init__(self, keys: Iterable[BoundKey], values: Iterable[BoundValue]) -> None:
        self.fields: Mapping[str, ShapeField] = {
            **{key.name: ShapeField(f"_id.k{number}", _kind_of_key(key)) for number, key in enumerate(keys)},
            **{value.name: ShapeField(f"v{number}", _kind_of_value(value)) for number, value in enumerate(values)},
        }

    def names(self) -> Iterable[str]:
        return self.fields

    def field(self, path: Path) -> ShapeField | None:
        return self.fields.get(path[0]) if len(path) == 1 else None

    sort_field = field

    def relation(self, name: str) -> None:  # noqa: ARG002 - a row has none
        return None

    def local(self, name: str) -> str:
        return local_of(name)

    def relations(self) -> tuple[str, ...]:
        return ()


def _kind_of_key(key: BoundKey) -> Kind:
    match key.bucket:
        case DateBucket():
            return Kind.DATETIME
        case NumberBucket():
            return Kind.NUMBER
    return key.kind


def _kind_of_value(value: BoundValue) -> Kind:
    if value.function in SUMS:
        return Kind.NUMBER
    return value.kind if value.function in {"min", "max"} else Kind.INTEGER


def _having(having: Where, columns: _Columns) -> Tree:
    violations: list[Violation] = []
    tree = bind_where(having, columns, violations)
    if violations:
        raise Invalid(
            replace(each, msg=each.msg.replace(NO_FIELD, NO_COLUMN).replace(NO_RELATION, NO_COLUMN))
            for each in violations
        )
    return tree
