"""Trees judged in memory and by MongoDB: on random records, conditions and joins, the two must say the same."""

import random
import time
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo import MongoClient

from service.bounds import MAX_SET_VALUES, MAX_VALUES
from service.query.matcher import matches
from service.query.tree import Leaf, Tree, all_of, any_of, negate, to_filter

NAMES = ["a", "b", "c"]
MOMENTS = [datetime(2026, 1, day) for day in (1, 2, 3)]  # noqa: DTZ001 - as they are stored
NUMBERS = [0, 1, -1, 2**53 + 1, 1.0, 0.5, float(2**53)]
SCALARS = [*NUMBERS, True, False, "", "a", "b", "1", "é", "\U0001f600", "\uffff", *MOMENTS]
CORPUS = 500
# Values of records: each is found whole where it stands, and not where it is an element.
WHOLE: list[Any] = [[], {}, ["a"], [["a"]], [None], {"a": 1}, {"a": None}]


def random_value(generator: random.Random, depth: int) -> Any:
    kind = generator.random()
    if depth and kind < 0.2:
        return [random_value(generator, depth - 1) for _ in range(generator.randrange(4))]
    if depth and kind < 0.45:
        return random_object(generator, depth - 1)
    return None if kind < 0.5 else generator.choice(SCALARS)


def random_object(generator: random.Random, depth: int) -> dict[str, Any]:
    return {name: random_value(generator, depth) for name in NAMES if generator.random() < 0.7}


PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(lambda names: ".".join(("data", *names)))
CONSTANTS = st.sampled_from(SCALARS)
LEAVES = st.one_of(
    st.builds(Leaf, PATHS, st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]), CONSTANTS),
    st.builds(Leaf, PATHS, st.just("in"), st.lists(CONSTANTS, max_size=4).map(tuple)),
    st.builds(Leaf, PATHS, st.sampled_from(["nin", "hasall"]), st.lists(CONSTANTS, max_size=4).map(tuple)),
    st.builds(
        Leaf, PATHS, st.sampled_from(["contains", "icontains", "startswith"]), st.sampled_from(["a", "B", "É", "1"])
    ),
    st.builds(Leaf, PATHS, st.just("isnull"), st.booleans()),
    st.builds(
        Leaf, st.sampled_from(["data.a", "data.b"]), st.just("same"), st.one_of(CONSTANTS, st.sampled_from(WHOLE))
    ),
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.one_of(LEAVES, st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(all_of),
        st.lists(inner, min_size=1, max_size=3).map(any_of),
        inner.map(negate),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def records(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> Any:
    """A collection of random records, and the same as MongoDB gives them back."""
    generator = random.Random(20261121)  # noqa: S311 - reproducible, not secret
    collection = mongo[f"{database_prefix}matcher"]["records"]
    collection.drop()
    collection.insert_many({"_id": number, "data": random_object(generator, 3)} for number in range(CORPUS))
    yield collection, list(collection.find())
    mongo.drop_database(f"{database_prefix}matcher")


# 400 trees on 500 records: 200,000 comparisons.
@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tree=TREES)
def test_the_matcher_agrees_with_mongodb(records: Any, tree: Tree) -> None:
    collection, stored = records
    found = {record["_id"] for record in collection.find(to_filter(tree), {"_id": 1})}
    assert found == {record["_id"] for record in stored if matches(tree, record)}


@pytest.mark.parametrize("operator", ["in", "eq"])
def test_n18_an_array_is_looked_at_once_however_many_values_are_wanted(operator: str) -> None:
    """As many as a set of rules may have, and as many as one body: compared in pairs they take a minute."""
    record = {"data": {"a": [f"text {number}" for number in range(MAX_VALUES)]}}
    wanted = tuple(f"other {number}" for number in range(MAX_SET_VALUES))
    started = time.thread_time()
    assert not matches(Leaf("data.a", operator, wanted if operator == "in" else wanted[0]), record)
    assert time.thread_time() - started < 1
