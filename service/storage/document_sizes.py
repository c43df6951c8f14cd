"""The size that a document may reach by changes: there is room for all that a whole new one may have.

A change is judged if it may add much, by MongoDB in the match of the write, and in memory by the same sum.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import bson

from service.bounds import MAX_DOCUMENT_BYTES, MAX_HIDDEN_BYTES
from service.schema.operations import NUMERIC, FieldOperation, Operations

Data = Mapping[str, Any]
Filter = dict[str, Any]

# All fields of a schema with values as small as this are less than the bound: nothing grows without end by them.
SMALL_BYTES = 4_096
# Around a name: the type, the end of the name, and the length and the end of an object that is made for it.
NAME_BYTES = 7
# Bytes of an object without fields.
EMPTY_BYTES = 5
NO_FIELDS: frozenset[str] = frozenset()
# Bytes of an element's position, as a name.
POSITION_BYTES = 8


def room_for(data: Data, operations: Operations, hidden: frozenset[str] = NO_FIELDS) -> Filter | None:
    """The condition that a stored document has room for set fields and for the values of operators; None if they are
    small.

    Unwritten fields that may be `hidden` from the writer are not counted: a refusal would reveal their length. A
    reserve is kept for them beside the visible fields.
    """
    if not _may_grow(data, operations):
        return None
    room, unseen = _room(data, operations), _unseen(data, operations, hidden)
    seen: Filter = {"$lte": [_size_without((*data, *unseen)), room]}
    if not unseen:
        return {"$expr": seen}
    return {"$expr": {"$and": [seen, {"$lte": [_size_without(data), room + MAX_HIDDEN_BYTES]}]}}


def is_outgrown(stored: Data, data: Data, operations: Operations, hidden: frozenset[str] = NO_FIELDS) -> bool:
    """True if a document with this `data` has no such room."""
    if not _may_grow(data, operations):
        return False
    room, unseen = _room(data, operations), _unseen(data, operations, hidden)
    rest = {name: value for name, value in stored.items() if name not in data}
    seen = {name: value for name, value in rest.items() if name not in unseen}
    return len(bson.encode(seen)) > room or (bool(unseen) and len(bson.encode(rest)) > room + MAX_HIDDEN_BYTES)


def _unseen(data: Data, operations: Operations, hidden: frozenset[str]) -> frozenset[str]:
    """Operators are allowed only on fields that the writer sees, so a field that is written tells nothing."""
    return hidden - data.keys() - {operation.field for operation in operations}


def _size_without(names: Iterable[str]) -> Filter:
    left_out = {"$bsonSize": {name: f"$data.{name}" for name in names}}
    # An empty object has five bytes of its own.
    return {"$add": [{"$subtract": [{"$bsonSize": "$data"}, left_out]}, EMPTY_BYTES]}


def _may_grow(data: Data, operations: Operations) -> bool:
    return any(map(_grows, operations)) or (bool(data) and len(bson.encode(data)) > SMALL_BYTES)


def _grows(operation: FieldOperation) -> bool:
    """True if an operation may add to a stored value again and again: to an array, or fields to an object."""
    return operation.operator in {"push", "add"} or (operation.operator in NUMERIC and len(operation.path) > 1)


def _room(data: Data, operations: Operations) -> int:
    return MAX_DOCUMENT_BYTES - len(bson.encode(data)) - sum(map(_growth, operations))


def _growth(operation: FieldOperation) -> int:
    """The most bytes that an operation can add."""
    if not _grows(operation):
        return 0
    names = sum(len(name.encode()) + NAME_BYTES for name in operation.path)
    value = operation.value
    positions = POSITION_BYTES * len(value) if isinstance(value, list) else 0
    return names + positions + len(bson.encode({"": value}))
