"""MongoDB's rows → rows by the names that the client gave."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.query.aggregate.nodes import BoundAggregation, BoundKey, NumberBucket
from service.query.aggregate.partials import nothing
from service.query.matcher import matches

Row = dict[str, Any]

# Up to here a float is the whole number that it seems to be, and JSON's writer takes it.
LARGEST_EXACT = 2**53


def read_rows(found: Sequence[Mapping[str, Any]], aggregation: BoundAggregation) -> list[Row]:
    """In their order. Without a key there is one row, of nothing too, if `having` lets it be."""
    if aggregation.keys:
        return [_read_row(row, aggregation) for row in found]
    row = found[0] if found else {f"v{n}": nothing(value) for n, value in enumerate(aggregation.values)}
    return [_read_row(row, aggregation)] if matches(aggregation.having, row) else []


def _read_row(row: Mapping[str, Any], aggregation: BoundAggregation) -> Row:
    keys = {key.name: _bound(row["_id"][f"k{n}"], key) for n, key in enumerate(aggregation.keys)}
    return keys | {value.name: row[f"v{n}"] for n, value in enumerate(aggregation.values)}


def _bound(value: Any, key: BoundKey) -> Any:
    """Whole numbers have whole bounds, whether the numbers in the bucket are or not."""
    is_whole = isinstance(key.bucket, NumberBucket) and isinstance(key.bucket.step, int)
    fits = isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT
    return int(value) if is_whole and fits else value
