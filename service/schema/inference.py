"""A schema proposed from the columns of a file. Pure.

A column has the narrowest type that all of its values have; an empty cell is an absent value.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.bounds import MAX_NAME
from service.schema.values import GOOD_NAME, BadValue, parse_number, read_time

MAX_EXAMPLES, MAX_EXAMPLE = 3, 100
# RFC 3339 section 5.6: a date, or a date and a time with its zone.
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?")
LONGEST_TIME = 40
BAD_CHARACTERS = re.compile(r"[\x00-\x1f\x7f.]+")
INTEGER, NUMBER, BOOLEAN, DATETIME, STRING = "integer", "number", "boolean", "datetime", "string"


@dataclass(slots=True)
class Column:
    """A column and what was seen in it: its types, the number of its empty cells, and its values as text."""

    header: str
    name: str
    types: set[str] = field(default_factory=set)
    empty: int = 0
    values: set[str] = field(default_factory=set)
    examples: list[str] = field(default_factory=list)

    def see(self, text: str, type_: str) -> None:
        self.types.add(type_)
        if text not in self.values:
            self.values.add(text)
            if len(self.examples) < MAX_EXAMPLES:
                self.examples.append(text[:MAX_EXAMPLE])

    def see_cell(self, text: str) -> None:
        """A cell of CSV."""
        if text == "":
            self.empty += 1
        else:
            self.see(text, type_of_text(text))

    @property
    def type(self) -> str:
        """The narrowest type; a text where the values have several, or there are none."""
        if len(self.types) == 1:
            return next(iter(self.types))
        return NUMBER if self.types == {INTEGER, NUMBER} else STRING


def type_of_text(text: str) -> str:
    """`"3"` → integer, `"1e5"` → number, `"true"` → boolean, `"2026-01-31"` → datetime; `"007"` is a string."""
    if text in {"true", "false"}:
        return BOOLEAN
    number = parse_number(text)
    if number is not None:
        return INTEGER if isinstance(number, int) and text != "-0" else NUMBER
    return DATETIME if _is_time(text) else STRING


def type_of_value(value: Any) -> str:
    """The type of a value of JSON, which is not null."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int | float):
        return INTEGER if isinstance(value, int) else NUMBER
    if isinstance(value, str):
        return DATETIME if _is_time(value) else STRING
    return "array" if isinstance(value, list) else "object"


def _is_time(text: str) -> bool:
    if len(text) > LONGEST_TIME or not RFC_3339.fullmatch(text):
        return False
    try:
        read_time(text)
    except BadValue:
        return False
    return True


def name_columns(headers: Sequence[str]) -> list[str]:
    """Names of fields for the headers, in their order, each once: `["a.b", "a_b", ""]` → `["a_b", "a_b_2", "column_3"]`."""
    names: list[str] = []
    for number, header in enumerate(headers, 1):
        plain = BAD_CHARACTERS.sub("_", header).strip().lstrip("$")[:MAX_NAME]
        base = plain if GOOD_NAME.fullmatch(plain) else f"column_{number}"
        names.append(next(name for name in _numbered(base) if name not in names))
    return names


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        ending = f"_{number}"
        yield base[: MAX_NAME - len(ending)] + ending
        number += 1
