"""The values of conditions in JSON: typed already, so that nothing is guessed. BadValue is for what does not fit."""

from collections.abc import Mapping
from typing import Any

from service.schema.file_urls import named_file
from service.schema.values import BadValue, Kind, read_time

TEXTUAL = frozenset({Kind.STRING, Kind.ID, Kind.EMAIL, Kind.REFERENCE, Kind.FILE})
NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER})
UNORDERED = frozenset({Kind.BOOLEAN, Kind.ID, Kind.EMAIL, Kind.REFERENCE, Kind.FILE, Kind.OBJECT})


def typed(value: Any, kind: Kind) -> Any:
    """Returns `value` as `kind` stores it: the text of a date becomes a datetime.

    Raises BadValue if no field of `kind` can have it.
    """
    if kind is Kind.DATETIME and isinstance(value, str):
        return read_time(value)
    if kind is Kind.EMAIL and isinstance(value, str):
        return value.lower()
    if kind is Kind.FILE and isinstance(value, str):
        return named_file(value) or value
    if type(value) not in TYPES[kind]:
        raise BadValue(f"must be {WANTED[kind]}")
    return value


def ordered(value: Any, kind: Kind) -> Any:
    """The one beside <, <=, > or >=. Text has no order but that of dates, as in a query string."""
    if kind in UNORDERED:
        raise BadValue(f"has no order: {kind.value} values can be compared with eq, ne and in only")
    if isinstance(value, bool):
        raise BadValue("must be a number or an ISO 8601 date")
    if kind in NUMBERS:
        return typed(value, Kind.NUMBER)
    if not isinstance(value, str):
        return typed(value, kind)
    moment = read_time(value)
    return moment if kind is Kind.DATETIME else value


TYPES: Mapping[Kind, tuple[type, ...]] = {
    Kind.ANY: (str, int, float, bool),
    Kind.ARRAY: (str, int, float, bool),
    Kind.BOOLEAN: (bool,),
    Kind.INTEGER: (int,),
    Kind.NUMBER: (int, float),
    Kind.DATETIME: (),
    Kind.OBJECT: (),
    **dict.fromkeys(TEXTUAL, (str,)),
}
WANTED: Mapping[Kind, str] = {
    Kind.ANY: "text, a number, true or false",
    Kind.ARRAY: "text, a number, true or false",
    Kind.BOOLEAN: "true or false",
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a number",
    Kind.DATETIME: "an ISO 8601 date such as 2026-01-31 or 2026-01-31T12:00:00Z",
    Kind.OBJECT: "left to its own fields, as in data.address.city_eq",
    **dict.fromkeys(TEXTUAL, "text"),
}
