"""The grammar of aggregations: what is refused, where, and how it is said."""

from typing import Any

import pytest

from service.errors import Invalid
from service.query.aggregate.grammar import read_aggregation
from service.query.aggregate.nodes import AskedKey, DateBucket, NumberBucket, Value

COUNT = {"values": {"n": "count"}}


def test_every_part_is_read() -> None:
    body = {
        "where": {"status_eq": "paid"},
        "group": {
            "city": "buyer.city",
            "month": {"field": "created_at", "every": "month", "timezone": "Europe/Paris"},
            "price": {"field": "price", "step": 0.5},
            "tag": {"field": "tags", "each": True},
        },
        "values": {"n": "count", "revenue": {"sum": "total"}},
        "having": {"n_gte": 2},
        "sort_by": ["-revenue", "city"],
        "limit": 7,
    }
    found = read_aggregation(body, ("body",))
    assert found.keys == (
        AskedKey("city", ("buyer", "city")),
        AskedKey("month", ("created_at",), DateBucket("month", "Europe/Paris")),
        AskedKey("price", ("price",), NumberBucket(0.5)),
        AskedKey("tag", ("tags",), each=True),
    )
    assert found.values == (Value("n", "count"), Value("revenue", "sum", ("total",)))
    assert found.sort == (("revenue", True), ("city", False))
    assert found.limit == 7
    assert [condition.operator for condition in (*found.where, *found.having)] == ["eq", "gte"]


def test_what_is_left_out_has_a_default() -> None:
    found = read_aggregation({"group": {"day": {"field": "at", "every": "day"}}}, ("body",))
    assert (found.limit, found.sort, found.values, list(found.where)) == (100, (), (), [])
    assert found.keys[0].bucket == DateBucket("day", "UTC")


