"""The differences between a stored record and a wanted one. Pure."""

from collections.abc import Mapping
from typing import Any


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `after` that `before` lacks or has otherwise."""
    return {name: value for name, value in after.items() if name not in before or not is_same(before[name], value)}


def is_same(one: Any, other: Any) -> bool:
    """True if two values are equal and of one type, at every depth: for Python, `1`, `1.0` and `True` are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other) and _kind(one) is _kind(other)


def _kind(value: Any) -> type:
    """The driver reads integers of 64 bits as a type of its own."""
    return int if isinstance(value, int) and not isinstance(value, bool) else type(value)
