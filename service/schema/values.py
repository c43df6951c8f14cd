"""Values between text, JSON and BSON: what a text can mean, which names `data` may have, how times are written."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import orjson

from service.bounds import MAX_DEPTH, MAX_NAME, MAX_NAMES
from service.errors import Location, Violation
from service.schema.file_urls import named_file
from service.schema.strict_json import INT64_MAX, INT64_MIN, INT64_TEXT, shown

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
GOOD_NAME = re.compile(rf"(?!\$)[^\x00-\x1f\x7f.]{{1,{MAX_NAME}}}")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
CONTAINERS = (dict, list)
CONTAINER_TYPES = frozenset(CONTAINERS)
# RFC 3339, and a date alone; the first group is what datetime.fromisoformat must still judge.
TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?")


class Kind(Enum):
    """The kinds of a field's values. ANY is an undeclared field: its text is read in every possible way.

    TIME_TEXT is a time that is kept as the text `write_time` makes, in the profiles of users.
    """

    ANY = "any"
    STRING = "string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    DATETIME = "datetime"
    TIME_TEXT = "time_text"
    OBJECT = "object"
    ARRAY = "array"
    REFERENCE = "reference"
    FILE = "file"
    ID = "id"
    EMAIL = "email"


class BadValue(ValueError):
    """A text that does not fit; the message completes a sentence about the value: 'must be ...'."""


def readings(text: str, kind: Kind) -> tuple[Any, ...]:
    """The values `text` can mean in a field of `kind`: ("33", ANY) → (33, "33"). Raises BadValue if there is none."""
    match kind:
        case Kind.ANY:
            return _guesses(text)
        case Kind.BOOLEAN:
            return (_boolean(text),)
        case Kind.INTEGER | Kind.NUMBER:
            return (_number(text, kind),)
        case Kind.DATETIME:
            return (read_time(text),)
        case Kind.EMAIL:
            return (text.lower(),)
        case Kind.FILE:
            return (named_file(text) or text,)
        case Kind.OBJECT:
            raise BadValue("is an object; name one of its fields, as in data.address.city_eq")
    return (text,)


def bound(text: str, kind: Kind) -> Any:
    """The one value that `text` means beside <, <=, > or >=: a number, or a time. Raises BadValue for anything else.

    In an undeclared field a date is compared as text, for JSON has no dates and ISO 8601 text sorts by time.
    """
    match kind:
        case Kind.INTEGER | Kind.NUMBER:
            return _number(text, Kind.NUMBER)
        case Kind.DATETIME:
            return read_time(text)
        case Kind.ANY | Kind.STRING:
            return _number_or_date_text(text, kind)
    raise BadValue(f"has no order: {kind.value} values can be compared with eq, ne and in only")


def _number_or_date_text(text: str, kind: Kind) -> int | float | str:
    if kind is Kind.ANY and (number := parse_number(text)) is not None:
        return number
    try:
        read_time(text)
    except BadValue:
        wanted = "a number or an ISO 8601 date" if kind is Kind.ANY else "an ISO 8601 date, for text has no other order"
        raise BadValue(f"must be {wanted}") from None
    return text


def _guesses(text: str) -> tuple[Any, ...]:
    if text in {"true", "false"}:
        return (text == "true", text)
    number = parse_number(text)
    return (text,) if number is None else (number, text)


def _boolean(text: str) -> bool:
    if text not in {"true", "false"}:
        raise BadValue("must be true or false")
    return text == "true"


def _number(text: str, kind: Kind) -> int | float:
    number = parse_number(text)
    if number is None:
        raise BadValue("must be a number")
    if kind is Kind.INTEGER and number != int(number):
        raise BadValue("must be a whole number")
    return number


def parse_number(text: str) -> int | float | None:
    """The number a JSON text of it would be, or None: not a number, or not one that BSON holds."""
    if len(text) > 400 or not (found := NUMBER.fullmatch(text)):
        return None
    if found.group(1) or found.group(2):
        number = float(text)
        return number if math.isfinite(number) else None
    if len(text) > INT64_TEXT:
        return None
    whole = int(text)
    return whole if INT64_MIN <= whole <= INT64_MAX else None


def read_time(text: str) -> datetime:
    """The moment an ISO 8601 text names: UTC, zone dropped, whole milliseconds, as MongoDB keeps it. No zone means UTC.

    Raises BadValue. A `+` of an offset that arrived as a space, as an unquoted query string sends it, is read as `+`.
    """
    text = re.sub(r" (\d\d:\d\d)$", r"+\1", text) if "T" in text else text
    try:
        if not TIME.fullmatch(text):
            raise ValueError(text)
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        raise BadValue("must be an ISO 8601 date such as 2026-01-31 or 2026-01-31T12:00:00Z") from None
    return milliseconds(moment)


def milliseconds(moment: datetime) -> datetime:
    """`moment` without what BSON does not keep."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def now() -> datetime:
    """The present moment as it is stored: UTC without a zone, whole milliseconds."""
    return milliseconds(datetime.now(UTC).replace(tzinfo=None))


