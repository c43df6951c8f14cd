"""Commands described without their values, and plans."""

import re
from typing import Any

import pytest

from service.storage.query_watch import describe, describe_plan, explained

FIND = {"find": "c_notes", "limit": 20, "maxTimeMS": 2_000, "lsid": {"id": 1}, "$db": "p"}


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param({"data.title": "secret"}, ("data.title $eq",), id="equality"),
        pytest.param({"data.title": {"$in": ["secret"]}}, ("data.title $in",), id="operator"),
        pytest.param({"data.title": {"$gte": 1, "$lt": 5}}, ("data.title $gte", "data.title $lt"), id="range"),
        pytest.param({"data.title": re.compile("secret")}, ("data.title $regex",), id="compiled pattern"),
        pytest.param({"data.title": {"$regex": "secret", "$options": "i"}}, ("data.title $regex",), id="pattern"),
        pytest.param({"data.title": {"$not": {"$gt": 5}}}, ("data.title $gt",), id="negated"),
        pytest.param({"$or": [{"a": 1}, {"$and": [{"b": 2}, {"a": 3}]}]}, ("a $eq", "b $eq"), id="joined"),
        pytest.param({"data.place": {"city": "secret"}}, ("data.place $eq",), id="an object as a value"),
        pytest.param({"$expr": {"$eq": ["$a", "secret"]}}, ("$expr",), id="expression"),
    ],
)
def test_a_filter_is_described_by_names_and_operators(match: dict[str, Any], expected: tuple[str, ...]) -> None:
    shape = describe({**FIND, "filter": match, "sort": {"created_at": -1, "_id": -1}})
    assert (shape.collection, shape.filter) == ("c_notes", expected)
    assert shape.sort == ("created_at -1", "_id -1")
    assert "secret" not in repr(shape)


def test_an_aggregation_is_described_by_its_first_match_and_sort() -> None:
    pipeline = [{"$match": {"data.a": 1}}, {"$sort": {"data.b": 1}}, {"$match": {"data.c": 2}}]
    shape = describe({"aggregate": "users", "pipeline": pipeline, "cursor": {}})
    assert (shape.collection, shape.filter, shape.sort) == ("users", ("data.a $eq",), ("data.b 1",))


def test_a_filter_of_many_conditions_is_cut_short() -> None:
    assert len(describe({**FIND, "filter": {f"f{number}": 1 for number in range(500)}}).filter) == 20


def test_what_the_driver_added_is_not_explained() -> None:
    assert explained({**FIND, "filter": {"a": 1}}) == {
        "explain": {"find": "c_notes", "filter": {"a": 1}, "limit": 20},
        "verbosity": "queryPlanner",
    }


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"queryPlanner": {"winningPlan": {"stage": "SORT", "inputStage": {"stage": "COLLSCAN"}}}}, "SORT COLLSCAN"),
        (
            {"stages": [{"$cursor": {"queryPlanner": {"winningPlan": {"queryPlan": {"stage": "COLLSCAN"}}}}}]},
            "COLLSCAN",
        ),
        (
            {"winningPlan": {"stage": "FETCH", "inputStage": {"stage": "IXSCAN", "indexName": "email"}}},
            "FETCH IXSCAN(email)",
        ),
        ({"ok": 1}, ""),
    ],
)
def test_a_plan_is_its_stages_and_indexes(reply: dict[str, Any], expected: str) -> None:
    assert describe_plan(reply) == expected
