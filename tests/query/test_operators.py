"""The ten operators, once as they are translated and once as MongoDB understands the translation."""

from typing import Any

import pytest
from pymongo import MongoClient

from service.query.bind import USERS
from service.query.operators import OPERATORS
from service.schema.values import BadValue

# The records every row of the table below is asked of: a name for each, and its `data`.
RECORDS: dict[str, dict[str, Any]] = {
    "number": {"x": 33},
    "text": {"x": "33"},
    "decimal": {"x": 33.0},
    "list": {"x": [33, "b"]},
    "true": {"x": True},
    "word": {"x": "true"},
    "one": {"x": 1},
    "null": {"x": None},
    "absent": {},
    "list of null": {"x": [None]},
    "empty list": {"x": []},
    "phrase": {"x": "a+b (c)*[d] É"},
    "date": {"x": "2026-05-01"},
    "comma": {"x": "a,b"},
    "object": {"x": {"y": 5}},
}
VALUES = RECORDS.keys() - {"null", "absent"}

TABLE: list[tuple[str, str, str, set[str]]] = [
    ("eq a number", "eq", "33", {"number", "text", "decimal", "list"}),
    ("eq a boolean", "eq", "true", {"true", "word"}),
    ("eq a number that is also true", "eq", "1", {"one"}),
    ("eq text", "eq", "a+b (c)*[d] É", {"phrase"}),
    ("eq nothing", "eq", "nobody", set()),
    ("ne", "ne", "33", RECORDS.keys() - {"number", "text", "decimal", "list"}),
    ("gt", "gt", "32.9", {"number", "decimal", "list"}),
    ("gt equal", "gt", "33", set()),
    ("gte", "gte", "33", {"number", "decimal", "list"}),
    ("lt", "lt", "33", {"one"}),
    ("lte", "lte", "33", {"number", "decimal", "list", "one"}),
    ("gte a date", "gte", "2026-04-30", {"date", "text", "list", "word", "phrase", "comma"}),
    ("lt a date", "lt", "2026-05-02", {"date"}),
    ("contains", "contains", "(c)*[d]", {"phrase"}),
    ("contains, as pattern it would match", "contains", "a.b", set()),
    ("contains in another case", "contains", "é", set()),
    ("icontains", "icontains", "A+B (C)*[D] é", {"phrase"}),
    ("contains in a list", "contains", "b", {"list", "phrase", "comma"}),
    ("in", "in", "33,true", {"number", "text", "decimal", "list", "true", "word"}),
    ("in, quoted", "in", '"a,b",nobody', {"comma"}),
    ("isnull true", "isnull", "true", {"null", "absent"}),
    ("isnull false", "isnull", "false", set(VALUES)),
]

REFUSED: list[tuple[str, str, str]] = [
    ("gt of text", "gt", "tall"),
    ("isnull yes", "isnull", "yes"),
    ("in with an open quote", "in", '"a,b'),
    ("in with an empty value", "in", "a,,b"),
    ("in of 501", "in", ",".join(["1"] * 501)),
    ("contains of 257", "contains", "x" * 257),
    ("contains NUL", "contains", "a\0b"),
    ("in with a line break", "in", "a\nb"),
]


@pytest.fixture(scope="module")
def records(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> Any:
    collection = mongo[f"{database_prefix}operators"]["records"]
    collection.drop()
    collection.create_index([("data.$**", 1)])
    collection.insert_many({"_id": name, "data": data} for name, data in RECORDS.items())
    yield collection
    mongo.drop_database(f"{database_prefix}operators")


@pytest.mark.parametrize(("operator", "text", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_mongodb_understands_the_operator(records: Any, operator: str, text: str, expected: set[str]) -> None:
    field = USERS.field(("x",))
    found = records.find(OPERATORS[operator](field.path, field.kind, text))
    assert {record["_id"] for record in found} == expected


def test_an_operator_reaches_into_objects(records: Any) -> None:
    field = USERS.field(("data", "x", "y"))
    assert [record["_id"] for record in records.find(OPERATORS["eq"](field.path, field.kind, "5"))] == ["object"]


@pytest.mark.parametrize(("operator", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_an_operator_refuses(operator: str, text: str) -> None:
    with pytest.raises(BadValue):
        OPERATORS[operator]("data.x", USERS.field(("x",)).kind, text)


def test_every_operator_stands_in_the_table() -> None:
    assert {row[1] for row in TABLE} == OPERATORS.keys()
    assert list(OPERATORS) == ["eq", "ne", "gt", "gte", "lt", "lte", "contains", "icontains", "in", "isnull"]


@pytest.mark.parametrize(
    ("path", "mongo_path"),
    [
        (("id",), "_id"),
        (("email",), "email"),
        (("created_at",), "created_at"),
        (("updated_at",), "updated_at"),
        (("password",), "data.password"),
        (("oauth_id",), "data.oauth_id"),
        (("token_version",), "data.token_version"),
        (("data",), "data.data"),
        (("data", "password"), "data.password"),
        (("data", "a", "b"), "data.a.b"),
    ],
)
def test_no_name_reaches_a_hidden_field(path: tuple[str, ...], mongo_path: str) -> None:
    assert USERS.field(path).path == mongo_path
