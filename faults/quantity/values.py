"""The largest `data` of each kind, as JSON; every bound at its end and the others within theirs."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from service.bounds import MAX_DEPTH, MAX_JSON_BYTES, MAX_NAME, MAX_NAMES, MAX_VALUES

# For the names and values around the one that is made: e-mail, password, the field itself.
SPARE = 10
SPARE_BYTES = 1_000


def names() -> Any:
    return {f"n{number}": number for number in range(MAX_NAMES - SPARE)}


def long_names() -> Any:
    count = min(MAX_NAMES - SPARE, (MAX_JSON_BYTES - SPARE_BYTES) // (MAX_NAME + 6))
    return {f"{number:0{MAX_NAME}}": 1 for number in range(count)}


def numbers() -> Any:
    digits = min(18, (MAX_JSON_BYTES - SPARE_BYTES) // MAX_VALUES - 1)
    return [10 ** (digits - 1) + number for number in range(MAX_VALUES - SPARE)]


def empty_objects() -> Any:
    return [{} for _ in range(MAX_VALUES - SPARE)]


def text() -> Any:
    return "a" * (MAX_JSON_BYTES - SPARE_BYTES)


def wide_text() -> Any:
    """A character outside the basic plane takes twelve bytes in ASCII JSON, four in MongoDB."""
    return "\U0001f600" * ((MAX_JSON_BYTES - SPARE_BYTES) // 12)


def deep() -> Any:
    """As many branches as there may be values, each as deep as it may be."""
    levels = MAX_DEPTH - 3
    return [_nested(levels) for _ in range((MAX_VALUES - SPARE) // (levels + 1))]


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def deep_names() -> Any:
    """Paths that are as long as they may be, each name counted once at its place."""
    value: Any = {}
    levels = MAX_DEPTH - 3
    for level in range(levels):
        value = {f"k{level}-{number}": number for number in range(MAX_NAMES // levels - 2)} | {f"d{level}": value}
    return value


DATA: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "names": ("MAX_NAMES", names),
    "long names": ("MAX_NAME", long_names),
    "numbers": ("MAX_VALUES", numbers),
    "empty objects": ("MAX_VALUES", empty_objects),
    "text": ("MAX_JSON_BYTES", text),
    "wide text": ("MAX_JSON_BYTES", wide_text),
    "deep arrays": ("MAX_DEPTH", deep),
    "deep names": ("MAX_NAMES", deep_names),
}


def encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
