"""BoundDistinct → the command for the values of a field, in MongoDB's order: one row `{_id: value}` for each."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from service.bounds import MAX_DISTINCT
from service.query.bind import BoundDistinct
from service.query.matching import Stage, matching
from service.query.shapes import ShapeField
from service.query.tree import Filter
from service.schema.values import Kind

# A lower bound of every value of a kind, so that MongoDB reads just those of an index.
LEAST: Mapping[Kind, Any] = {
    **dict.fromkeys((Kind.STRING, Kind.ID, Kind.EMAIL, Kind.REFERENCE, Kind.FILE), ""),
    **dict.fromkeys((Kind.INTEGER, Kind.NUMBER), -math.inf),
    Kind.BOOLEAN: False,
    Kind.DATETIME: datetime.min,  # noqa: DTZ901 - as it is stored
}
# The scalars that JSON has a form for. MongoDB looks for a type in an array's elements, too.
SCALAR: Filter = {
    "$type": ["string", "int", "long", "double", "bool", "date"],
    "$not": {"$type": "array"},
    "$nin": [math.nan, math.inf, -math.inf],
}


def distinct(query: BoundDistinct) -> dict[str, Any]:
    """One value more than is shown tells that there are more. Nothing is written to a disk for it."""
    bounds, values = _values(query.field)
    stages = [
        *bounds,
        *matching(query.match),
        *values,
        {"$sort": {"_id": 1}},
        {"$limit": MAX_DISTINCT + 1},
    ]
    batch = {"batchSize": MAX_DISTINCT + 2}
    return {"aggregate": query.collection, "pipeline": stages, "cursor": batch, "allowDiskUse": False}


def _values(field: ShapeField) -> tuple[list[Stage], list[Stage]]:
    """The stages that filter the records, and those that make a row of each distinct value.

    An array gives each of its elements.
    """
    path = f"${field.path}"
    if field.single:
        return [{"$match": {field.path: {"$gte": LEAST[field.kind]}}}], [{"$group": {"_id": path}}]
    return [], [
        {"$project": {"_id": 0, "value": path}},
        {"$unwind": "$value"},
        {"$match": {"value": SCALAR}},
        {"$group": {"_id": "$value"}},
    ]