REFUSED: dict[str, tuple[dict[str, Any], tuple[str | int, ...], str]] = {
    "nothing": ({}, ("values",), "missing"),
    "an empty group alone": ({"group": {}}, ("values",), "missing"),
    "an unknown part": ({**COUNT, "pipeline": []}, ("pipeline",), "extra_forbidden"),
    "a group that is a list": ({"group": ["city"]}, ("group",), "dict_type"),
    "9 keys": ({"group": {f"k{n}": "city" for n in range(9)}}, ("group",), "too_many"),
    "17 values": ({"values": {f"v{n}": "count" for n in range(17)}}, ("values",), "too_many"),
    "a name with a dot": ({"group": {"a.b": "city"}}, ("group", "a.b"), "field_name"),
    "a name with a $": ({"values": {"$n": "count"}}, ("values", "$n"), "field_name"),
    "a name with a -": ({"values": {"-n": "count"}}, ("values", "-n"), "field_name"),
    "an empty name": ({"values": {"": "count"}}, ("values", ""), "field_name"),
    "a name twice": ({"group": {"n": "city"}, **COUNT}, ("values", "n"), "repeated"),
    "a key that is a number": ({"group": {"k": 1}}, ("group", "k"), "dict_type"),
    "a key without a field": ({"group": {"k": {"every": "day"}}}, ("group", "k", "field"), "missing"),
    "a key with an unknown option": (
        {"group": {"k": {"field": "at", "unit": "day"}}},
        ("group", "k", "unit"),
        "extra_forbidden",
    ),
    "a field that is no name": ({"group": {"k": "a..b"}}, ("group", "k"), "value_error"),
    "a field with a $": ({"group": {"k": "$password"}}, ("group", "k"), "value_error"),
    "a field that is a list": ({"group": {"k": {"field": ["a"]}}}, ("group", "k", "field"), "string_type"),
    "four relations": ({"group": {"k": "a.b.c.d.e"}}, ("group", "k"), "value_error"),
    "each that is a text": ({"group": {"k": {"field": "a", "each": "yes"}}}, ("group", "k", "each"), "bool_type"),
    "an unknown unit": ({"group": {"k": {"field": "a", "every": "decade"}}}, ("group", "k", "every"), "enum"),
    "a unit that is a list": ({"group": {"k": {"field": "a", "every": ["day"]}}}, ("group", "k", "every"), "enum"),
    "a time zone that is none": (
        {"group": {"k": {"field": "a", "every": "day", "timezone": "Europe Paris"}}},
        ("group", "k", "timezone"),
        "timezone",
    ),
    "an offset of 15 hours": (
        {"group": {"k": {"field": "a", "every": "day", "timezone": "+15:00"}}},
        ("group", "k", "timezone"),
        "timezone",
    ),
    "a time zone alone": (
        {"group": {"k": {"field": "a", "timezone": "UTC"}}},
        ("group", "k", "timezone"),
        "value_error",
    ),
    "a step of 0": ({"group": {"k": {"field": "a", "step": 0}}}, ("group", "k", "step"), "greater_than"),
    "a step below 0": ({"group": {"k": {"field": "a", "step": -1.5}}}, ("group", "k", "step"), "greater_than"),
    "a step that is true": ({"group": {"k": {"field": "a", "step": True}}}, ("group", "k", "step"), "greater_than"),
    "a step and a unit": (
        {"group": {"k": {"field": "a", "step": 1, "every": "day"}}},
        ("group", "k", "every"),
        "value_error",
    ),
    "an unknown function": ({"values": {"v": {"median": "a"}}}, ("values", "v"), "value"),
    "two functions": ({"values": {"v": {"sum": "a", "avg": "a"}}}, ("values", "v"), "value"),
    "an operator of MongoDB": ({"values": {"v": {"$sum": "a"}}}, ("values", "v"), "value"),
    "a sum of a number": ({"values": {"v": {"sum": 1}}}, ("values", "v", "sum"), "string_type"),
    "a where that is a list": ({**COUNT, "where": []}, ("where",), "where"),
    "a where with an unknown operator": ({**COUNT, "where": {"a_regex": "x"}}, ("where", "a_regex"), "value_error"),
    "51 conditions": ({**COUNT, "where": {f"a{n}_eq": n for n in range(51)}}, ("where",), "too_many"),
    "six relations": (
        {**COUNT, "where": {f"r{n}.name_eq": "x" for n in range(6)}},
        ("where",),
        "too_many",
    ),
    "a having that is null": ({**COUNT, "having": None}, ("having",), "where"),
    "a sort by no column": ({**COUNT, "sort_by": ["city"]}, ("sort_by", 0), "value_error"),
    "a sort by a column twice": ({**COUNT, "sort_by": ["n", "-n"]}, ("sort_by", 1), "value_error"),
    "a sort by a number": ({**COUNT, "sort_by": [1]}, ("sort_by", 0), "value_error"),
    "a sort by a text": ({**COUNT, "sort_by": "n"}, ("sort_by",), "list_type"),
    "a sort by four": ({"values": dict.fromkeys("abcd", "count"), "sort_by": [*"abcd"]}, ("sort_by",), "list_type"),
    "a limit of 0": ({**COUNT, "limit": 0}, ("limit",), "value_error"),
    "a limit of 1001": ({**COUNT, "limit": 1001}, ("limit",), "value_error"),
    "a limit that is a text": ({**COUNT, "limit": "5"}, ("limit",), "value_error"),
    "a limit that is true": ({**COUNT, "limit": True}, ("limit",), "value_error"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_aggregation_is_refused(name: str) -> None:
    body, place, type_ = REFUSED[name]
    with pytest.raises(Invalid) as refused:
        read_aggregation(body, ("body",))
    found = [(violation.loc, violation.type) for violation in refused.value.violations]
    assert (("body", *place), type_) in found


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        read_aggregation({"group": {"k": 1}, "values": {"v": 2}, "limit": 0, "sort_by": ["x"]}, ("body",))
    assert [violation.loc[1] for violation in refused.value.violations] == ["group", "values", "sort_by", "limit"]
