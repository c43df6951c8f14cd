"""Operations in memory: the `data` that MongoDB would make of a stored one, and its refusals. Pure.

`tests/query/test_images.py` compares the two on random data and operations.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from service.bounds import MAX_COMPARISONS
from service.errors import Violation
from service.schema.fields import ABSENT
from service.schema.operations import FEW_ELEMENTS, FieldOperation, Operations
from service.schema.steps import Steps
from service.schema.strict_json import INT64_MAX, INT64_MIN

Data = Mapping[str, Any]
Number = int | float
# The elements that are compared in one step: about a millisecond.
STEP_ELEMENTS = 2_000


class _Refused(ValueError):
    """The reason why an operation does not fit the stored value: a sentence, and the type of the violation."""

    def __init__(self, msg: str, type_: str) -> None:
        super().__init__(msg)
        self.type = type_


def apply_operations(data: Data, operations: Operations) -> Steps[tuple[dict[str, Any], list[Violation]]]:
    """`data` afterwards, and the operations that do not fit it. The argument itself is not changed."""
    image, violations = dict(data), list[Violation]()
    for operation in operations:
        yield
        try:
            image[operation.field] = yield from _changed(
                image.get(operation.field, ABSENT), operation.path[1:], operation
            )
        except _Refused as refused:
            violations.append(Violation(operation.place, str(refused), refused.type))
        if image.get(operation.field) is ABSENT:
            del image[operation.field]
    return image, violations


def _changed(value: Any, path: tuple[str, ...], operation: FieldOperation) -> Steps[Any]:
    """Applies the operation at `path` inside a field with this `value`, and returns the field's new value."""
    if not path:
        if operation.operator in COMPARISONS:
            return (yield from COMPARISONS[operation.operator](value, operation.value))
        return CHANGES[operation.operator](value, operation.value)
    if isinstance(value, list):
        raise _Refused("The path leads through an array, whose elements have no names", "dict_type")
    if not isinstance(value, dict):
        return (yield from _made(value, path, operation))
    inner = yield from _changed(value.get(path[0], ABSENT), path[1:], operation)
    if inner is ABSENT:
        return {name: each for name, each in value.items() if name != path[0]}
    return {**value, path[0]: inner}


def _made(value: Any, path: tuple[str, ...], operation: FieldOperation) -> Steps[Any]:
    """Objects on the way are made where there is nothing, if there is something to put in."""
    if operation.operator == "unset" and operation.value is ABSENT:
        return value
    if value is not ABSENT:
        raise _Refused("The path leads through a stored value that is no object", "dict_type")
    inner = yield from _changed(ABSENT, path[1:], operation)
    return ABSENT if inner is ABSENT else {path[0]: inner}


def _number(value: Any) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Refused("The stored value is no number", "float_type")
    return value


def _finite(result: Number) -> Number:
    """Whole numbers stay within 64 bits, and others are finite."""
    fits = INT64_MIN <= result <= INT64_MAX if isinstance(result, int) else math.isfinite(result)
    if not fits:
        raise _Refused("The result is larger than a number can be", "finite_number")
    return result


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Refused("The stored value is no array", "list_type")
    return value


def _comparable(value: Any, new: list[Any]) -> list[Any]:
    found = _array(value)
    if len(new) > FEW_ELEMENTS and len(found) > MAX_COMPARISONS // len(new):
        raise _Refused("The array is too long to compare so many elements with; send fewer of them", "too_long")
    return found


def _increment(value: Any, amount: Number) -> Any:
    return amount if value is ABSENT else _finite(_number(value) + amount)


def _multiply(value: Any, factor: Number) -> Any:
    return 0 * factor if value is ABSENT else _finite(_number(value) * factor)


def _push(value: Any, new: list[Any]) -> Any:
    return [*([] if value is ABSENT else _array(value)), *new]


def _add(value: Any, new: list[Any]) -> Steps[Any]:
    found = [] if value is ABSENT else _comparable(value, new)
    added: dict[Hashable, Any] = {}
    for each in new:
        added.setdefault(_key(each), each)
    present = set[Hashable]()
    for piece in _pieces(found):
        yield
        present |= added.keys() & set(map(_key, piece))
    return [*found, *(each for key, each in added.items() if key not in present)]


def _pull(value: Any, unwanted: list[Any]) -> Steps[Any]:
    if value is ABSENT:
        return ABSENT
    keys, kept = set(map(_key, unwanted)), list[Any]()
    for piece in _pieces(_comparable(value, unwanted)):
        yield
        kept += [each for each in piece if _key(each) not in keys]
    return kept


def _pieces(values: list[Any]) -> Iterator[list[Any]]:
    """An array of up to 200,000 elements, as many at once as are compared in one step."""
    return (values[start : start + STEP_ELEMENTS] for start in range(0, len(values), STEP_ELEMENTS))


def _key(value: Any) -> Hashable:
    """Equal for values that MongoDB takes for the same: 1 and 1.0, not true and 1; objects in the same order."""
    match value:
        case list():
            return "array", tuple(map(_key, value))
        case dict():
            return "object", tuple((name, _key(each)) for name, each in value.items())
        case bool():
            return "boolean", value
        case int() | float():
            return "number", value
    return type(value).__name__, value


CHANGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "increment": _increment,
    "multiply": _multiply,
    "min": lambda value, bound: bound if value is ABSENT or bound < _number(value) else value,
    "max": lambda value, bound: bound if value is ABSENT or bound > _number(value) else value,
    "push": _push,
    "unset": lambda _value, default: default,
}
# Operators that compare an array's elements, in steps.
COMPARISONS: Mapping[str, Callable[[Any, list[Any]], Steps[Any]]] = {"add": _add, "pull": _pull}
