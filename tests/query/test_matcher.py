"""Trees judged in memory and by MongoDB: on random records, conditions and joins, the two must say the same."""

import random
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo import MongoClient

from faults.matcher import NAMES, SCALARS, WHOLE, Outcome, compare, differs, random_records
from service.bounds import MAX_SET_VALUES, MAX_VALUES
from service.query import closures, operators, tree
from service.query.matcher import matches
from service.query.reading import Reading
from service.query.tree import Leaf, Tree, all_of, any_of, negate

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
    collection.insert_many(random_records(generator))
    yield collection, list(map(Reading, collection.find()))
    mongo.drop_database(f"{database_prefix}matcher")


# 150 trees on 500 records, each judged in three ways; `scripts/fuzz matcher` has more.
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tree=TREES)
def test_the_matcher_agrees_with_mongodb(records: Any, tree: Tree) -> None:
    collection, stored = records
    assert not differs(collection, stored, tree, Outcome())


def test_random_trees_on_records_of_their_own(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> None:
    """The way of `scripts/fuzz matcher`, which makes more."""
    database = mongo[f"{database_prefix}matcher_more"]
    outcome = compare(database["records"], count=20_000)
    mongo.drop_database(database.name)
    assert not outcome.differing
    assert outcome.telling > outcome.trees / 4


def test_each_operator_has_both_back_ends() -> None:
    """`pattern` is made of other conditions where MongoDB alone is asked."""
    assert tree.EXPRESSIONS.keys() - {"pattern"} == closures.OPERATORS.keys()
    assert operators.OPERATORS.keys() <= closures.OPERATORS.keys()


@pytest.mark.parametrize("operator", ["in", "eq"])
def test_n18_an_array_is_looked_at_once_however_many_values_are_wanted(operator: str) -> None:
    """As many as a set of rules may have, and as many as one body: compared in pairs they take a minute."""
    record = {"data": {"a": [f"text {number}" for number in range(MAX_VALUES)]}}
    wanted = tuple(f"other {number}" for number in range(MAX_SET_VALUES))
    started = time.thread_time()
    leaf = Leaf("data.a", operator, wanted if operator == "in" else wanted[0])
    assert not matches(leaf, record)
    assert time.thread_time() - started < 1
