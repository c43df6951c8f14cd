"""Cursors: the beginning of a page, as a text that the page before it gave. Pure.

A cursor is base64url of JSON: a fingerprint of the query, and the values of the last record's sort keys. It is not
signed, on purpose: a forged value asks no more than a filter on the same field would, and one sorts only by readable
fields.
"""

import binascii
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

import orjson

from service.bounds import MAX_CURSOR, MAX_DEPTH
from service.errors import Invalid
from service.query.nodes import Cursor
from service.schema.strict_json import loads
from service.schema.values import check_name

BEGINNING = "*"
PLACE = ("query", "cursor")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as it is stored
MILLISECOND = timedelta(milliseconds=1)
TIME, OBJECT = "d", "o"


class _NotPossibleError(ValueError):
    """No cursor can be at a value; the message describes the value."""


def fingerprint(asked: Any) -> str:
    """A hash of the parts that must stay the same from page to page: filters and order, as JSON, in any order of names.

    Raises Invalid if they are nested deeper than any query or record may be.
    """
    try:
        text = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        raise Invalid.one(("body",), f"Objects and arrays may be nested {MAX_DEPTH} deep", type_="too_deep") from None
    return urlsafe_b64encode(blake2b(text, digest_size=9).digest()).decode()


def read_cursor(text: str, query: str) -> Cursor:
    """The cursor that a client sent back with a query of this fingerprint. Raises Invalid."""
    if text == BEGINNING:
        return Cursor(query)
    found = _decode(text)
    if not isinstance(found, list) or len(found) < 2 or not isinstance(found[0], str):
        raise unreadable()
    if found[0] != query:
        msg = "The cursor is of another query: where, filters and sort_by must be those of the page that gave it"
        raise Invalid.one(PLACE, msg, type_="cursor_mismatch")
    return Cursor(query, tuple(_unpack(each, MAX_DEPTH) for each in found[1:]))


def _decode(text: str) -> Any:
    if len(text) > MAX_CURSOR:
        raise unreadable()
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise unreadable() from None
    try:
        return loads(raw)
    except Invalid:
        raise unreadable() from None


def unreadable() -> Invalid:
    """The error for a text that is no cursor, and for a forged one."""
    return Invalid.one(PLACE, "Not a cursor that a page gave; * begins", type_="value_error")


def write_cursor(query: str, sort: Iterable[tuple[str, int]], record: Mapping[str, Any]) -> str:
    """The cursor behind `record`, as it is stored. Raises Invalid where none can stand there."""
    found: list[Any] = [query]
    for path, _ in sort:
        try:
            found.append(_pack(_value_at(record, path)))
        except _NotPossibleError as error:
            raise _not_possible(path, str(error)) from None
    text = urlsafe_b64encode(orjson.dumps(found)).decode().rstrip("=")
    if len(text) > MAX_CURSOR:
        raise _not_possible("sort_by", "longer than a cursor may be")
    return text


def _not_possible(path: str, what: str) -> Invalid:
    msg = f"The value of {path.removeprefix('data.')} at the end of this page is {what}; use offset, or sort by another field"
    return Invalid.one(PLACE, msg, type_="cursor_not_possible")


def _value_at(record: Mapping[str, Any], path: str) -> Any:
    value: Any = record
    for part in path.split("."):
        if isinstance(value, list):
            return value
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _pack(value: Any, *, inside: bool = False) -> Any:
    """`value` as JSON that `_unpack` reads: times and objects are marked, for text could look like either."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case datetime():
            return {TIME: (value - EPOCH) // MILLISECOND}
        case dict():
            if any(check_name(name) for name in value):
                raise _NotPossibleError("an object with names that no field has")
            return {OBJECT: [[name, _pack(each, inside=True)] for name, each in value.items()]}
        case list() if inside:
            return [_pack(each, inside=True) for each in value]
    raise _NotPossibleError("an array" if isinstance(value, list) else "of a type that has no JSON")


def _unpack(value: Any, depth: int) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case {"d": int() as milliseconds, **rest} if not rest:
            return _moment(milliseconds)
        case {"o": list() as pairs, **rest} if not rest and depth:
            return dict(_unpack_pair(pair, depth - 1) for pair in pairs)
        case list() if depth < MAX_DEPTH and depth:
            return [_unpack(each, depth - 1) for each in value]
    raise unreadable()


def _unpack_pair(pair: Any, depth: int) -> tuple[str, Any]:
    match pair:
        case [str() as name, value] if not check_name(name):
            return name, _unpack(value, depth)
    raise unreadable()


def _moment(milliseconds: int) -> datetime:
    try:
        return EPOCH + milliseconds * MILLISECOND
    except OverflowError:
        raise unreadable() from None
