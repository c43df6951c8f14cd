"""The judge of defaults gives MongoDB's verdict: the same violations, in the same order, for the same value."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from bson import Binary, Decimal128, Int64, ObjectId
from pymongo import MongoClient
from pymongo.errors import BulkWriteError

from service.schema.conformance import find_broken_rules, judge_defaults
from service.schema.documents import read_value
from service.schema.fields import Field, parse
from service.schema.json_schema import value_schema
from service.schema.steps import take_steps
from service.schema.violations import translate, translate_rules
from tests.schema.cases import CASES, Case

Verdict = list[tuple[Any, ...]]
SEED = 20_261_123
SCHEMAS, VALUES = 60, 40
TEXTS = ["", "a", "ab", "abc", "é\u0000", "\U0001f600\U0001f600", "2026-01-31", "7"]
NUMBERS = [0, 1, 2, 3, -1, 1.0, 2.5, 2**31, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 1e300]
SCALARS: list[Any] = [*TEXTS, *NUMBERS, True, False, None]
KINDS = ["string", "boolean", "integer", "number", "datetime", "object", "array", "any"]


@pytest.fixture
def judge_in_mongodb(mongo: MongoClient[dict[str, Any]], database_prefix: str) -> Iterator[Any]:
    database = mongo[f"{database_prefix}conformance"]

    def judge(field: Field, values: list[Any]) -> list[Verdict]:
        database.drop_collection("values")
        database.create_collection("values", validator={"$jsonSchema": {"properties": {"value": value_schema(field)}}})
        verdicts: list[Verdict] = [[] for _ in values]
        try:
            database["values"].insert_many([{"value": value} for value in values], ordered=False)
        except BulkWriteError as error:
            for each in error.details["writeErrors"]:
                found = translate(each["errInfo"], ())
                verdicts[each["index"]] = [(violation.loc[1:], violation.type, violation.msg) for violation in found]
        return verdicts

    yield judge
    database.drop_collection("values")


def judge_here(field: Field, value: Any) -> Verdict:
    rules = take_steps(find_broken_rules(value, value_schema(field)))
    assert rules is not None
    return [(each.loc, each.type, each.msg) for each in translate_rules(rules, ())]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_v9_a_default_is_judged_as_mongodb_judges_the_value(case: Case, judge_in_mongodb: Any) -> None:
    field = parse({"f": case.definition})["f"]
    values = [read_value(value, field) for value in (*case.good, *(each.value for each in case.bad))]
    assert [judge_here(field, value) for value in values] == judge_in_mongodb(field, values)


def test_v9_a_default_is_judged_as_mongodb_judges_the_value_of_any_schema(judge_in_mongodb: Any) -> None:
    draw = random.Random(SEED)  # noqa: S311 - a repeatable draw
    refused = 0
    for _ in range(SCHEMAS):
        definition = draw_definition(draw, 3)
        field = parse({"f": definition})["f"]
        values = [read_value(draw_value(draw, definition, 3), field) for _ in range(VALUES)]
        here = [judge_here(field, value) for value in values]
        assert here == judge_in_mongodb(field, values), json.dumps(definition)
        refused += sum(map(bool, here))
    # Both verdicts are common.
    assert SCHEMAS * VALUES / 5 < refused < SCHEMAS * VALUES * 4 / 5


def test_v9_values_of_types_that_no_field_has_are_refused(judge_in_mongodb: Any) -> None:
    """Values that another program stored: MongoDB's own types, and numbers that JSON does not have."""
    values = [Decimal128("1.5"), Binary(b"x"), ObjectId(), Int64(2), float("nan"), float("inf")]
    for definition in ({"type": "number", "min": 0, "max": 3}, {"type": "string"}, {"type": "object"}, {"type": "any"}):
        field = parse({"f": definition})["f"]
        assert [judge_here(field, value) for value in values] == judge_in_mongodb(field, values)


def test_a_default_is_located_in_the_schema() -> None:
    inner = {"type": "object", "properties": {"n": {"type": "integer", "default": "x"}}, "default": {"m": 1}}
    found = take_steps(judge_defaults(parse({"list": {"type": "array", "items": inner, "default": [1]}})))
    assert found is not None
    place = ("body", "schema", "list", "items")
    assert [(violation.loc, violation.type) for violation in found] == [
        (("body", "schema", "list", "default", 0), "dict_type"),
        ((*place, "default", "n"), "int_type"),
        ((*place, "default", "m"), "extra_forbidden"),
        ((*place, "properties", "n", "default"), "int_type"),
    ]


def draw_definition(draw: random.Random, depth: int) -> dict[str, Any]:
    kind = draw.choice(KINDS if depth else KINDS[:5])
    definition: dict[str, Any] = {"type": kind}
    if kind != "any" and draw.random() < 0.3:
        definition["nullable"] = True
    if kind in {"integer", "number"} and draw.random() < 0.5:
        definition |= {"min": draw.choice([0, 1, 2]), "max": draw.choice([2, 2**53])}
    if kind in {"string", "array"} and draw.random() < 0.5:
        definition |= {"min_length": draw.choice([0, 1, 2]), "max_length": draw.choice([2, 3])}
    if kind in {"string", "integer", "number"} and draw.random() < 0.3:
        choices = TEXTS if kind == "string" else [each for each in NUMBERS if kind == "number" or type(each) is int]
        definition["enum"] = list(dict.fromkeys(draw.sample(choices, 3)))
    if kind == "array" and draw.random() < 0.8:
        definition["items"] = draw_definition(draw, depth - 1)
    if kind == "object" and draw.random() < 0.8:
        names = draw.sample(["z", "a", "A", "é", "0", "m"], draw.randrange(5))
        definition["properties"] = {
            name: draw_definition(draw, depth - 1) | {"required": draw.random() < 0.4} for name in names
        }
    return definition


def draw_value(draw: random.Random, definition: dict[str, Any], depth: int) -> Any:
    """Mostly a value of the type, sometimes any other."""
    if draw.random() < 0.15 or definition["type"] == "any":
        return draw.choice([*SCALARS, [], {}, [1, "a"], {"a": 1}])
    match definition["type"]:
        case "string":
            return draw.choice(TEXTS)
        case "boolean":
            return draw.choice([True, False])
        case "integer" | "number":
            return draw.choice(NUMBERS)
        case "datetime":
            return draw.choice(["2026-01-31", "1800-01-01T00:00:00Z", "today"])
        case "array":
            items = definition.get("items", {"type": "any"})
            return [draw_value(draw, items, depth - 1) for _ in range(draw.randrange(4))]
    properties = definition.get("properties", {"a": {"type": "any"}})
    names = [name for name in (*properties, "x") if draw.random() < (0.8 if name != "x" else 0.1)]
    draw.shuffle(names)
    return {name: draw_value(draw, properties.get(name, {"type": "any"}), depth - 1) for name in names}
