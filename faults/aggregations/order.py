"""MongoDB's order of values, in Python: which are equal, and which comes first."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cmp_to_key
from typing import Any

RANKS: Mapping[type, int] = {type(None): 1, int: 2, float: 2, str: 3, dict: 4, list: 5, bool: 8, datetime: 9}


def compare(one: Any, other: Any) -> int:
    """Negative where `one` comes first, 0 where they are equal."""
    ranks = RANKS[type(one)] - RANKS[type(other)]
    if ranks:
        return ranks
    match one:
        case None:
            return 0
        case str():
            return _sign(one.encode(), other.encode())
        case dict():
            return _compare_objects(one, other)
        case list():
            return _compare_lists(one, other)
    return _sign(one, other)


BY_VALUE = cmp_to_key(compare)


def _sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _compare_lists(one: Sequence[Any], other: Sequence[Any]) -> int:
    found = (compare(a, b) for a, b in zip(one, other, strict=False))
    return next((sign for sign in found if sign), len(one) - len(other))


def _compare_objects(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Field by field: the type, then the name, then the value."""
    for (name, a), (name_of_other, b) in zip(one.items(), other.items(), strict=False):
        types = RANKS[type(a)] - RANKS[type(b)]
        if sign := types or _sign(name.encode(), name_of_other.encode()) or compare(a, b):
            return sign
    return len(one) - len(other)
