"""A document's `data` on its way into the database: JSON values as BSON keeps them, defaults filled in.

Nothing is judged here. A value that cannot be read as its field's type stays as it is, and the validator refuses it.
"""

from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from service.bounds import MAX_FILLED_BYTES
from service.errors import Invalid, Location, Violation
from service.schema.fields import ABSENT, Field, Fields
from service.schema.file_urls import named_file
from service.schema.strict_json import INT64_MAX, INT64_MIN
from service.schema.values import BadValue, Kind, read_time, write_time

DATA: Location = ("body", "data")
TOO_MUCH = (
    f"The defaults of absent fields would add more than {MAX_FILLED_BYTES:,} bytes; send these fields, or fewer objects"
)


class DefaultsRoom:
    """The bytes that defaults may still add to one document: each object of an array may lack fields with large ones."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = int(MAX_FILLED_BYTES)

    def take(self, size: int) -> None:
        """Raises Invalid where nothing is left."""
        self._left -= size
        if self._left < 0:
            raise Invalid.one(DATA, TOO_MUCH, type_="too_long")


def complete(data: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """`data` as it is stored: read like `read`, and the defaults of absent fields filled in at every depth.

    The order of `data` is kept; filled fields follow in the order of their declaration. Raises Invalid where the defaults
    would add too much.
    """
    return _complete(data, fields, fields, DefaultsRoom())


def try_complete(data: Mapping[str, Any], fields: Fields) -> tuple[dict[str, Any], list[Violation]]:
    """As `complete`, but returns None and the violations in place of raising."""
    try:
        return complete(data, fields), []
    except Invalid as error:
        return {}, error.violations


def _complete(data: Mapping[str, Any], fields: Fields, defaulted: Fields, room: DefaultsRoom) -> dict[str, Any]:
    result = _read(data, fields, room)
    for name, field in defaulted.items():
        if field.default is not ABSENT and name not in result:
            room.take(field.default_size)
            result[name] = _read_value(deepcopy(field.default), field, room)
    return result


def read(data: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """`data` with texts of datetime fields as datetimes, whole numbers of integer fields as integers, URLs of files as names.

    Top-level fields that are absent stay absent, as in a change of a few fields; objects further in are completed. Raises
    Invalid as `complete`.
    """
    return _read(data, fields, DefaultsRoom())


def read_value(value: Any, field: Field) -> Any:
    """One value of `field`, read as `read` does."""
    return _read_value(value, field, DefaultsRoom())


def _read(data: Mapping[str, Any], fields: Fields, room: DefaultsRoom) -> dict[str, Any]:
    result = dict(data)
    for name, value in data.items():
        field = fields.get(name)
        if field is not None and field.works:
            result[name] = _read_value(value, field, room)
    return result


def _read_value(value: Any, field: Field, room: DefaultsRoom) -> Any:
    match value:
        case dict() if field.properties is not None:
            return _complete(value, field.properties, field.defaulted or {}, room)
        case list() if field.items is not None and field.items.works:
            return [_read_value(each, field.items, room) for each in value]
        case str() if field.kind is Kind.DATETIME:
            return _time(value)
        case str() if field.kind is Kind.TIME_TEXT:
            return write_time(time) if isinstance(time := _time(value), datetime) else value
        case str() if field.kind is Kind.FILE:
            return named_file(value) or value
        case float() if field.kind is Kind.INTEGER:
            return _whole(value)
    return value


def _time(text: str) -> Any:
    try:
        return read_time(text)
    except BadValue:
        return text


def _whole(number: float) -> int | float:
    """JSON has one kind of number: 3.0 is the integer 3. A number with a fraction, or outside 64 bits, stays."""
    return int(number) if number.is_integer() and INT64_MIN <= number <= INT64_MAX else number
