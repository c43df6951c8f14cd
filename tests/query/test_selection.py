"""Which fields are shown: what is left out here is what MongoDB's own projection leaves out."""

import random
from typing import Any

import pytest
from pymongo import MongoClient

from service.query.selection import Selection, data_paths, prune, select

NAMES = ("a", "b", "c d")
SELECTED: list[tuple[list[str], Selection]] = [
    ([], {}),
    (["a"], {"a": None}),
    (["a.b"], {"a": {"b": None}}),
    (["a.b", "a.c"], {"a": {"b": None, "c": None}}),
    (["a.b", "a"], {"a": None}),
    (["a", "a.b"], {"a": None}),
    (["a.b.c", "a.b", "d"], {"a": {"b": None}, "d": None}),
]


@pytest.mark.parametrize(("names", "expected"), SELECTED)
def test_the_whole_of_a_field_wins(names: list[str], expected: Selection) -> None:
    assert select(name.split(".") for name in names) == expected


def test_what_is_read_beside_it_is_inside_nothing_else() -> None:
    selection = select([("a", "b"), ("x",)])
    assert data_paths(selection, ["data.a", "data.x.y", "data.z_id"]) == ["data.a", "data.x", "data.z_id"]
    assert data_paths(selection) == ["data.a.b", "data.x"]


def random_value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth and kind < 0.3:
        return [random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if depth and kind < 0.7:
        return {name: random_value(chance, depth - 1) for name in NAMES if chance.random() < 0.7}
    return chance.choice([None, 1, "a"])


def test_the_same_is_left_out_as_by_mongodb(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> None:
    chance = random.Random(20261121)  # noqa: S311 - repeatable
    collection = mongo[f"{database_prefix}selection"]["records"]
    collection.drop()
    collection.insert_many(
        {"_id": number, "data": {name: random_value(chance, 4) for name in NAMES}} for number in range(150)
    )
    stored = {each["_id"]: each["data"] for each in collection.find()}
    for _ in range(25):
        selection = select([chance.choices(NAMES, k=chance.randint(1, 3)) for _ in range(chance.randint(1, 3))])
        for found in collection.find({}, dict.fromkeys(data_paths(selection), 1)):
            assert found["data"] == prune(stored[found["_id"]], selection)
            assert found["data"] == prune(found["data"], selection)
    mongo.drop_database(f"{database_prefix}selection")
