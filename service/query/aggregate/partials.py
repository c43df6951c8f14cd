"""The values of an aggregation in parts that can be added up: an average is a sum and a count.

Each value `n` has the field `an` of a group, an average `cn` as well. Different values are counted by being keys of groups
first, so that no group holds a set of them; there is one such value in a pipeline at most.
"""

from collections.abc import Sequence
from typing import Any

from service.query.aggregate.expressions import Expression, bounded, finite, mean, or_null, shown_file
from service.query.aggregate.grammar import COUNT
from service.query.aggregate.nodes import BoundValue
from service.schema.values import Kind

Stage = dict[str, Any]
Placed = Sequence[tuple[int, BoundValue]]

DISTINCT = "count_distinct"
# Values of these have no more bytes than a key or a value of a row may have.
SMALL = frozenset(
    {Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.DATETIME, Kind.REFERENCE, Kind.ID, Kind.EMAIL, Kind.FILE}
)  # fmt: skip


def sources(values: Placed, prefix: str) -> dict[str, Expression]:
    """The expression of each value's field, in a record."""
    return {f"f{n}": _source(value, prefix) for n, value in values if value.path}


def _source(value: BoundValue, prefix: str) -> Expression:
    path = f"${value.path}"
    return shown_file(path, f"$files.{value.path.removeprefix('data.')}", prefix) if value.is_file else path


def accumulate(values: Placed, found: dict[str, Expression]) -> Stage:
    """The parts, of records in which `found` are the sources."""
    return {name: part for n, value in values for name, part in _begin(n, value, found.get(f"f{n}")).items()}


def _begin(n: int, value: BoundValue, source: Expression) -> Stage:
    match value.function:
        case "count":
            return {f"a{n}": {"$sum": 1}}
        case "sum":
            return {f"a{n}": {"$sum": source}}
        case "avg":
            return {f"a{n}": {"$sum": source}, f"c{n}": {"$sum": {"$cond": [{"$isNumber": source}, 1, 0]}}}
    is_small = value.kind in SMALL and not value.many
    return {f"a{n}": {f"${value.function}": source if is_small else bounded(source)}}


def merge(values: Placed, root: str = "") -> Stage:
    """The parts of groups put together; `root` is where a group stands, with its dot."""
    functions = {f"a{n}": _MERGED.get(value.function, "$sum") for n, value in values}
    functions |= {f"c{n}": "$sum" for n, value in values if value.function == "avg"}
    return {name: {function: f"${root}{name}"} for name, function in functions.items()}


_MERGED = {"min": "$min", "max": "$max"}


def count_present(field: str) -> Stage:
    """Counts the groups in which there is something else than null."""
    return {"$sum": {"$cond": [{"$gt": [field, None]}, 1, 0]}}


def finish(values: Sequence[BoundValue]) -> Stage:
    """The values, of their parts."""
    return {f"v{n}": _end(n, value) for n, value in enumerate(values)}


def _end(n: int, value: BoundValue) -> Expression:
    part = f"$a{n}"
    match value.function:
        case "count" | "count_distinct":
            return {"$ifNull": [part, 0]}
        case "sum":
            return finite({"$ifNull": [part, 0]})
        case "avg":
            return mean(part, f"$c{n}")
    return or_null(part)


def nothing(value: BoundValue) -> int | None:
    """The value of no records."""
    return 0 if value.function in {COUNT, DISTINCT, "sum"} else None
