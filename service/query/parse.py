"""The grammar of a list, in a query string or in a body → ListQuery. It knows operators and limits, and no field.

<field>_<operator>=<value>     the operator is the last `_` word: `referred_by_id_isnull` is isnull of `referred_by_id`
<relation>.<field>_<operator>  a field of the related record, up to three relations deep
data.<field>.<field>_<operator>  a field of a nested object
where={"<field>_<operator>": <value>, "or": [...]}   the same with typed values, joined: see `where`
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from service.bounds import MAX_LIMIT, MAX_POPULATE, MAX_QUERY_BYTES, MAX_RELATION_DEPTH
from service.errors import Invalid, Violation
from service.query.names import Fault, check_conditions, read_name, read_path
from service.query.nodes import EVERY_RELATION, Condition, ListQuery, Where
from service.query.where import read_where
from service.schema.strict_json import loads
from service.schema.values import parse_number

# At most some megabytes, even of the longest queries.
CACHED_QUERIES = 256
# MongoDB's $skip is a 64-bit integer.
MAX_OFFSET = 2**63 - 1


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
                raise Fault("A value is missing; leave the parameter out or give it one")
            if option := _OPTIONS.get(name):
                options[option[0]] = option[1](text)
            else:
                conditions.append(Condition(name, *read_name(name), text))
        except Fault as fault:
            violations.append(Violation(("query", name), str(fault), "value_error"))
        except Invalid as invalid:
            violations += invalid.violations
    query = ListQuery(tuple(conditions), **options)
    violations += check_conditions(query, ("query",))
    if violations:
        raise Invalid(violations)
    return query


def parse_body(body: Mapping[str, Any]) -> ListQuery:
    """The query that a body asks, whose values are of the types of `web/http/list_body`. Raises as `parse` does."""
    options, violations = dict[str, Any](), list[Violation]()
    for name, value in body.items():
        try:
            field, read = _BODY[name]
            options[field] = read(value)
        except Fault as fault:
            violations.append(Violation(("query", name), str(fault), "value_error"))
        except Invalid as invalid:
            violations += invalid.violations
    query = ListQuery(**options)
    violations += check_conditions(query, ("query", "where"))
    if violations:
        raise Invalid(violations)
    return query


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


def _count(text: str) -> bool:
    if text not in {"true", "false"}:
        raise Fault("Must be true or false")
    return text == "true"


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


# The parameters that are no filters: the field of ListQuery that each sets, and how its text is read.
_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "limit": ("limit", _limit),
    "offset": ("offset", _offset),
    "count": ("count", _count),
    "sort_by": ("sort_by", read_path),
    "sort_order": ("descending", _descending),
    "populate": ("populate", lambda text: _populate(text.split(","))),
    "where": ("where", _where),
}
# The same of a body.
_BODY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "limit": ("limit", int),
    "offset": ("offset", int),
    "populate": ("populate", _populate),
    "where": ("where", lambda value: read_where(value, ("query", "where"))),
}
