"""Values of BSON as JSON values of the API. Each change is counted by its field, with examples. Pure."""

import math
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from bson import Binary, DBRef, Decimal128, Int64, ObjectId, Timestamp
from bson.datetime_ms import DatetimeMS

from service.schema.inference import name_columns
from service.schema.values import GOOD_NAME, write_time

# Counts one loss: of which field, of which kind, and the value.
Lose = Callable[[str, str, str], None]
MAX_NESTING = 100
UUIDS, UUID_BYTES = {3, 4}, 16


class TimeText(str):
    """A time as text that the source kept as a time."""

    __slots__ = ()


def convert_document(document: Mapping[str, Any], lose: Lose) -> dict[str, Any]:
    """The fields of a document; names that no field may have are mended, and each value is one of JSON."""
    return {name: _convert(value, name, lose, 1) for name, value in _mend_names(document, "", lose).items()}


def _mend_names(document: Mapping[str, Any], path: str, lose: Lose) -> dict[str, Any]:
    if all(GOOD_NAME.fullmatch(name) for name in document):
        return dict(document)
    mended = dict(zip(document, name_columns(list(document)), strict=True))
    for name, ours in mended.items():
        if name != ours:
            lose(path or ours, "name", name)
    return {mended[name]: value for name, value in document.items()}


def _convert(value: Any, path: str, lose: Lose, depth: int) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Int64 | int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _lost(str(value), path, "number", lose)
    if isinstance(value, Mapping):
        if depth > MAX_NESTING:
            return _lost("{}", path, "depth", lose)
        return {name: _convert(each, path, lose, depth + 1) for name, each in _mend_names(value, path, lose).items()}
    if isinstance(value, list | tuple):
        return [_convert(each, path, lose, depth + 1) for each in value] if depth <= MAX_NESTING else []
    return _convert_bson(value, path, lose)


def _convert_bson(value: Any, path: str, lose: Lose) -> Any:
    convert = next((each for types, each in CONVERSIONS if isinstance(value, types)), None)
    if convert is not None:
        return convert(value)
    if isinstance(value, Decimal128):
        return _number(value.to_decimal(), path, lose)
    # Regular expressions, code, the least and the greatest key; and dates outside of the years 1 to 9999.
    text = str(int(value)) if isinstance(value, DatetimeMS) else str(getattr(value, "pattern", value))
    return _lost(text, path, type(value).__name__.lower(), lose)


def _time(value: datetime) -> TimeText:
    return TimeText(write_time(value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value))


def _bytes(value: bytes) -> str:
    is_uuid = isinstance(value, Binary) and value.subtype in UUIDS and len(value) == UUID_BYTES
    return str(uuid.UUID(bytes=bytes(value))) if is_uuid else b64encode(value).decode()


CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((ObjectId, uuid.UUID), str),
    (datetime, _time),
    (bytes, _bytes),
    (Timestamp, lambda value: _time(value.as_datetime())),
    (DBRef, lambda value: str(value.id)),
)


def _number(value: Decimal, path: str, lose: Lose) -> Any:
    """A number where a double has it exactly, or is its shortest form; else text."""
    if value.is_finite() and Decimal(repr(float(value))) == value:
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    return _lost(str(value), path, "decimal", lose)


def _lost(text: str, path: str, kind: str, lose: Lose) -> str:
    lose(path, kind, text)
    return text
