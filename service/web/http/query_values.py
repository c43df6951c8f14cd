"""A query string of named values, each with its reader, or of flags: `since=2026-01-31&dry_run=true`, and nothing else."""

import base64
import binascii
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any

from starlette.requests import Request

from service.errors import Invalid, Violation
from service.query.parse import parse_pairs
from service.schema.nearest import describe_nearest
from service.schema.values import BadValue, parse_number, read_time

Readers = Mapping[str, Callable[[str], Any]]


def refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    """Raises Invalid for each of `names` that is none of the `known` parameters; the first one with the nearest of these."""
    unknown = [name for name in names if name not in known]
    if unknown:
        hints = [describe_nearest(unknown[0], known), *repeat("", len(unknown) - 1)]
        raise Invalid(
            Violation(("query", name), f"This endpoint takes no such parameter{hint}", "extra_forbidden")
            for name, hint in zip(unknown, hints, strict=True)
        )


def read_values(query_string: bytes, readers: Readers) -> dict[str, Any]:
    """The values that were sent, by their names. Raises Invalid with each bad, unknown or repeated one."""
    violations, values = list[Violation](), dict[str, Any]()
    for name, text in parse_pairs(query_string):
        if (reader := readers.get(name)) is None or name in values:
            msg = f"This endpoint takes {', '.join(readers)}, each once"
            violations.append(Violation(("query", name), msg, "extra_forbidden"))
            continue
        try:
            values[name] = reader(text)
        except BadValue as error:
            violations.append(Violation(("query", name), f"This {error}", "value_error"))
    if violations:
        raise Invalid(violations)
    return values


def read_whole(low: int, high: int) -> Callable[[str], int]:
    """The reader of a whole number from `low` to `high`."""

    def read(text: str) -> int:
        number = parse_number(text)
        if not isinstance(number, int) or not low <= number <= high:
            raise BadValue(f"must be a whole number from {low} to {high}")
        return number

    return read


def read_text(most: int) -> Callable[[str], str]:
    """The reader of a text of 1 to `most` characters."""

    def read(text: str) -> str:
        if not 1 <= len(text) <= most or "\0" in text:
            raise BadValue(f"must have 1 to {most} characters")
        return text

    return read


def write_place(at: datetime, id_: str) -> str:
    """The cursor of a list in the order of times and ids."""
    return base64.urlsafe_b64encode(f"{at.isoformat()} {id_}".encode()).decode().rstrip("=")


def read_place(text: str) -> tuple[datetime, str]:
    """The time and the id of a cursor. Raises BadValue."""
    try:
        at, _, id_ = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(" ")
        return read_time(at), id_
    except (binascii.Error, ValueError, BadValue):
        raise BadValue("is no cursor of this list") from None


def read_flags(request: Request, names: Sequence[str]) -> dict[str, bool]:
    """Each of `names`, false where it is not there. Raises Invalid for any other, and for what is neither true nor false."""
    flags = dict.fromkeys(names, False)
    for name, text in parse_pairs(request.scope["query_string"]):
        if name not in flags:
            msg = f"This endpoint takes only {' and '.join(names)}"
            raise Invalid.one(("query", name), msg, type_="extra_forbidden")
        if text not in {"true", "false"}:
            raise Invalid.one(("query", name), "Must be true or false", type_="bool_parsing")
        flags[name] = text == "true"
    return flags
