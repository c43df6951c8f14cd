"""Reads each parameter of a list that is no filter, from the text of a query string and from the value of a body.

Each reader raises Fault, or Invalid with places of its own.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from service.bounds import MAX_CHOSEN, MAX_COUNTS, MAX_LIMIT, MAX_POPULATE, MAX_RELATION_DEPTH, MAX_SORT_KEYS
from service.query.names import NAME, Fault, Path, read_path
from service.query.nodes import EVERY_RELATION, Count, SortKey, Where
from service.query.operators import split_list
from service.query.where import read_where
from service.schema.options import COLLECTION_NAME
from service.schema.strict_json import loads
from service.schema.values import BadValue, parse_number

# MongoDB's $skip is a 64-bit integer.
MAX_OFFSET = 2**63 - 1
COUNTED_NAME = re.compile(rf"{COLLECTION_NAME.pattern}(\.{NAME})?")


def _where(text: str) -> Where:
    return read_where(loads(text.encode(), loc=("query", "where")), ("query", "where"))


def _whole(text: str, low: int, high: int) -> int:
    number = parse_number(text)
    if not isinstance(number, int) or not low <= number <= high:
        raise Fault(f"Must be a whole number from {low} to {high}")
    return number


def _limit(text: str) -> int:
    return _whole(text, 1, MAX_LIMIT)


def _offset(text: str) -> int:
    return _whole(text, 0, MAX_OFFSET)


def _count(value: str | bool) -> Count:
    found = COUNTS.get(str(value).lower() if isinstance(value, bool) else value)
    if found is None:
        raise Fault(f"Must be one of {', '.join(COUNTS)}")
    return found


COUNTS = {"true": Count.EXACT, "false": Count.NONE} | {each.value: each for each in Count}


def _names(text: str) -> list[str]:
    """Names separated by commas; one with a comma in it is quoted."""
    try:
        return split_list(text) if set(text) & {",", '"'} else [text]
    except BadValue as error:
        raise Fault(f"The value {error}") from None


def _sort(names: Sequence[str]) -> tuple[SortKey, ...]:
    if len(names) > MAX_SORT_KEYS:
        raise Fault(f"At most {MAX_SORT_KEYS} fields may be sorted by")
    keys = tuple(SortKey(read_path(name.removeprefix("-")), name.startswith("-")) for name in names)
    if len({key.path for key in keys}) < len(keys):
        raise Fault("A field may be sorted by once")
    return keys


def _fields(names: Sequence[str]) -> tuple[Path, ...]:
    if len(names) > MAX_CHOSEN:
        raise Fault(f"At most {MAX_CHOSEN} fields may be named")
    return tuple(read_path(name) for name in dict.fromkeys(names))


def _descending(text: str) -> bool:
    if text not in {"asc", "desc"}:
        raise Fault("Must be asc or desc")
    return text == "desc"


def _populate(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    if list(names) == [EVERY_RELATION]:
        return ((EVERY_RELATION,),)
    if len(names) > MAX_POPULATE:
        raise Fault(f"At most {MAX_POPULATE} relations may be populated, or all of them with *")
    paths = tuple(read_path(name) for name in dict.fromkeys(names))
    if any(len(path) > MAX_RELATION_DEPTH for path in paths):
        raise Fault(f"Relations may be populated {MAX_RELATION_DEPTH} deep")
    return paths


def _counted(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MAX_COUNTS:
        raise Fault(f"At most {MAX_COUNTS} names may be counted")
    if not names or not all(map(COUNTED_NAME.fullmatch, names)):
        raise Fault("Must be names of collections, or <collection>.<relation>, with commas between them")
    return tuple(dict.fromkeys(names))


# The parameters that are no filters: the field of ListQuery that each sets, and how its text is read.
OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "limit": ("limit", _limit),
    "offset": ("offset", _offset),
    "count": ("count", _count),
    "sort_by": ("sort", lambda text: _sort(_names(text))),
    "sort_order": ("descending", _descending),
    "populate": ("populate", lambda text: _populate(text.split(","))),
    "where": ("where", _where),
    "fields": ("fields", lambda text: _fields(_names(text))),
    "cursor": ("cursor", str),
    "with_counts": ("counts", lambda text: _counted(text.split(","))),
}
# The same of a body.
BODY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "limit": ("limit", int),
    "offset": ("offset", int),
    "populate": ("populate", _populate),
    "where": ("where", lambda value: read_where(value, ("query", "where"))),
    "sort_by": ("sort", _sort),
    "fields": ("fields", _fields),
    "count": ("count", _count),
    "cursor": ("cursor", str),
    "with_counts": ("counts", _counted),
}
