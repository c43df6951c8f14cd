"""A document's `data` on its way into the database: JSON values as BSON keeps them, defaults filled in.

Nothing is judged here. What cannot be read as its field's type stays as it is, and the validator refuses it.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from service.schema.fields import ABSENT, Field, Fields
from service.schema.file_urls import named_file
from service.schema.strict_json import INT64_MAX, INT64_MIN
from service.schema.values import BadValue, Kind, read_time


def complete(data: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """`data` as it is stored: read like `read`, and the defaults of absent fields filled in at every depth.

    The order of `data` is kept; filled fields follow in the order of their declaration.
    """
    result = read(data, fields)
    for name, field in fields.items():
        if field.default is not ABSENT and name not in result:
            result[name] = read_value(deepcopy(field.default), field)
    return result


def read(data: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """`data` with texts of datetime fields as datetimes, whole numbers of integer fields as integers, URLs of files as names.

    Top-level fields that are absent stay absent, as in a change of a few fields; objects further in are completed.
    """
    result = dict(data)
    for name, value in data.items():
        field = fields.get(name)
        if field is not None and field.works:
            result[name] = read_value(value, field)
    return result


def read_value(value: Any, field: Field) -> Any:
    """One value of `field`, read as `read` does."""
    match value:
        case dict() if field.properties is not None:
            return complete(value, field.properties)
        case list() if field.items is not None and field.items.works:
            return [read_value(each, field.items) for each in value]
        case str() if field.kind is Kind.DATETIME:
            return _time(value)
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
    """JSON has one kind of number: 3.0 is the integer 3. What has a fraction, or no place in 64 bits, stays."""
    return int(number) if number.is_integer() and INT64_MIN <= number <= INT64_MAX else number