def write_time(moment: datetime) -> str:
    """`2026-01-31T12:00:00.000Z`, the one form in which the service writes times."""
    # orjson takes a third of the instructions of `isoformat`; it leaves out microseconds that are 0.
    text = orjson.dumps(moment)
    return (text[1:24] if len(text) > 24 else text[1:20] + b".000").decode() + "Z"


def check_name(name: str) -> str | None:
    """Why `name` cannot be the name of a field, or None."""
    if GOOD_NAME.fullmatch(name):
        return None
    if not 1 <= len(name) <= MAX_NAME:
        return f"A field name must have 1 to {MAX_NAME} characters"
    if name.startswith("$") or "." in name:
        return "A field name must not contain '.' or begin with '$'"
    return "A field name must not contain control characters"


def check_data(data: Mapping[str, Any], loc: Location = ("body",)) -> list[Violation]:
    """Every broken rule of names, their number and depth in `data`, which came from strict JSON.

    Depth counts `data` itself as 1. A name inside another counts by its path: `[{"a": 1}, {"a": 2}]` has one.
    """
    check = _DataCheck()
    check.visit_object(data, loc, 1, check.paths)
    return check.violations


class _Paths(dict[str, "_Paths"]):
    """The names at one place of `data`, each with the names inside it."""


class _DataCheck:
    """The findings so far. Names are checked once for each path, and no further when there are too many."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.paths = _Paths()
        self._names = 0

    def visit_object(self, value: Mapping[str, Any], loc: Location, depth: int, paths: _Paths) -> None:
        for name, inner in value.items():
            if (place := paths.get(name)) is None:
                place = paths[name] = _Paths()
                self._add(name, loc)
            if self._names > MAX_NAMES:
                return
            if isinstance(inner, CONTAINERS):
                self._enter(inner, (*loc, name), depth + 1, place)

    def _visit_array(self, value: Iterable[Any], loc: Location, depth: int, paths: _Paths) -> None:
        """Positions are no names: all items share the names at this place."""
        if CONTAINER_TYPES.isdisjoint(map(type, value)):
            # Strict JSON makes no subclasses. Most arrays hold plain values, and this look is the quicker one.
            return
        for position, inner in enumerate(value):
            # An empty one holds nothing to look at, unless it is itself too deep.
            if isinstance(inner, CONTAINERS) and (inner or depth == MAX_DEPTH):
                self._enter(inner, (*loc, position), depth + 1, paths)

    def _enter(self, value: dict[str, Any] | list[Any], loc: Location, depth: int, paths: _Paths) -> None:
        if depth > MAX_DEPTH:
            self.violations.append(Violation(loc, f"Objects and arrays may be nested {MAX_DEPTH} deep", "too_deep"))
        elif isinstance(value, dict):
            self.visit_object(value, loc, depth, paths)
        else:
            self._visit_array(value, loc, depth, paths)

    def _add(self, name: str, loc: Location) -> None:
        if problem := check_name(name):
            self.violations.append(Violation((*loc, shown(name)[1:-1]), problem, "field_name"))
        self._names += 1
        if self._names == MAX_NAMES + 1:
            msg = f"At most {MAX_NAMES:,} names of fields are allowed in one data, nested ones included"
            self.violations.append(Violation(loc, msg, "too_many_names"))
