"""The grammar of a list's query string: pairs of text → ListQuery. It knows operators and limits, and no field.

<field>_<operator>=<value>     the operator is the last `_` word: `referred_by_id_isnull` is isnull of `referred_by_id`
<relation>.<field>_<operator>  a field of the related record, up to three relations deep
data.<field>.<field>_<operator>  a field of a nested object
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from service.bounds import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_LIMIT,
    MAX_POPULATE,
    MAX_QUERY_BYTES,
    MAX_RELATION_DEPTH,
    MAX_RELATIONS,
)
from service.errors import Invalid, Violation
from service.query.nodes import EVERY_RELATION, Condition, ListQuery
from service.query.operators import OPERATORS
from service.schema.values import check_name, parse_number

# At most some megabytes, even of the longest queries.
CACHED_QUERIES = 256
# MongoDB's $skip is a 64-bit integer.
MAX_OFFSET = 2**63 - 1
# A nested path is at most as long as data is deep, behind the relations that may lead to it.
MAX_PATH = MAX_DEPTH + MAX_RELATION_DEPTH


class _Fault(ValueError):
    """Why one parameter is refused; becomes a violation of that parameter."""


@lru_cache(CACHED_QUERIES)
def parse_query(query_string: bytes) -> ListQuery:
    """The query that a query string spells. Raises Invalid.

    Remembered, because clients repeat themselves: the same list is polled, the same page is opened by everyone.
    """
    return parse(parse_pairs(query_string))


def parse_pairs(query_string: bytes) -> list[tuple[str, str]]:
    """The decoded pairs of a query string, in order.

    Raises Invalid if it is too long, not UTF-8, repeats a name, or is there but has no pair.
    """
    if len(query_string) > MAX_QUERY_BYTES:
        raise Invalid.one(("query",), f"The query string must have at most {MAX_QUERY_BYTES} bytes", type_="too_long")
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Invalid.one(("query",), "The query string must be percent-encoded UTF-8", type_="value_error") from None
    if query_string and not pairs:
        raise Invalid.one(("query",), "The query string has no parameter", type_="value_error")
    if len(dict(pairs)) < len(pairs):
        times = Counter(name for name, _ in pairs)
        repeated = [name for name in times if times[name] > 1]
        raise Invalid(Violation(("query", name), "A parameter may be sent once", "repeated") for name in repeated)
    return pairs


def parse(pairs: Iterable[tuple[str, str]]) -> ListQuery:
    """The query that `pairs` spell. Raises Invalid that names every parameter it cannot read."""
    options, conditions, violations = dict[str, Any](), list[Condition](), list[Violation]()
    for name, text in pairs:
        try:
            if not text:
                raise _Fault("A value is missing; leave the parameter out or give it one")
            if option := _OPTIONS.get(name):
                options[option[0]] = option[1](text)
            else:
                conditions.append(parse_condition(name, text))
        except _Fault as fault:
            violations.append(Violation(("query", name), str(fault), "value_error"))
    if len(conditions) > MAX_CONDITIONS:
        violations.append(Violation(("query",), f"At most {MAX_CONDITIONS} conditions may be combined", "too_many"))
    if _hops(conditions) > MAX_RELATIONS:
        msg = f"Conditions may follow at most {MAX_RELATIONS} different relations"
        violations.append(Violation(("query",), msg, "too_many"))
    if violations:
        raise Invalid(violations)
    return ListQuery(tuple(conditions), **options)


def parse_condition(name: str, text: str) -> Condition:
    field, _, operator = name.rpartition("_")
    if not field or operator not in OPERATORS:
        known = ", ".join(f"_{known}" for known in OPERATORS)
        raise _Fault(f"Unknown parameter; a filter is <field>_<operator> with one of {known}")
    return Condition(name, _path(field), operator, text)


def _path(text: str) -> tuple[str, ...]:
    parts = tuple(text.split("."))
    if len(parts) > MAX_PATH or any(check_name(part) for part in parts):
        raise _Fault("Not the name of a field")
    if _relations(parts) > MAX_RELATION_DEPTH:
        raise _Fault(f"A filter may follow at most {MAX_RELATION_DEPTH} relations")
    return parts


def _relations(parts: tuple[str, ...]) -> int:
    """How many relations a path follows: all parts before the last, or before the `data` that begins a nested path."""
    return parts.index("data") if "data" in parts else len(parts) - 1


def _hops(conditions: Iterable[Condition]) -> int:
    """How many different relations are followed: each is a search in MongoDB. `a.b.x_eq` follows `a` and `a.b`."""
    paths = (condition.path for condition in conditions)
    return len({path[: number + 1] for path in paths for number in range(_relations(path))})


def _whole(text: str, low: int, high: int) -> int:
    number = parse_number(text)
    if not isinstance(number, int) or not low <= number <= high:
        raise _Fault(f"Must be a whole number from {low} to {high}")
    return number


def _limit(text: str) -> int:
    return _whole(text, 1, MAX_LIMIT)


def _offset(text: str) -> int:
    return _whole(text, 0, MAX_OFFSET)


def _count(text: str) -> bool:
    if text not in {"true", "false"}:
        raise _Fault("Must be true or false")
    return text == "true"


def _descending(text: str) -> bool:
    if text not in {"asc", "desc"}:
        raise _Fault("Must be asc or desc")
    return text == "desc"


def _populate(text: str) -> tuple[tuple[str, ...], ...]:
    names = text.split(",")
    if text == EVERY_RELATION:
        return ((EVERY_RELATION,),)
    if len(names) > MAX_POPULATE:
        raise _Fault(f"At most {MAX_POPULATE} relations may be populated, or all of them with *")
    paths = tuple(_path(name) for name in dict.fromkeys(names))
    if any(len(path) > MAX_RELATION_DEPTH for path in paths):
        raise _Fault(f"Relations may be populated {MAX_RELATION_DEPTH} deep")
    return paths


# The parameters that are no filters: the field of ListQuery that each sets, and how its text is read.
_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "limit": ("limit", _limit),
    "offset": ("offset", _offset),
    "count": ("count", _count),
    "sort_by": ("sort_by", _path),
    "sort_order": ("descending", _descending),
    "populate": ("populate", _populate),
}
