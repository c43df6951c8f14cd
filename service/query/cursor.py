"""Cursors: where a page begins, as a text that the page before it gave; and the filter of what comes after. Pure.

A cursor is base64url of JSON: a fingerprint of the query, and the values of the last record's sort keys. It is not signed,
on purpose: a value that somebody makes up asks no more than a filter on the same field would, and one sorts only by what
one may read.

MongoDB orders values by type first. A comparison looks at one type only, and at each element of an array, while an array is
sorted by its least element, descending by its greatest. So what comes after is what has no element at or before the value,
of whatever type.
"""

import binascii
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

import orjson

from service.bounds import MAX_CURSOR, MAX_DEPTH
from service.errors import Invalid
from service.query.nodes import Cursor
from service.query.shapes import Field
from service.query.tree import Filter
from service.schema.strict_json import loads
from service.schema.values import Kind, check_name

BEGINNING = "*"
PLACE = ("query", "cursor")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as it is stored
MILLISECOND = timedelta(milliseconds=1)
TIME, OBJECT = "d", "o"


class _NotPossibleError(ValueError):
    """No cursor can stand at a value; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Key:
    """One field that is sorted by."""

    field: Field
    descending: bool


def fingerprint(asked: Any) -> str:
    """Of what must stay the same from page to page: its filters and order, as JSON, whatever the order of names in it.

    Raises Invalid where that is nested deeper than anything that is asked for or stored.
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
        raise _unreadable()
    if found[0] != query:
        msg = "The cursor is of another query: where, filters and sort_by must be those of the page that gave it"
        raise Invalid.one(PLACE, msg, type_="cursor_mismatch")
    return Cursor(query, tuple(_unpack(each, MAX_DEPTH) for each in found[1:]))


def _decode(text: str) -> Any:
    if len(text) > MAX_CURSOR:
        raise _unreadable()
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise _unreadable() from None
    try:
        return loads(raw)
    except Invalid:
        raise _unreadable() from None


def _unreadable() -> Invalid:
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
    raise _unreadable()


def _unpack_pair(pair: Any, depth: int) -> tuple[str, Any]:
    match pair:
        case [str() as name, value] if not check_name(name):
            return name, _unpack(value, depth)
    raise _unreadable()


def _moment(milliseconds: int) -> datetime:
    try:
        return EPOCH + milliseconds * MILLISECOND
    except OverflowError:
        raise _unreadable() from None


def check_values(keys: Sequence[Key], values: Sequence[Any]) -> None:
    """Raises Invalid where a value is none that a record can have there: somebody has made it up."""
    if len(values) != len(keys):
        raise _unreadable()
    for key, value in zip(keys, values, strict=True):
        if key.field.single and not _fits(key.field, value):
            raise _unreadable()


def _fits(field: Field, value: Any) -> bool:
    if value is None:
        return field.path.startswith("data.")
    return type(value) in VALUES[field.kind]


NUMBER, TEXT = (int, float), (str,)
VALUES: Mapping[Kind, tuple[type, ...]] = {
    **dict.fromkeys((Kind.STRING, Kind.ID, Kind.EMAIL, Kind.REFERENCE, Kind.FILE), TEXT),
    **dict.fromkeys((Kind.INTEGER, Kind.NUMBER), NUMBER),
    Kind.BOOLEAN: (bool,),
    Kind.DATETIME: (datetime,),
}


def find_after(keys: Sequence[Key], values: Sequence[Any]) -> Filter:
    """What records after those with `values` are, by the sort keys: further by one key, and equal by those before it."""
    further = []
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        equal = [_equal(*each) for each in zip(keys[:number], values[:number], strict=True)]
        after = _after(key, value)
        if after is not None:
            further.append({"$and": [*equal, after]} if equal else after)
    found: Filter = {"$or": further} if len(further) > 1 else further[0]
    first = _at_or_after(keys[0], values[0])
    return found if first is None else {"$and": [first, found]}


def _at_or_after(key: Key, value: Any) -> Filter | None:
    """What says the same of the first key, for an index to be read from there on."""
    if not key.field.single or value is None or (key.descending and key.field.path.startswith("data.")):
        return None
    return {key.field.path: {"$lte" if key.descending else "$gte": value}}


def _equal(key: Key, value: Any) -> Filter:
    path = key.field.path
    if key.field.single:
        return {path: {"$eq": value}}
    has_it = {"$or": _nulls(path)} if value is None else {path: {"$eq": value}}
    return {"$and": [has_it, {"$nor": _further(path, value, descending=not key.descending)}]}


def _after(key: Key, value: Any) -> Filter | None:
    """None where nothing can come after."""
    path, descending = key.field.path, key.descending
    if not key.field.single:
        same = _nulls(path) if value is None else [{path: {"$gte" if descending else "$lte": value}}]
        return {"$nor": [*_of_types_further(path, value, descending=not descending), *same]}
    if value is None:
        return None if descending else {path: {"$ne": None}}
    if not descending:
        return {path: {"$gt": value}}
    return {"$or": [{path: {"$lt": value}}, {path: None}]} if path.startswith("data.") else {path: {"$lt": value}}


def _further(path: str, value: Any, *, descending: bool) -> list[Filter]:
    """Of which one holds where an element comes after `value`, in this direction."""
    same = [] if value is None else [{path: {"$lt" if descending else "$gt": value}}]
    return [*_of_types_further(path, value, descending=descending), *same]


def _of_types_further(path: str, value: Any, *, descending: bool) -> list[Filter]:
    """Of which one holds where an element is of a type after that of `value`, in this direction."""
    place = -1 if value is None else TYPES.index(_type_of(value))
    if not descending:
        return _any_of_types(path, TYPES[place + 1 :])
    # An empty array is before everything, null before all but that, and NaN before every number.
    empty: list[Filter] = [{path: {"$size": 0}}]
    if value is None:
        return empty
    nan: list[Filter] = [{path: math.nan}] if TYPES[place] == "number" else []
    return [*_nulls(path), *empty, *_any_of_types(path, TYPES[:place]), *nan]


def _any_of_types(path: str, types: Sequence[str]) -> list[Filter]:
    """An array is told from its elements: it is sorted by them, and one inside it is one of them."""
    named = [name for name in types if name != "array"]
    inner: list[Filter] = [{path: {"$elemMatch": {"$type": "array"}}}] if "array" in types else []
    return [{path: {"$type": named}}, *inner] if named else inner


def _nulls(path: str) -> list[Filter]:
    """Of which one holds where a record, or an element on the way to `path`, has nothing or null there."""
    parts = path.split(".")
    prefixes = [".".join(parts[:length]) for length in range(2, len(parts))]
    on_the_way: list[Filter] = []
    for prefix in prefixes:
        on_the_way += [{prefix: {"$elemMatch": {"$not": {"$type": "object"}}}}, {prefix: {"$size": 0}}]
    return [{path: None}, *on_the_way]


# The types behind null, in MongoDB's order.
TYPES = (
    "number", "string", "object", "array", "binData", "objectId", "bool", "date", "timestamp", "regex", "dbPointer",
    "javascript", "javascriptWithScope", "maxKey",
)  # fmt: skip


def _type_of(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case datetime():
            return "date"
    return "object"
