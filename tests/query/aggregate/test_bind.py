"""The names that keys, values, conditions and columns may use, by the schema of a collection."""

from typing import Any

import pytest

from service.errors import Invalid
from service.query.aggregate.bind import bind_aggregation
from service.query.aggregate.grammar import read_aggregation
from tests.query.aggregate.test_plan import SHAPES


@pytest.mark.parametrize(
    ("part", "place", "msg"),
    [
        ({"group": {"k": "colour"}}, ["group", "k"], "There is no such field in this collection"),
        ({"group": {"k": "seller.city"}}, ["group", "k"], "There is no such relation in this collection"),
        ({"group": {"k": "buyer.colour"}}, ["group", "k"], "There is no such field in this collection"),
        (
            {"group": {"k": {"field": "status", "each": True}}},
            ["group", "k"],
            "The field is no array, so it has no elements to look at each of",
        ),
        (
            {"group": {"k": {"field": "status", "every": "day"}}},
            ["group", "k"],
            "The field is string, and only dates have buckets of time",
        ),
        (
            {"group": {"k": {"field": "at", "step": 1}}},
            ["group", "k"],
            "The field is datetime, and only numbers have buckets of a step",
        ),
        (
            {"group": {"k": {"field": "marks", "step": 1}}},
            ["group", "k"],
            'The field is an array; its elements have buckets with "each": true',
        ),
        ({"values": {"v": {"sum": "status"}}}, ["values", "v"], "The field is string, and only numbers have a sum"),
        ({"values": {"v": {"avg": "marks"}}}, ["values", "v"], "The field is array, and only numbers have a avg"),
        (
            {"values": {"v": {"max": "buyer.city"}}},
            ["values", "v"],
            "A value looks at a field of the records themselves, not along a relation",
        ),
        (
            {"where": {"colour_eq": 1}, "values": {"v": "count"}},
            ["where", "colour_eq"],
            "There is no such field in this collection",
        ),
        (
            {"where": {"total_eq": "1"}, "values": {"v": "count"}},
            ["where", "total_eq"],
            "The value must be a whole number",
        ),
        (
            {"values": {"v": "count"}, "having": {"w_eq": 1}},
            ["having", "w_eq"],
            "There is no such column; name a key or a value of this aggregation",
        ),
        (
            {"values": {"v": "count"}, "having": {"v.w_eq": 1}},
            ["having", "v.w_eq"],
            "There is no such column; name a key or a value of this aggregation",
        ),
        (
            {"group": {"k": {"field": "at", "every": "day"}}, "having": {"k_gte": 5}},
            ["having", "k_gte"],
            "The value must be an ISO 8601 date such as 2026-01-31 or 2026-01-31T12:00:00Z",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(part: dict[str, Any], place: list[str], msg: str) -> None:
    aggregation = read_aggregation(part, ("body",))
    with pytest.raises(Invalid) as refused:
        bind_aggregation(aggregation, SHAPES["orders"], ("body",))
    (violation,) = refused.value.violations
    assert (violation.loc, violation.msg) == (("body", *place), msg)
