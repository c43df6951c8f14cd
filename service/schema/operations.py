"""Operators that change single fields of a document: JSON → operations of typed values. Pure.

{"increment": {"stock": -1}, "push": {"tags": {"each": ["a", "b"]}}, "unset": ["address.street"]}

`read_operations` knows the form only; `bind_operations` what a collection declares.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from service.bounds import MAX_DEPTH, MAX_ELEMENTS, MAX_OPERATIONS
from service.errors import Location, Violation
from service.schema.documents import read_value
from service.schema.fields import ABSENT, Field, Fields
from service.schema.strict_json import shown
from service.schema.values import Kind, check_data, check_name

NUMERIC = ("increment", "multiply", "min", "max")
OF_ARRAYS = ("push", "add", "pull")
UNSET = "unset"
ORDER = (*NUMERIC, *OF_ARRAYS, UNSET)
OPERATORS = frozenset(ORDER)

EACH = "each"
# So few are compared with an array of any length that a document has room for.
FEW_ELEMENTS = 16
NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.ANY})
ARRAYS = frozenset({Kind.ARRAY, Kind.ANY})
# The field of an object that may hold any value.
ANYTHING = Field(Kind.ANY)


@dataclass(frozen=True, slots=True)
class FieldOperation:
    """One operator on one field at `path` within `data`.

    `value` is a number, the list of the elements of an array, or, of unset, what the field has afterwards, else ABSENT.
    """

    operator: str
    path: tuple[str, ...]
    value: Any = ABSENT

    @property
    def field(self) -> str:
        """The top-level field."""
        return self.path[0]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def place(self) -> Location:
        """The location of the operation in a body."""
        return ("body", self.operator, shown(self.name)[1:-1])


Operations = tuple[FieldOperation, ...]


def read_operations(sent: Mapping[str, Any], data: Iterable[str] = ()) -> tuple[Operations, list[Violation]]:
    """The operations of a body, and the faults of their form; `data` are the fields that the body sets besides.

    `sent` has objects of numbers or of any values, and for unset a list of names.
    """
    found = tuple(_read(sent))
    if len(found) > MAX_OPERATIONS:
        msg = f"At most {MAX_OPERATIONS:,} fields may be changed by operators"
        return (), [Violation(("body",), msg, "too_many")]
    violations = [violation for operation in found for violation in _problems(operation)]
    return found, violations or list(_repeated(found, data))


def _read(sent: Mapping[str, Any]) -> Iterator[FieldOperation]:
    for operator in ORDER:
        values = sent.get(operator, ())
        for name in values:
            yield FieldOperation(operator, tuple(name.split(".")), _sent_value(operator, values, name))


def _sent_value(operator: str, values: Any, name: str) -> Any:
    if operator == UNSET:
        return ABSENT
    value = values[name]
    if operator in NUMERIC:
        return value
    several = isinstance(value, dict) and value.keys() == {EACH}
    return value[EACH] if several else [value]


def _problems(operation: FieldOperation) -> Iterator[Violation]:
    problem = next(filter(None, map(check_name, operation.path)), None)
    if problem is not None:
        yield Violation(operation.place, problem, "field_name")
    elif len(operation.path) > MAX_DEPTH:
        yield Violation(operation.place, f"Objects and arrays may be nested {MAX_DEPTH} deep", "too_deep")
    elif operation.operator in NUMERIC:
        if isinstance(operation.value, bool) or not isinstance(operation.value, int | float):
            yield Violation(operation.place, "Must be a number", "float_type")
    elif operation.operator in OF_ARRAYS:
        if not isinstance(operation.value, list):
            yield Violation(operation.place, f'Must be {{"{EACH}": [...]}} with a list', "list_type")
        elif operation.operator != "push" and len(operation.value) > MAX_ELEMENTS:
            msg = f"At most {MAX_ELEMENTS} elements can be compared with those of an array"
            yield Violation(operation.place, msg, "too_long")
        else:
            yield from check_data(_nested(operation.path, operation.value), ("body", operation.operator))


def _nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    """`value`, wrapped in an object for each part of its path."""
    for name in reversed(path):
        value = {name: value}
    nested: dict[str, Any] = value
    return nested


def _repeated(operations: Operations, data: Iterable[str]) -> Iterator[Violation]:
    """The fields that are changed twice, one inside another among them. In order, one follows upon the other."""
    changes = [*operations, *(FieldOperation("data", (name,)) for name in data)]
    ordered = sorted(changes, key=lambda each: (each.path, each.operator))
    for first, second in pairwise(ordered):
        if second.path[: len(first.path)] == first.path:
            yield Violation(second.place, "A field, or one inside it, may be changed once", "repeated")


def bind_operations(operations: Operations, fields: Fields) -> tuple[Operations, list[Violation]]:
    """The operations with their values read as `fields` say, and those that fit no field."""
    bound, violations = list[FieldOperation](), list[Violation]()
    for operation in operations:
        declared, problem = _find(fields, operation.path)
        problem = problem or _mismatch(operation, declared)
        if problem is not None:
            violations.append(Violation(operation.place, *problem))
        else:
            bound.append(replace(operation, value=_bind_value(operation, declared)))
    return tuple(bound), violations


Problem = tuple[str, str] | None
UNDECLARED = "The schema declares no field of this name", "extra_forbidden"


def _find(fields: Fields, path: Sequence[str]) -> tuple[Field, Problem]:
    """The definition of the field at `path`."""
    found, *inner = path
    if found not in fields:
        return ANYTHING, UNDECLARED
    field = fields[found]
    if not inner or field.kind is Kind.ANY:
        return (ANYTHING if inner else field), None
    if field.kind is not Kind.OBJECT:
        return ANYTHING, (f"{found} holds no fields that could be named", "dict_type")
    return (ANYTHING, None) if field.properties is None else _find(field.properties, inner)


def _mismatch(operation: FieldOperation, field: Field) -> Problem:
    if operation.operator in NUMERIC and field.kind not in NUMBERS:
        return f"Not a field of numbers, which {operation.operator} takes", "float_type"
    if operation.operator in OF_ARRAYS and field.kind not in ARRAYS:
        return f"Not an array, which {operation.operator} takes", "list_type"
    return None


def _bind_value(operation: FieldOperation, field: Field) -> Any:
    if operation.operator == UNSET:
        return ABSENT if field.default is ABSENT else read_value(deepcopy(field.default), field)
    if operation.operator in NUMERIC:
        return read_value(operation.value, field)
    items = field.items
    return operation.value if items is None else [read_value(each, items) for each in operation.value]


def elements(operations: Operations) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the elements that operations put into arrays, each as `data` that holds nothing else, with its operator."""
    for operation in operations:
        if operation.operator in {"push", "add"}:
            yield operation.operator, _nested(operation.path, operation.value)
