"""The same trees judged in memory: what MongoDB would say of a record, without asking it.

`tests/query/test_matcher.py` compares the two on random records and conditions.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from service.query.tree import All, AnyOf, Leaf, Node, Tree, all_of, any_of

Record = Mapping[str, Any]


class _Absent:
    """What stands where a record has no such field."""


ABSENT: Final = _Absent()
# Up to this many values, to look each up in a tuple is faster than to make a set of that.
FEW = 16
# Booleans first, for they are whole numbers in Python.
BRACKETS: Mapping[type, str | None] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    datetime: "time",
    type(None): None,
    dict: None,
    list: None,
    _Absent: None,
}


def matches(tree: Tree, record: Record) -> bool:
    """Whether `record`, as it is stored, satisfies `tree`, which has no relations."""
    match tree:
        case bool():
            return tree
        case All(parts):
            return all(matches(part, record) for part in parts)
        case AnyOf(parts):
            return any(matches(part, record) for part in parts)
        case Leaf():
            return holds(tree, record)
    raise TypeError("a relation cannot be judged by the record alone")


def holds(leaf: Leaf, record: Record) -> bool:
    return OPERATORS[leaf.operator](values_found(record, leaf.path.split(".")), leaf.value) is not leaf.negated


def values_found(record: Record, path: list[str]) -> list[Any]:
    """What stands at `path`, which several elements of an array on the way may have; ABSENT where nothing does."""
    return list(_values(record, path))


def decide(tree: Tree, judge: Callable[[Node], Tree]) -> Tree:
    """`tree` with each leaf replaced by what `judge` makes of it."""
    match tree:
        case bool():
            return tree
        case All(parts):
            return all_of(decide(part, judge) for part in parts)
        case AnyOf(parts):
            return any_of(decide(part, judge) for part in parts)
    return judge(tree)


def values_at(record: Record, path: str) -> Iterator[Any]:
    """What a condition on `path` looks at: the values there, and the elements of those that are arrays."""
    return _each(list(_values(record, path.split("."))))


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    """What stands at the end of `path`. An array on the way is looked through, as MongoDB does, one level of it."""
    if not path:
        yield value
    elif isinstance(value, Mapping):
        yield from _values(value[path[0]], path[1:]) if path[0] in value else (ABSENT,)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                yield from _values(each, path)
    else:
        yield ABSENT


def _bracket(value: Any) -> str | None:
    """Which values compare with one another: numbers of all types are one kind, booleans another."""
    kind = type(value)
    return BRACKETS[kind] if kind in BRACKETS else _bracket_of_subclass(value)


def _bracket_of_subclass(value: Any) -> str | None:
    return next((bracket for kind, bracket in BRACKETS.items() if bracket and isinstance(value, kind)), None)


def _each(found: list[Any]) -> Iterator[Any]:
    """The values, and the elements of those that are arrays."""
    for value in found:
        yield value
        if isinstance(value, list):
            yield from value


def _equal(found: list[Any], wanted: Any) -> bool:
    return _one_of(found, (wanted,))


def _same(found: list[Any], wanted: Any) -> bool:
    return any(_is_same(value, wanted) for value in found)


def _is_same(value: Any, other: Any) -> bool:
    """As MongoDB sees it: objects are equal whose fields are, in the same order."""
    match value, other:
        case None, None:
            return True
        case [*own], [*others]:
            return len(own) == len(others) and all(map(_is_same, own, others))
        case dict(), dict():
            return list(value) == list(other) and all(map(_is_same, value.values(), other.values()))
    return _is_equal(value, other)


def _is_equal(value: Any, other: Any) -> bool:
    bracket = _bracket(value)
    return bracket is not None and bracket == _bracket(other) and bool(value == other)


def _one_of(found: list[Any], wanted: tuple[Any, ...]) -> bool:
    """MongoDB's equality with one of `wanted`; each value is looked at once, however many are wanted."""
    values = list(_each(found))
    if len(values) <= FEW:
        return any(value in wanted and any(_is_equal(value, each) for each in wanted) for value in values)
    keys = {(bracket, value) for value in wanted if (bracket := _bracket(value)) is not None}
    return any((bracket, value) in keys for value in values if (bracket := _bracket(value)) is not None)


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[list[Any], Any], bool]:
    def compared(found: list[Any], bound: Any) -> bool:
        kind = _bracket(bound)
        return any(_bracket(value) == kind and compare(value, bound) for value in _each(found))

    return compared


def _is_null(found: list[Any], wanted: bool) -> bool:
    null = any(value is None or value is ABSENT for value in found) and not any(isinstance(v, list) for v in found)
    return null is wanted


def _contains(found: list[Any], text: str) -> bool:
    return any(isinstance(value, str) and text in value for value in _each(found))


def _contains_in_any_case(found: list[Any], text: str) -> bool:
    search = re.compile(re.escape(text), re.IGNORECASE).search
    return any(isinstance(value, str) and search(value) is not None for value in _each(found))


def _starts_with(found: list[Any], text: str) -> bool:
    return any(isinstance(value, str) and value.startswith(text) for value in _each(found))


OPERATORS: Mapping[str, Callable[[list[Any], Any], bool]] = {
    "eq": _equal,
    "same": _same,
    "ne": lambda found, value: not _equal(found, value),
    "gt": _comparison(lambda value, bound: value > bound),
    "gte": _comparison(lambda value, bound: value >= bound),
    "lt": _comparison(lambda value, bound: value < bound),
    "lte": _comparison(lambda value, bound: value <= bound),
    "in": _one_of,
    "nin": lambda found, values: not _one_of(found, values),
    "hasall": lambda found, values: bool(values) and all(_equal(found, value) for value in values),
    "contains": _contains,
    "icontains": _contains_in_any_case,
    "startswith": _starts_with,
    "isnull": _is_null,
}
