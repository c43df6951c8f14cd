"""The filter of what comes after a record, by the keys that are sorted by. Pure.

MongoDB orders values by type first. A comparison looks at one type only, and at each element of an array, while an
array is sorted by its least element, descending by its greatest. So the records after the value have no element at or
before it, of any type.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service.query.cursor import unreadable
from service.query.shapes import ShapeField
from service.query.tree import Filter
from service.schema.values import Kind


@dataclass(frozen=True, slots=True)
class SortPart:
    """One field that is sorted by."""

    field: ShapeField
    descending: bool


def check_values(keys: Sequence[SortPart], values: Sequence[Any]) -> None:
    """Raises Invalid if a value has a type the field cannot hold: the cursor is forged."""
    if len(values) != len(keys):
        raise unreadable()
    for key, value in zip(keys, values, strict=True):
        if key.field.single and not _fits(key.field, value):
            raise unreadable()


def _fits(field: ShapeField, value: Any) -> bool:
    if value is None:
        return field.path.startswith("data.")
    return type(value) in VALUES[field.kind]


NUMBER, TEXT = (int, float), (str,)
VALUES: Mapping[Kind, tuple[type, ...]] = {
    **dict.fromkeys((Kind.STRING, Kind.ID, Kind.EMAIL, Kind.REFERENCE, Kind.FILE), TEXT),
    **dict.fromkeys((Kind.INTEGER, Kind.NUMBER), NUMBER),
    Kind.BOOLEAN: (bool,),
    Kind.DATETIME: (datetime,),
}


def find_after(keys: Sequence[SortPart], values: Sequence[Any]) -> Filter:
    """The filter of the records after those with `values`, by the sort keys: further by one key, and equal by those
    before it.
    """
    further = []
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        equal = [_equal(*each) for each in zip(keys[:number], values[:number], strict=True)]
        after = _after(key, value)
        if after is not None:
            further.append({"$and": [*equal, after]} if equal else after)
    found: Filter = {"$or": further} if len(further) > 1 else further[0]
    first = _at_or_after(keys[0], values[0])
    return found if first is None else {"$and": [first, found]}


def _at_or_after(key: SortPart, value: Any) -> Filter | None:
    """A condition on the first sort key that the filter implies, so that MongoDB reads its index from there on; None if
    there is none.
    """
    if not key.field.single or value is None or (key.descending and key.field.path.startswith("data.")):
        return None
    return {key.field.path: {"$lte" if key.descending else "$gte": value}}


def _equal(key: SortPart, value: Any) -> Filter:
    path = key.field.path
    if key.field.single:
        return {path: {"$eq": value}}
    has_it = {"$or": _nulls(path)} if value is None else {path: {"$eq": value}}
    return {"$and": [has_it, {"$nor": _further(path, value, descending=not key.descending)}]}


def _after(key: SortPart, value: Any) -> Filter | None:
    """None where nothing can come after."""
    path, descending = key.field.path, key.descending
    if not key.field.single:
        same = _nulls(path) if value is None else [{path: {"$gte" if descending else "$lte": value}}]
        return {"$nor": [*_of_types_further(path, value, descending=not descending), *same]}
    if value is None:
        return None if descending else {path: {"$ne": None}}
    if not descending:
        return {path: {"$gt": value}}
    return {"$or": [{path: {"$lt": value}}, {path: None}]} if path.startswith("data.") else {path: {"$lt": value}}


def _further(path: str, value: Any, *, descending: bool) -> list[Filter]:
    """Conditions, one of which holds if an element comes after `value`, in this direction."""
    same = [] if value is None else [{path: {"$lt" if descending else "$gt": value}}]
    return [*_of_types_further(path, value, descending=descending), *same]


def _of_types_further(path: str, value: Any, *, descending: bool) -> list[Filter]:
    """Conditions, one of which holds if an element is of a type after that of `value`, in this direction."""
    place = -1 if value is None else TYPES.index(_type_of(value))
    if not descending:
        return _any_of_types(path, TYPES[place + 1 :])
    # An empty array is before everything, null before all but that, and NaN before every number.
    empty: list[Filter] = [{path: {"$size": 0}}]
    if value is None:
        return empty
    nan: list[Filter] = [{path: math.nan}] if TYPES[place] == "number" else []
    return [*_nulls(path), *empty, *_any_of_types(path, TYPES[:place]), *nan]


def _any_of_types(path: str, types: Sequence[str]) -> list[Filter]:
    """Conditions for values of these types.

    MongoDB sorts an array by its elements, so only an array inside an array has its type.
    """
    named = [name for name in types if name != "array"]
    inner: list[Filter] = [{path: {"$elemMatch": {"$type": "array"}}}] if "array" in types else []
    return [{path: {"$type": named}}, *inner] if named else inner


def _nulls(path: str) -> list[Filter]:
    """Conditions, one of which holds if a record, or an element on the way to `path`, has no value or null there."""
    parts = path.split(".")
    prefixes = [".".join(parts[:length]) for length in range(2, len(parts))]
    on_the_way: list[Filter] = []
    for prefix in prefixes:
        on_the_way += [{prefix: {"$elemMatch": {"$not": {"$type": "object"}}}}, {prefix: {"$size": 0}}]
    return [{path: None}, *on_the_way]


# The types behind null, in MongoDB's order.
TYPES = (
    "number", "string", "object", "array", "binData", "objectId", "bool", "date", "timestamp", "regex", "dbPointer",
    "javascript", "javascriptWithScope", "maxKey",
)  # fmt: skip


def _type_of(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case datetime():
            return "date"
    return "object"
