"""CSV (RFC 4180) as a stream of lines: where a record ends, its cells, and what a cell of a declared type means. Pure."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from service.bounds import MAX_ROW_BYTES
from service.errors import Invalid
from service.schema.strict_json import INT64_MAX, INT64_MIN, loads
from service.schema.values import Kind, parse_number, read_time

# A cell may be as long as a record; the default of the standard library is 128 KiB, for the whole process.
csv.field_size_limit(int(MAX_ROW_BYTES))

TOO_LONG = "has more than 1 MiB; is a quote not closed?"
# Messages of the standard library, and our message about the record.
FAULTS = {
    "unexpected end of data": "has a quote that is not closed",
    "new-line character seen": "has a carriage return in a cell without quotes around it",
    "expected after": "has a quote inside a cell; put quotes around the cell, and write each inside it twice",
}
QUOTE = '"'
MARKS = '",\r\n'
COMMA = ","
# By the character between cells: a cell in quotes, from its begin to its end, or to that of the line. Two quotes inside it
# are one of its characters.
QUOTED_CELLS = {each: re.compile(rf'(?:^|{each})"[^"]*+(?:""[^"]*+)*+("?)') for each in (COMMA, ";", "\t")}


class BadRecord(ValueError):
    """A record that is no CSV; the message has the reason."""


def explain(message: str) -> str:
    """The fault of a record, for the message of the standard library."""
    return next((ours for theirs, ours in FAULTS.items() if theirs in message), message)


def parse_record(text: str, delimiter: str = COMMA) -> list[str]:
    """The cells of one record, `a,"b, c"` → ["a", "b, c"]; none of a blank line. Raises BadRecord."""
    try:
        cells = next(csv.reader([text], strict=True, delimiter=delimiter), [])
    except csv.Error as error:
        raise BadRecord(explain(str(error))) from None
    return cells if len(cells) > 1 or (cells and cells[0].strip()) else []


def is_open_after(line: str, delimiter: str, *, is_open: bool) -> bool:
    """True if a quoted cell goes on behind `line`; `is_open`: a cell was open before it."""
    text = QUOTE + line if is_open else line
    return any(not found[1] for found in QUOTED_CELLS[delimiter].finditer(text))


def write_record(values: Iterable[Any], dump: Callable[[Any], bytes]) -> str:
    """One line of values; None is an empty cell, as an absent value is. Other values than texts are written as `dump`
    writes JSON.
    """
    return ",".join([_write(value, dump) for value in values]) + "\r\n"


def _write(value: Any, dump: Callable[[Any], bytes]) -> str:
    if value is None:
        return ""
    # Only a moment is text in JSON and none here.
    text = value if isinstance(value, str) else dump(value).decode().strip(QUOTE)
    if not text or any(mark in text for mark in MARKS):
        return QUOTE + text.replace(QUOTE, QUOTE * 2) + QUOTE
    return text


def read_cell(text: str, type_: str) -> Any:
    """The value of a cell: `read_cell("3", "integer")` → 3. Raises ValueError, KeyError, Invalid."""
    return READERS[type_](text)


def type_of(kind: Kind) -> str:
    """The type by which the cells of a declared field are read."""
    return KIND_TYPES.get(kind, "string")


def read_cells(cells: Mapping[str, str], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The fields of a document; an empty cell is an absent one.

    A cell that cannot be read stays text, for the schema to refuse.
    """
    return {name: _try(text, type_of(kinds[name])) for name, text in cells.items() if text != ""}


def _try(text: str, type_: str) -> Any:
    try:
        return read_cell(text, type_)
    except (ValueError, KeyError, Invalid):
        return text


def _time(text: str) -> str:
    """ISO 8601, also where the source has slashes in its dates."""
    moment = text.replace("/", "-")
    read_time(moment)
    return moment


def _number(text: str) -> int | float:
    number = parse_number(text)
    if number is None:
        raise ValueError(text)
    return number


def _integer(text: str) -> int:
    number = _number(text)
    if number != int(number) or not INT64_MIN <= number <= INT64_MAX:
        raise ValueError(text)
    return int(number)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False, "1": True, "0": False}[text.lower()]


READERS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "datetime": _time,
    "json": lambda text: loads(text.encode()),
}
KIND_TYPES = {
    Kind.INTEGER: "integer",
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "boolean",
    Kind.ARRAY: "json",
    Kind.OBJECT: "json",
}
