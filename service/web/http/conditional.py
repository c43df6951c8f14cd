"""The answer to a conditional or a range request (RFC 9110 sections 13 and 14)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from service.errors import Invalid
from service.schema.versions import Versions, read_versions, version_tag

# One range in bytes: `bytes=0-499`, `bytes=500-`, `bytes=-500`. Many ranges, other units and anything else are no match.
ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*", re.IGNORECASE)
# Longer numbers are beyond the end of any file, and are not worth converting.
MAX_DIGITS = 18
IF_MATCH = b"if-match"
REFUSED = "This write compares no version; send it without If-Match"
ENTITY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


@dataclass(frozen=True, slots=True)
class Whole:
    """200 with all bytes."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """206 with the bytes from `start` up to, and without, `stop`."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class NotModified:
    """304: the client has it already."""


@dataclass(frozen=True, slots=True)
class NotSatisfiable:
    """416: no byte of the range is there."""


ConditionalResult = Whole | ByteRange | NotModified | NotSatisfiable


def answer(headers: Mapping[str, str], *, etag: str, length: int) -> ConditionalResult:
    """The answer to GET or HEAD of `length` bytes with the strong entity tag `etag`, in the order of RFC 9110 section
    13.2.2.

    `headers` has lower-case names; a header that came twice is joined by commas, which makes many ranges of two.
    """
    if "if-none-match" in headers and matches(headers["if-none-match"], etag):
        return NotModified()
    if "range" not in headers or headers.get("if-range", etag).strip() != etag:
        return Whole()
    return requested(headers["range"], length)


def matches(field: str, etag: str) -> bool:
    """True if an If-None-Match field names `etag`, by the weak comparison (RFC 9110 section 8.8.3.2)."""
    return field.strip() == "*" or any(found.group(1) == etag for found in ENTITY_TAG.finditer(field))


def read_if_match(headers: Headers) -> Versions:
    """The versions of a record that a change demands; None for any. Lines of one name are one list (section 5.3)."""
    lines = headers.getlist("if-match")
    return read_versions(", ".join(lines)) if lines else None


def refuse_if_match(request: Request) -> None:
    """Raises Invalid where a version is demanded of a write that compares none, and would be made whatever is there."""
    if IF_MATCH in dict(request.scope["headers"]):
        raise Invalid.one(("header", IF_MATCH.decode()), REFUSED, type_="extra_forbidden")


class Unchanged(Response):
    """304 under the entity tag of a record, for a client that has it."""

    status: ClassVar[int] = 304

    def __init__(self, etag: str) -> None:
        super().__init__(status_code=self.status, headers={"etag": etag})


def find_known(headers: Headers, version: int) -> Unchanged | None:
    """The answer to a client that has this version of a record; None for any other client."""
    etag = version_tag(version)
    if not matches(", ".join(headers.getlist("if-none-match")), etag):
        return None
    return Unchanged(etag)


def requested(field: str, length: int) -> Whole | ByteRange | NotSatisfiable:
    """The part of `length` bytes that a Range field asks for (RFC 9110 section 14.1.2): `bytes=0-499` → ByteRange(0,
    500).

    Many ranges, another unit and bad syntax are ignored, as section 14.2 allows: a client gets the whole.
    """
    found = ONE_RANGE.fullmatch(field.strip())
    if not found or found.groups() == ("", ""):
        return Whole()
    first, last = (_number(digits) for digits in found.groups())
    if first is None:
        start, stop = max(0, length - (last or 0)), length
    else:
        start, stop = first, length if last is None else min(last + 1, length)
    return ByteRange(start, stop) if start < stop else NotSatisfiable()


def _number(digits: str) -> int | None:
    significant = digits.lstrip("0")
    if len(significant) > MAX_DIGITS:
        return int(10**MAX_DIGITS)
    return int(digits[-MAX_DIGITS:]) if digits else None
