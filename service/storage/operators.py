"""Operations on single fields as MongoDB's update operators, and what they need of the stored record."""

import math
from collections.abc import Iterator
from typing import Any

from service.bounds import MAX_COMPARISONS
from service.errors import ServiceError
from service.schema.fields import ABSENT
from service.schema.operations import FEW_ELEMENTS, FieldOperation, Operations
from service.storage.errors import KnownErrors

Filter = dict[str, Any]

OPERATORS = {
    "increment": "$inc",
    "multiply": "$mul",
    "min": "$min",
    "max": "$max",
    "push": "$push",
    "add": "$addToSet",
    # `$pull` would take an object for a condition.
    "pull": "$pullAll",
}
# The sum of a finite number and one that is smaller is finite.
SAFE_AMOUNT = 2.0**969


class OperatorRefused(ServiceError):
    """An operator does not fit the stored value.

    Never sent to a client: the caller finds the operator and explains it.
    """


# BadValue, TypeMismatch and PathNotViable: what is no number, no array, no object; and whole numbers beyond 64 bits.
OPERATOR_ERRORS: KnownErrors = dict.fromkeys((2, 14, 28), OperatorRefused)


def write_operations(operations: Operations, operators: dict[str, Any]) -> None:
    """Adds to MongoDB's `operators` what does these."""
    for operation in operations:
        path = f"data.{operation.name}"
        if operation.operator == "unset":
            name, value = ("$unset", "") if operation.value is ABSENT else ("$set", operation.value)
        else:
            name = OPERATORS[operation.operator]
            value = {"$each": operation.value} if name in {"$push", "$addToSet"} else operation.value
        operators.setdefault(name, {})[path] = value


def match_needs(operations: Operations) -> list[Filter]:
    """Filters that refuse records on which MongoDB would silently do something else."""
    return [need for operation in operations for need in _needs(operation)]


def _needs(operation: FieldOperation) -> Iterator[Filter]:
    path = f"data.{operation.name}"
    for length in range(1, len(operation.path)):
        # Through an array, a name that is a number would be a position.
        yield {f"data.{'.'.join(operation.path[:length])}": {"$not": {"$type": "array"}}}
    if operation.operator in {"add", "pull"} and len(operation.value) > FEW_ELEMENTS:
        size = {"$cond": [{"$isArray": f"${path}"}, {"$size": f"${path}"}, 0]}
        yield {"$expr": {"$lte": [size, MAX_COMPARISONS // len(operation.value)]}}
    elif operation.operator in {"min", "max"}:
        # These compare values of any types.
        number = {"$and": [{path: {"$type": "number"}}, {path: {"$not": {"$type": "array"}}}]}
        yield {"$or": [{path: {"$exists": False}}, number]}
    elif _may_overflow(operation):
        function = "$add" if operation.operator == "increment" else "$multiply"
        result = {function: [f"${path}", float(operation.value)]}
        yield {"$expr": {"$cond": [{"$isNumber": f"${path}"}, {"$lt": [{"$abs": result}, math.inf]}, True]}}


def _may_overflow(operation: FieldOperation) -> bool:
    if operation.operator == "increment":
        return bool(abs(operation.value) >= SAFE_AMOUNT)
    return bool(operation.operator == "multiply" and abs(operation.value) > 1)
