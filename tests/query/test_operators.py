"""The operators, once as they are translated and once as MongoDB understands the translation."""

from typing import Any

import pytest
from pymongo import MongoClient

from service.query.closures import OPERATORS as IN_MEMORY
from service.query.operators import OPERATORS
from service.query.shapes import USERS
from service.query.tree import EXPRESSIONS, negate, to_filter
from service.schema.values import BadValue, Kind

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
    ("startswith", "startswith", "a+b (", {"phrase"}),
    ("startswith, as pattern it would match", "startswith", "..b", set()),
    ("hasall", "hasall", "33,b", {"list"}),
    ("hasall of a scalar", "hasall", "33", {"number", "text", "decimal", "list"}),
    ("isnull true", "isnull", "true", {"null", "absent"}),
    ("isnull false", "isnull", "false", set(VALUES)),
]

# The same of values of JSON, which mean one thing each.
TYPED: list[tuple[str, str, Any, set[str]]] = [
    ("eq a number", "eq", 33, {"number", "decimal", "list"}),
    ("eq text", "eq", "33", {"text"}),
    ("eq true", "eq", True, {"true"}),
    ("eq 1", "eq", 1, {"one"}),
    ("ne a number", "ne", 33, RECORDS.keys() - {"number", "decimal", "list"}),
    ("gt", "gt", 32.9, {"number", "decimal", "list"}),
    ("gte", "gte", 33, {"number", "decimal", "list"}),
    ("lt", "lt", 33, {"one"}),
    ("lt a date", "lt", "2026-05-02", {"date"}),
    ("lte", "lte", 33, {"number", "decimal", "list", "one"}),
    ("contains", "contains", "(c)*[d]", {"phrase"}),
    ("icontains", "icontains", "A+B (C)*[D] é", {"phrase"}),
    ("startswith", "startswith", "a+b (", {"phrase"}),
    ("startswith what stands inside", "startswith", "(c)", set()),
    ("startswith in a list", "startswith", "b", {"list"}),
    ("in", "in", [33, True], {"number", "decimal", "list", "true"}),
    ("in nothing", "in", [], set()),
    ("hasall", "hasall", [33, "b"], {"list"}),
    ("hasall of a scalar", "hasall", [33], {"number", "decimal", "list"}),
    ("hasall nothing", "hasall", [], set()),
    ("isnull true", "isnull", True, {"null", "absent"}),
    ("isnull false", "isnull", False, set(VALUES)),
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
    ("startswith of 257", "startswith", "x" * 257),
    ("hasall of 51", "hasall", ",".join(["1"] * 51)),
]
# Values that no condition takes in JSON, by the kind of the field.
NO_VALUES: tuple[Any, ...] = (None, {}, [])
NO_TEXTS: tuple[Any, ...] = (1, "", None, [])
NO_LISTS: tuple[Any, ...] = ("a", None, {}, [None], [[1]], [{}])
REFUSED_TYPED: list[tuple[str, Any, Kind]] = [
    *((operator, value, Kind.ANY) for operator in ("eq", "ne", "gt", "gte", "lt", "lte") for value in NO_VALUES),
    *((operator, value, Kind.ANY) for operator in ("contains", "icontains", "startswith") for value in NO_TEXTS),
    *((operator, "a", kind) for operator in ("contains", "startswith") for kind in (Kind.INTEGER, Kind.BOOLEAN)),
    *((operator, value, Kind.ANY) for operator in ("in", "hasall") for value in NO_LISTS),
    ("in", ["a"] * 501, Kind.ANY),
    ("hasall", ["a"] * 51, Kind.ANY),
    ("startswith", "a\0", Kind.ANY),
    ("startswith", "a" * 257, Kind.ANY),
    ("isnull", "true", Kind.ANY),
    ("isnull", None, Kind.ANY),
    ("eq", "1", Kind.INTEGER),
    ("eq", 1.5, Kind.INTEGER),
    ("eq", True, Kind.NUMBER),
    ("eq", 1, Kind.STRING),
    ("eq", 1, Kind.BOOLEAN),
    ("eq", "soon", Kind.DATETIME),
    ("eq", 1, Kind.DATETIME),
    ("eq", "x", Kind.OBJECT),
    ("gt", "tall", Kind.ANY),
    ("gt", "33", Kind.ANY),
    ("gt", "33", Kind.INTEGER),
    ("gt", "2026-01-01", Kind.INTEGER),
    ("gt", True, Kind.ANY),
    ("gt", "a", Kind.STRING),
    ("gt", "a", Kind.ID),
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
    found = records.find(to_filter(OPERATORS[operator].from_text(field.path, field.kind, text)))
    assert {record["_id"] for record in found} == expected


@pytest.mark.parametrize(("operator", "value", "expected"), [row[1:] for row in TYPED], ids=[row[0] for row in TYPED])
def test_mongodb_understands_a_typed_condition(records: Any, operator: str, value: Any, expected: set[str]) -> None:
    condition = OPERATORS[operator].from_json("data.x", Kind.ANY, value)
    assert {record["_id"] for record in records.find(to_filter(condition))} == expected
    assert {record["_id"] for record in records.find(to_filter(negate(condition)))} == RECORDS.keys() - expected


@pytest.mark.parametrize(("operator", "value", "kind"), REFUSED_TYPED)
def test_a_typed_condition_refuses(operator: str, value: Any, kind: Kind) -> None:
    with pytest.raises(BadValue):
        OPERATORS[operator].from_json("data.x", kind, value)


def test_startswith_reads_of_an_index_what_it_finds(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> None:
    collection = mongo[f"{database_prefix}operators"]["names"]
    collection.drop()
    collection.create_index([("data.$**", 1)])
    collection.insert_many({"data": {"x": f"a|b c-{number:04}"}} for number in range(500))
    filter_ = to_filter(OPERATORS["startswith"].from_json("data.x", Kind.ANY, "a|b c-001"))
    stats = collection.find(filter_).explain()["executionStats"]
    assert stats["nReturned"] == 10
    assert stats["totalKeysExamined"] <= 12
    collection.drop()


def test_an_operator_reaches_into_objects(records: Any) -> None:
    field = USERS.field(("data", "x", "y"))
    assert [
        record["_id"] for record in records.find(to_filter(OPERATORS["eq"].from_text(field.path, field.kind, "5")))
    ] == ["object"]


@pytest.mark.parametrize(("operator", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_an_operator_refuses(operator: str, text: str) -> None:
    with pytest.raises(BadValue):
        OPERATORS[operator].from_text("data.x", USERS.field(("x",)).kind, text)


def test_every_operator_stands_in_the_table() -> None:
    assert {row[1] for row in TABLE} == {row[1] for row in TYPED} == OPERATORS.keys()
    assert OPERATORS.keys() <= EXPRESSIONS.keys() & IN_MEMORY.keys()


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
