"""How large a document may become by changes: there is room for all that a whole new one may have.

A change is judged where it may add much, by MongoDB in the match of the write, and in memory by the same sum.
"""

from collections.abc import Mapping
from typing import Any

import bson

from service.bounds import MAX_DOCUMENT_BYTES
from service.schema.operations import NUMERIC, FieldOperation, Operations

Data = Mapping[str, Any]
Filter = dict[str, Any]

# All fields of a schema with values as small as this are less than the bound: nothing grows without end by them.
SMALL_BYTES = 4_096
# Around a name: the type, the end of the name, and the length and the end of an object that is made for it.
NAME_BYTES = 7
# Of an element's position, as a name.
POSITION_BYTES = 8


def room_for(data: Data, operations: Operations) -> Filter | None:
    """That a stored document has room for fields that are set and for what operators put in; None where that is little."""
    if not _may_grow(data, operations):
        return None
    replaced = {"$bsonSize": {name: f"$data.{name}" for name in data}}
    return {"$expr": {"$lte": [{"$subtract": [{"$bsonSize": "$data"}, replaced]}, _room(data, operations)]}}


def is_outgrown(stored: Data, data: Data, operations: Operations) -> bool:
    """Whether a document with this `data` has no such room."""
    if not _may_grow(data, operations):
        return False
    replaced = {name: stored[name] for name in data if name in stored}
    return len(bson.encode(stored)) - len(bson.encode(replaced)) > _room(data, operations)


def _may_grow(data: Data, operations: Operations) -> bool:
    return any(map(_grows, operations)) or (bool(data) and len(bson.encode(data)) > SMALL_BYTES)


def _grows(operation: FieldOperation) -> bool:
    """Whether an operation may add to what is there again and again: to an array, or fields to an object."""
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
