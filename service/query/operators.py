"""The filter operators: for each, how its value is read from text and from JSON, and the condition that it makes of it.

A text is read in every way that it can mean in a field of its kind; a value of JSON is what it is.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.bounds import MAX_CONTAINS, MAX_HASALL, MAX_IN
from service.query import operands
from service.query.tree import Leaf, Tree, all_of
from service.schema.values import BadValue, Kind, bound, readings

# A MongoDB path, the kind of its values, and the value of a condition on it. Raises BadValue.
Reader = Callable[[str, Kind, Any], Tree]

SEARCHED = operands.TEXTUAL | {Kind.ANY}
# MongoDB compares the text of these operators at every position of a value: in the worst case text times value.
UNANCHORED = frozenset({"contains", "icontains"})


@dataclass(frozen=True, slots=True)
class QueryOperator:
    """The readers of an operator's value: from a text, and from a value of JSON."""

    from_text: Reader
    from_json: Reader


def _in_readings(operator: str, path: str, kind: Kind, text: str) -> Tree:
    return Leaf(path, operator, readings(text, kind))


def _typed(operator: str, path: str, kind: Kind, value: Any) -> Tree:
    return Leaf(path, operator, operands.typed(value, kind))


def _bound(operator: str, path: str, kind: Kind, text: str) -> Tree:
    return Leaf(path, operator, bound(text, kind))


def _ordered(operator: str, path: str, kind: Kind, value: Any) -> Tree:
    return Leaf(path, operator, operands.ordered(value, kind))


def _search(operator: str, path: str, kind: Kind, text: Any) -> Tree:
    if kind not in SEARCHED:
        raise BadValue(f"is {kind.value}, and only text can contain text")
    if not isinstance(text, str) or not text:
        raise BadValue("must be text of at least one character")
    if len(text) > MAX_CONTAINS:
        raise BadValue(f"must have at most {MAX_CONTAINS} characters")
    if "\0" in text:
        raise BadValue("must not have a NUL character")
    return Leaf(path, operator, text.lower() if kind is Kind.EMAIL else text)


def _one_of_texts(path: str, kind: Kind, text: str) -> Tree:
    return Leaf(path, "in", tuple(value for part in _split(text, MAX_IN) for value in readings(part, kind)))


def _one_of(path: str, kind: Kind, values: Any) -> Tree:
    return Leaf(path, "in", tuple(operands.typed(each, kind) for each in _list(values, MAX_IN)))


def _all_texts(path: str, kind: Kind, text: str) -> Tree:
    return all_of(Leaf(path, "in", readings(part, kind)) for part in _split(text, MAX_HASALL))


def _all(path: str, kind: Kind, values: Any) -> Tree:
    return Leaf(path, "hasall", tuple(operands.typed(each, kind) for each in _list(values, MAX_HASALL)))


def _list(values: Any, most: int) -> Sequence[Any]:
    if not isinstance(values, list) or len(values) > most:
        raise BadValue(f"must be a list of at most {most} values")
    return values


def _split(text: str, most: int) -> list[str]:
    parts = split_list(text)
    if len(parts) > most:
        raise BadValue(f"must have at most {most} values")
    return parts


def split_list(text: str) -> list[str]:
    """`a,"b,c"` → ["a", "b,c"], by the rules of RFC 4180. Raises BadValue."""
    try:
        (parts,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        raise BadValue('must be a comma-separated list; put a value with a comma in "quotes"') from None
    if not all(parts):
        raise BadValue("must not have an empty value between commas")
    return parts


def _is_null_by_text(path: str, _kind: Kind, text: str) -> Tree:
    (wanted,) = readings(text, Kind.BOOLEAN)
    return Leaf(path, "isnull", wanted)


def _is_null(path: str, _kind: Kind, value: Any) -> Tree:
    return Leaf(path, "isnull", operands.typed(value, Kind.BOOLEAN))


def _comparison(operator: str) -> QueryOperator:
    return QueryOperator(partial(_bound, operator), partial(_ordered, operator))


def _of_text(operator: str) -> QueryOperator:
    search = partial(_search, operator)
    return QueryOperator(search, search)


OPERATORS: Mapping[str, QueryOperator] = {
    "eq": QueryOperator(partial(_in_readings, "in"), partial(_typed, "eq")),
    "ne": QueryOperator(partial(_in_readings, "nin"), partial(_typed, "ne")),
    "gt": _comparison("gt"),
    "gte": _comparison("gte"),
    "lt": _comparison("lt"),
    "lte": _comparison("lte"),
    "contains": _of_text("contains"),
    "icontains": _of_text("icontains"),
    "startswith": _of_text("startswith"),
    "in": QueryOperator(_one_of_texts, _one_of),
    "hasall": QueryOperator(_all_texts, _all),
    "isnull": QueryOperator(_is_null_by_text, _is_null),
}
