"""The grammar of a list, in a query string or in a body → ListQuery. It knows operators and limits, and no field.

<field>_<operator>=<value>     the operator is the last `_` word: `referred_by_id_isnull` is isnull of `referred_by_id`
<relation>.<field>_<operator>  a field of the related record, up to three relations deep
data.<field>.<field>_<operator>  a field of a nested object
filters[<filter>]=<value>      any of these, as generated clients send the members of an object
where={"<field>_<operator>": <value>, "or": [...]}   the same with typed values, joined: see `where`
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from service.bounds import MAX_COUNTING_LIMIT, MAX_QUERY_BYTES
from service.errors import Invalid, Location, Violation
from service.query.cursor import fingerprint, read_cursor
from service.query.names import Fault, Path, UnknownParameter, check_conditions, read_name, read_path
from service.query.nodes import Condition, Count, JsonCondition, ListQuery, Where
from service.query.options import BODY, OPTIONS
from service.schema.nearest import describe_nearest

WRAPPED = re.compile(r"filters\[([^\[\]]+)\]")
# At most some megabytes, even of the longest queries.
CACHED_QUERIES = 256
# Names by which other services call a parameter, and its name here.
SYNONYMS = {
    "expand": "populate",
    "include": "populate",
    "order": "sort_by",
    "order_by": "sort_by",
    "page_size": "limit",
    "per_page": "limit",
    "select": "fields",
    "skip": "offset",
}
OTHERS = f"; the other parameters are {', '.join(OPTIONS)}"


@lru_cache(CACHED_QUERIES)
def parse_query(query_string: bytes) -> ListQuery:
    """The query that a query string spells. Raises Invalid.

    Remembered, because clients repeat themselves: the same list is polled, the same page is opened by everyone.
    """
    return parse(parse_pairs(query_string), OTHERS)


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
    if repeated := _find_repeated([name for name, _ in pairs]):
        raise Invalid(repeated)
    return pairs


def _find_repeated(names: list[str]) -> list[Violation]:
    if len(set(names)) == len(names):
        return []
    repeated = [name for name, times in Counter(names).items() if times > 1]
    return [Violation(("query", name), "A parameter may be sent once", "repeated") for name in repeated]


def parse_filters(pairs: Iterable[tuple[str, str]]) -> ListQuery:
    """The query that `pairs` spell, which are conditions and nothing else. Raises Invalid."""
    found = list(pairs)
    options = [name for name, _ in found if name in OPTIONS and name != "where"]
    if options:
        raise Invalid(
            Violation(("query", name), "This endpoint takes filters only", "extra_forbidden") for name in options
        )
    return parse(found)


def parse(pairs: Iterable[tuple[str, str]], others: str = "") -> ListQuery:
    """The query that `pairs` spell. Raises Invalid that names every parameter it cannot read.

    `others` is what a refusal says of the parameters that are no filters, where the endpoint takes them.
    """
    options, conditions, violations = dict[str, Any](), list[Condition](), list[Violation]()
    for name, text in pairs:
        try:
            if not text:
                raise Fault("A value is missing; leave the parameter out or give it one")
            if option := OPTIONS.get(name):
                options[option[0]] = option[1](text)
            else:
                filter_name = _unwrap(name)
                conditions.append(Condition(filter_name, *read_name(filter_name), text))
        except UnknownParameter as fault:
            hint = "" if violations or not others else _describe_option(name)
            violations.append(Violation(("query", name), f"{fault}{others}{hint}", "value_error"))
        except Fault as fault:
            violations.append(Violation(("query", name), str(fault), "value_error"))
        except Invalid as invalid:
            violations += invalid.violations
    violations += _find_repeated([condition.parameter for condition in conditions])
    return _complete(options, tuple(conditions), violations, ("query",))


def _describe_option(name: str) -> str:
    """The end of a sentence that proposes the parameter which `name` may mean."""
    return f'; did you mean "{SYNONYMS[name]}"?' if name in SYNONYMS else describe_nearest(name, OPTIONS)


def _unwrap(name: str) -> str:
    """`filters[title_eq]`, as generated clients send the parameter `filters` of the OpenAPI document → `title_eq`."""
    found = WRAPPED.fullmatch(name)
    return found[1] if found else name


def parse_body(body: Mapping[str, Any]) -> ListQuery:
    """The query that a body asks, whose values are of the types of `web/http/list_body`. Raises as `parse` does."""
    options, violations = dict[str, Any](), list[Violation]()
    for name, value in body.items():
        try:
            field, read = BODY[name]
            options[field] = read(value)
        except Fault as fault:
            violations.append(Violation(("query", name), str(fault), "value_error"))
        except Invalid as invalid:
            violations += invalid.violations
    return _complete(options, (), violations, ("query", "where"))


def _complete(
    options: dict[str, Any], conditions: tuple[Condition, ...], violations: list[Violation], place: Location
) -> ListQuery:
    """Checks parameters against each other and returns the query.

    `place` is the location of its conditions, for errors.
    """
    where, text = options.get("where", Where()), options.pop("cursor", None)
    violations += check_conditions([*conditions, *where], place)
    violations += _check_options(options, text)
    if violations:
        raise Invalid(violations)
    if options.pop("descending", False):
        (key,) = options.get("sort", ListQuery().sort)
        options["sort"] = (replace(key, descending=True),)
    query = ListQuery(conditions, **options)
    if text is None:
        return query
    count = options.get("count", Count.NONE)
    return replace(query, count=count, cursor=read_cursor(text, fingerprint(_lasting(query))))


def _check_options(options: Mapping[str, Any], cursor: str | None) -> Iterator[Violation]:
    sort = options.get("sort", ())
    if "descending" in options and (len(sort) > 1 or any(key.descending for key in sort)):
        msg = "sort_order goes with one field; for several, write - before each that descends"
        yield Violation(("query", "sort_order"), msg, "value_error")
    if "counts" in options and options.get("limit", ListQuery().limit) > MAX_COUNTING_LIMIT:
        yield Violation(("query", "limit"), f"With with_counts at most {MAX_COUNTING_LIMIT}", "value_error")
    if cursor is not None and "offset" in options:
        yield Violation(("query", "offset"), "With a cursor there is no offset", "value_error")


def _lasting(query: ListQuery) -> Any:
    """The parts that must be the same on every page of a cursor.

    The `where` of a query string and of a body are one.
    """
    filters = sorted((condition.parameter, condition.text) for condition in query.conditions)
    return [filters, _outline(query.where), [[*key.path, key.descending] for key in query.sort]]


def _outline(where: Where) -> Any:
    own = {
        f"{'.'.join(each.path)}_{each.operator}": _flat(each.value)
        for each in where.conditions
        if isinstance(each, JsonCondition)
    }
    return [own, {joined.word: [_outline(part) for part in joined.parts] for joined in where.joined}]


def _flat(value: Any) -> Any:
    """`value` without what no condition takes, however deep that is: the query will be refused for it."""
    if isinstance(value, list):
        return [None if isinstance(each, list | dict) else each for each in value]
    return None if isinstance(value, dict) else value


def parse_counts(query_string: bytes) -> tuple[str, ...]:
    """The names in `with_counts` of a request for one record. Raises Invalid."""
    pairs = dict(parse_pairs(query_string))
    return parse([("with_counts", pairs["with_counts"])]).counts if "with_counts" in pairs else ()


def parse_distinct(query_string: bytes) -> tuple[Path, ListQuery]:
    """The field whose values are asked for, and the filters. Raises Invalid."""
    pairs = dict(parse_pairs(query_string))
    name = pairs.pop("field", "")
    refused = [each for each in pairs if each in OPTIONS and each != "where"]
    if refused:
        msg = "This endpoint takes field, where and filters"
        raise Invalid(Violation(("query", each), msg, "extra_forbidden") for each in refused)
    if not name:
        raise Invalid.one(("query", "field"), "Name the field whose values are asked for", type_="missing")
    try:
        return read_path(name), parse(pairs.items())
    except Fault as fault:
        raise Invalid.one(("query", "field"), str(fault)) from None
