"""MongoDB expressions computed from a field: buckets of dates and numbers, and sums that JSON can hold."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from service.bounds import MAX_GROUPED_BYTES
from service.query.aggregate.grammar import UTC
from service.query.aggregate.nodes import Bucket, DateBucket

Expression = Any

# Since then the clocks of all time zones have been a multiple of 15 minutes from UTC (Kiritimati's were the last).
QUARTERS_SINCE = datetime(1980, 1, 1)  # noqa: DTZ001 - as MongoDB keeps it
# Units that take MongoDB a calendar to find, and so twice as long as a quarter of an hour does.
CALENDAR_UNITS = frozenset({"day", "week", "month", "quarter", "year"})
# Units for which MongoDB needs a calendar, and so twice the time of a quarter of an hour.
TEXT_OVERHEAD = 13
INFINITY = float("inf")


def or_null(value: Expression) -> Expression:
    """The value; null if it is absent."""
    return {"$ifNull": [value, None]}


def bounded(value: Expression) -> Expression:
    """`value`, or null if it is absent. If it is too large MongoDB fails, with the code of a bad conversion.

    The failing expression depends on the value, for MongoDB would compute a constant one beforehand.
    """
    return _let(
        value,
        lambda it: {
            "$cond": [
                {"$gt": [{"$bsonSize": {"v": it}}, MAX_GROUPED_BYTES + TEXT_OVERHEAD]},
                {"$toInt": {"$type": it}},
                or_null(it),
            ]
        },
    )


def id_of(value: Expression, *, is_declared: bool) -> Expression:
    """An id that may name a record; null for anything else."""
    if is_declared:
        return or_null(value)
    return _let(value, lambda it: {"$cond": [{"$eq": [{"$type": it}, "string"]}, it, None]})


def bucket_of(value: Expression, bucket: Bucket) -> Expression:
    """The lower bound of the bucket; null for a value that is no date, or no number."""
    if isinstance(bucket, DateBucket):
        return _let(value, lambda it: _if_date(it, truncated(it, bucket)))
    step = bucket.step
    return _let(value, lambda it: _whole_step(it, step) if isinstance(step, int) else _decimal_step(it, step))


def truncated(date: Expression, bucket: DateBucket) -> Expression:
    unit = {"unit": bucket.every, "timezone": bucket.timezone, "startOfWeek": "monday"}
    return {"$dateTrunc": {"date": date, **unit}}


def is_slow(bucket: Bucket | None) -> bool:
    """True if it is faster to find quarters of an hour first."""
    if not isinstance(bucket, DateBucket) or bucket.every not in CALENDAR_UNITS:
        return False
    return bucket.timezone != UTC and bucket.timezone[0] not in "+-"


def quarter_of(value: Expression, bucket: DateBucket) -> Expression:
    """The quarter of an hour of a date; the bucket itself of one from before the clocks were set by quarters."""
    quarter = {"$dateTrunc": {"date": value, "unit": "minute", "binSize": 15}}
    recent = {"$cond": [{"$gte": [value, QUARTERS_SINCE]}, quarter, truncated(value, bucket)]}
    return _if_date(value, recent)


def bucket_of_quarter(quarter: Expression, bucket: DateBucket) -> Expression:
    return {"$cond": [{"$gte": [quarter, QUARTERS_SINCE]}, truncated(quarter, bucket), quarter]}


def checks_of_zones(zones: set[str]) -> list[dict[str, Any]]:
    """Conditions that always hold, for which MongoDB must know the time zones, be there records or not."""
    days = ({"$dateTrunc": {"date": QUARTERS_SINCE, "unit": "day", "timezone": zone}} for zone in sorted(zones))
    return [{"$match": {"$expr": {"$ne": [day, None]}}} for day in days]


def finite(number: Expression) -> Expression:
    """The number, or null for one that JSON has no form for."""
    return {"$cond": [{"$and": [{"$gt": [number, -INFINITY]}, {"$lt": [number, INFINITY]}]}, number, None]}


def mean(total: Expression, count: Expression) -> Expression:
    return finite({"$cond": [{"$gt": [count, 0]}, {"$divide": [total, {"$max": [count, 1]}]}, None]})


def shown_file(value: str, name: Expression, prefix: str) -> Expression:
    """The URL of a file where `value` is the `name` of one, which the record keeps."""
    return {"$cond": [{"$eq": [name, value]}, {"$concat": [prefix, value]}, value]}


def _if_date(value: Expression, then: Expression) -> Expression:
    return {"$cond": [{"$eq": [{"$type": value}, "date"]}, then, None]}


def _whole_step(it: str, step: int) -> Expression:
    """The step below a number, exact for whole numbers. `$mod` has the sign of the dividend, so it is applied twice."""
    above = {"$mod": [{"$add": [{"$mod": [it, step]}, step]}, step]}
    floored = finite({"$multiply": [{"$floor": {"$divide": [it, step]}}, step]})
    return {
        "$switch": {
            "branches": [
                {"case": {"$in": [{"$type": it}, ["int", "long"]]}, "then": {"$subtract": [it, above]}},
                {"case": {"$isNumber": it}, "then": floored},
            ],
            "default": None,
        }
    }


def _decimal_step(it: str, step: float) -> Expression:
    """In decimal, for 0.3 is in the bucket of 0.3 where the step is 0.1."""
    wide = {"$toDecimal": repr(step)}
    floored = {"$multiply": [{"$floor": {"$divide": [{"$toDecimal": it}, wide]}}, wide]}
    number = {"$convert": {"input": floored, "to": "double", "onError": None, "onNull": None}}
    return {"$cond": [{"$isNumber": it}, finite(number), None]}


def _let(value: Expression, use: Callable[[str], Expression]) -> Expression:
    """`use` of what `value` computes, once."""
    if isinstance(value, str):
        return use(value)
    return {"$let": {"vars": {"it": value}, "in": use("$$it")}}
