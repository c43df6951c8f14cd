"""Computes the rows of an aggregation of the orders of a shop by docs/aggregations.md, one record after the other.

It does not cover hours and minutes in zones whose clocks were off by less than an hour, which the page leaves to
MongoDB.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_FLOOR, Decimal
from functools import cmp_to_key
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from faults.aggregations.order import BY_VALUE, compare
from faults.aggregations.shop import Record, Shop

ABSENT = object()
NAMED = {"id": "_id", "created_at": "created_at", "updated_at": "updated_at"}
TARGETS = {"buyer": "buyers", "agent": "buyers", "company": "companies"}
Body = Mapping[str, Any]


def aggregate(body: Body, shop: Shop) -> list[Record]:
    """The rows, in their order."""
    records = [record for record in shop["orders"] if _holds(body.get("where", {}), record, shop)]
    keys = {name: key if isinstance(key, dict) else {"field": key} for name, key in body.get("group", {}).items()}
    groups: list[tuple[list[Any], list[Record]]] = []
    places: dict[Any, int] = {}
    for record in records:
        for found in product(*(_values_of_key(key, record, shop) for key in keys.values())):
            place = places.setdefault(_hashable(list(found)), len(groups))
            if place == len(groups):
                groups.append((list(found), []))
            groups[place][1].append(record)
    if not keys and not groups:
        groups = [([], [])]
    rows = [dict(zip(keys, found, strict=True)) | _values(body, members) for found, members in groups]
    rows = [row for row in rows if _has(body.get("having", {}), row)]
    return sorted(rows, key=cmp_to_key(_order(body, list(keys))))[: body.get("limit", 100)]


def _hashable(value: Any) -> Any:
    """Equal for what MongoDB has in one group: 1 is 1.0, and not true."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("list", tuple(map(_hashable, value)))
        case dict():
            return ("object", tuple((name, _hashable(each)) for name, each in value.items()))
    return value


def _order(body: Body, keys: Sequence[str]) -> Any:
    wanted = [(text.removeprefix("-"), -1 if text.startswith("-") else 1) for text in body.get("sort_by", [])]

    def compared(one: Record, other: Record) -> int:
        signs = (compare(one[name], other[name]) * sign for name, sign in (*wanted, *((key, 1) for key in keys)))
        return next((sign for sign in signs if sign), 0)

    return compared


def _values_of_key(key: Mapping[str, Any], record: Record, shop: Shop) -> Iterator[Any]:
    value = _at(record, key["field"], shop)
    if not key.get("each"):
        yield _bucket(key, None if value is ABSENT else value)
    elif isinstance(value, list):
        yield from (_bucket(key, each) for each in value)
    elif value is not ABSENT and value is not None:
        yield _bucket(key, value)


def _at(record: Record, field: str, shop: Shop) -> Any:
    first, _, rest = field.partition(".")
    if rest and first in TARGETS:
        related = _find(shop, TARGETS[first], record["data"].get(f"{first}_id"))
        return ABSENT if related is None else _at(related, rest, shop)
    return record[NAMED[field]] if field in NAMED else _inside(record["data"], field.removeprefix("data.").split("."))


def _find(shop: Shop, collection: str, id_: Any) -> Record | None:
    return next((record for record in shop[collection] if record["_id"] == id_), None)


def _inside(value: Any, path: Sequence[str]) -> Any:
    if not path:
        return value
    if isinstance(value, list):
        found = (_inside(each, path) for each in value)
        return [each for each in found if each is not ABSENT]
    if not isinstance(value, dict) or path[0] not in value:
        return ABSENT
    return _inside(value[path[0]], path[1:])


def _bucket(key: Mapping[str, Any], value: Any) -> Any:
    if "step" in key:
        return _lower_bound(value, key["step"])
    if "every" in key:
        return _first_instant(value, key["every"], key.get("timezone", "UTC"))
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lower_bound(value: Any, step: float) -> Any:
    if not _is_number(value):
        return None
    number, wide = Decimal(repr(value)), Decimal(repr(step))
    bound = (number / wide).to_integral_value(ROUND_FLOOR) * wide
    return int(bound) if isinstance(step, int) else float(bound)


def _first_instant(value: Any, every: str, name: str) -> datetime | None:
    if not isinstance(value, datetime):
        return None
    zone = _zone(name)
    local = value.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    start = _start(local, every)
    if every in {"minute", "hour"}:
        # A clock that is set back shows an hour twice; each is one of its own.
        return value - (local - start)
    return start.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)


def _zone(name: str) -> tzinfo:
    if name[0] not in "+-":
        return ZoneInfo(name)
    hours, minutes = name[1:].split(":")
    shift = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-shift if name[0] == "-" else shift)


def _start(local: datetime, every: str) -> datetime:
    minute = local.replace(second=0, microsecond=0)
    day = minute.replace(hour=0, minute=0)
    starts = {
        "minute": minute,
        "hour": minute.replace(minute=0),
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "quarter": day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1),
        "year": day.replace(day=1, month=1),
    }
    return starts[every]


def _values(body: Body, members: Sequence[Record]) -> Record:
    return {name: _value(value, members) for name, value in body.get("values", {}).items()}


def _value(value: Any, members: Sequence[Record]) -> Any:
    if value == "count":
        return len(members)
    ((function, field),) = value.items()
    found = [each for record in members if (each := _at(record, field, {})) is not ABSENT and each is not None]
    if function == "count_distinct":
        return len({_hashable(each) for each in found})
    if function in {"min", "max"}:
        return (min if function == "min" else max)(found, key=BY_VALUE, default=None)
    numbers = [each for each in found if _is_number(each)]
    total = sum(numbers) if all(isinstance(each, int) for each in numbers) else math.fsum(numbers)
    if function == "sum":
        return total
    return total / len(numbers) if numbers else None


def _has(having: Mapping[str, Any], row: Record) -> bool:
    return all(_compare(row[key.rpartition("_")[0]], key.rpartition("_")[2], value) for key, value in having.items())


def _holds(where: Mapping[str, Any], record: Record, shop: Shop) -> bool:
    return all(_entry(key, value, record, shop) for key, value in where.items())


def _entry(key: str, value: Any, record: Record, shop: Shop) -> bool:
    if key == "or":
        return any(_holds(part, record, shop) for part in value)
    if key == "not":
        return not _holds(value, record, shop)
    field, _, operator = key.rpartition("_")
    found = _at(record, field, shop)
    return _compare(None if found is ABSENT else found, operator, value)


def _compare(found: Any, operator: str, value: Any) -> bool:
    same = type(found) is type(value) or (_is_number(found) and _is_number(value))
    match operator:
        case "eq":
            return same and bool(found == value)
        case "ne":
            return not (same and found == value)
        case "in":
            return found in value
        case "isnull":
            return (found is None) is value
        case "gte":
            return same and bool(found >= value)
    return same and bool(found < value)


def is_equal(rows: Iterable[Any], others: Iterable[Any]) -> bool:
    """True if both have the same rows in the same order, but for the last digits of sums."""
    return _is_same(list(rows), list(others))


def _is_same(one: Any, other: Any) -> bool:
    match one, other:
        case list(), list():
            return len(one) == len(other) and all(map(_is_same, one, other))
        case dict(), dict():
            return list(one) == list(other) and all(map(_is_same, one.values(), other.values()))
        case float(), int() | float():
            return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        case int(), float():
            return _is_same(other, one)
    # MongoDB's long integers are of a class of their own.
    is_same = (_is_number(one) and _is_number(other)) or type(one) is type(other)
    return is_same and bool(one == other)
