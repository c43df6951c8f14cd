"""The ten filter operators, each a function from a MongoDB path, the kind of its values and a text to a filter."""

import csv
import re
from collections.abc import Callable, Mapping
from typing import Any

from service.bounds import MAX_CONTAINS, MAX_IN
from service.schema.values import BadValue, Kind, bound, readings

Filter = dict[str, Any]
Operator = Callable[[str, Kind, str], Filter]

TEXTUAL = frozenset({Kind.ANY, Kind.STRING, Kind.ID, Kind.EMAIL, Kind.REFERENCE})


def _equal(path: str, kind: Kind, text: str) -> Filter:
    return {path: {"$in": list(readings(text, kind))}}


def _not_equal(path: str, kind: Kind, text: str) -> Filter:
    return {path: {"$nin": list(readings(text, kind))}}


def _one_of(path: str, kind: Kind, text: str) -> Filter:
    texts = _split(text)
    if len(texts) > MAX_IN:
        raise BadValue(f"must have at most {MAX_IN} values")
    return {path: {"$in": [value for part in texts for value in readings(part, kind)]}}


def _split(text: str) -> list[str]:
    """`a,"b,c"` → ["a", "b,c"], by the rules of RFC 4180."""
    try:
        (parts,) = csv.reader([text], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        raise BadValue('must be a comma-separated list; put a value with a comma in "quotes"') from None
    if not all(parts):
        raise BadValue("must not have an empty value between commas")
    return parts


def _comparison(operator: str) -> Operator:
    return lambda path, kind, text: {path: {operator: bound(text, kind)}}


def _contains(path: str, kind: Kind, text: str, *, options: str = "") -> Filter:
    if kind not in TEXTUAL:
        raise BadValue(f"is {kind.value}, and only text can contain text")
    if len(text) > MAX_CONTAINS:
        raise BadValue(f"must have at most {MAX_CONTAINS} characters")
    if "\0" in text:
        raise BadValue("must not have a NUL character")
    (value,) = readings(text, Kind.EMAIL if kind is Kind.EMAIL else Kind.STRING)
    return {path: {"$regex": escape(value), "$options": options}}


def escape(text: str) -> str:
    """`text` as a pattern that matches just itself (PCRE gives no letter or digit a meaning without a backslash)."""
    return re.sub(r"([\\^$.|?*+()\[\]{}#\-/\s])", r"\\\1", text)


def _contains_in_any_case(path: str, kind: Kind, text: str) -> Filter:
    return _contains(path, kind, text, options="i")


def _is_null(path: str, _kind: Kind, text: str) -> Filter:
    """MongoDB's `null` also matches an array that holds a null; a field with an array in it is not null."""
    (wanted,) = readings(text, Kind.BOOLEAN)
    null = {"$eq": None, "$not": {"$type": "array"}}
    return {path: null if wanted else {"$not": null}}


OPERATORS: Mapping[str, Operator] = {
    "eq": _equal,
    "ne": _not_equal,
    "gt": _comparison("$gt"),
    "gte": _comparison("$gte"),
    "lt": _comparison("$lt"),
    "lte": _comparison("$lte"),
    "contains": _contains,
    "icontains": _contains_in_any_case,
    "in": _one_of,
    "isnull": _is_null,
}
