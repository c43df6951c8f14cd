"""Definitions are read whole: every mistake is named at its path, and a good one becomes what was declared."""

from typing import Any

import pytest

from service.bounds import MAX_FIELDS, MAX_INDEXES, MAX_REFERENCES, MAX_SCHEMA_DEPTH
from service.errors import Invalid
from service.schema.fields import defaults, parse, patterns, references
from service.schema.values import Kind
from tests.schema.cases import BAD_DEFINITIONS, CASES, Case, Path

MANY = {"type": "array", "items": {"type": "reference", "collection": "users"}}


def refused(schema: Any) -> list[tuple[Path, str]]:
    with pytest.raises(Invalid) as caught:
        parse(schema)
    assert all(violation.msg for violation in caught.value.violations)
    return [(violation.loc, violation.type) for violation in caught.value.violations]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parse(case: Case) -> None:
    (field,) = parse({"f": case.definition}).values()
    assert field.kind is Kind(case.definition["type"])
    assert field.nullable is case.definition.get("nullable", False)
    assert field.minimum == case.definition.get("min")
    assert field.max_length == case.definition.get("max_length")


@pytest.mark.parametrize(
    ("definition", "expected"), [row[1:] for row in BAD_DEFINITIONS], ids=[row[0] for row in BAD_DEFINITIONS]
)
def test_parse_names_every_mistake(definition: Any, expected: list[tuple[Path, str]]) -> None:
    found = refused({"a field": definition, "fine": {"type": "any"}})
    assert found == [(("body", "schema", "a field", *path), type_) for path, type_ in expected]


def test_parse_names_the_mistakes_of_all_fields_at_once() -> None:
    found = refused({"$a": {"type": "string"}, "b": 1, "c": {"type": "string", "min": 1}})
    assert [loc for loc, _ in found] == [
        ("body", "schema", "$a"),
        ("body", "schema", "b"),
        ("body", "schema", "c", "min"),
    ]


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"author": {"type": "reference", "collection": "users"}}, "author"),
        ({"_id": {"type": "reference", "collection": "users"}}, "_id"),
        ({"author_id": {"type": "reference", "collection": "users"}, "author": {"type": "string"}}, "author_id"),
        ({"tag_ids": {"type": "reference", "collection": "users"}}, "tag_ids"),
        ({"tag_id": MANY}, "tag_id"),
        ({"_ids": MANY}, "_ids"),
        ({"tag_ids": MANY, "tags": {"type": "string"}}, "tag_ids"),
        ({"tag_ids": MANY, "tags_id": {"type": "reference", "collection": "users"}}, "tags_id"),
    ],
    ids=[
        *(
            "no suffix",
            "no relation",
            "another field has the relation's name",
            "one named as many",
            "many named as one",
        ),
        *("no relations", "another field has the name of the relations", "two relations of one name"),
    ],
)
def test_a_reference_has_a_name_of_its_own_for_its_relation(schema: dict[str, Any], at: str) -> None:
    assert refused(schema) == [(("body", "schema", at), "reference_name")]


@pytest.mark.parametrize("collection", [None, 1, "", "1a", "a b", "a.b", "system.users", "x" * 64, "$x"])
def test_a_reference_points_at_the_name_of_a_collection(collection: Any) -> None:
    found = refused({"a_id": {"type": "reference", "collection": collection}})
    assert found == [(("body", "schema", "a_id", "collection"), "value_error")]


def test_a_reference_says_where_it_points() -> None:
    assert refused({"a_id": {"type": "reference"}}) == [(("body", "schema", "a_id", "collection"), "missing")]


def test_references_are_named_by_their_relations() -> None:
    schema = {"author_id": {"type": "reference", "collection": "users"}, "n": {"type": "integer"}}
    assert references(parse(schema)) == {"author": "users"}


def nested(depth: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": nested(depth - 1)}} if depth > 1 else {"type": "string"}


def test_definitions_nest_to_the_limit() -> None:
    assert parse({"f": nested(MAX_SCHEMA_DEPTH)})
    ((loc, type_),) = refused({"f": nested(MAX_SCHEMA_DEPTH + 1)})
    assert (len(loc), type_) == (3 + 2 * MAX_SCHEMA_DEPTH, "too_deep")


def test_a_schema_has_so_many_fields_and_no_more() -> None:
    many = {f"f{number}": {"type": "any"} for number in range(MAX_FIELDS - 1)}
    assert len(parse({**many, "last": {"type": "array"}})) == MAX_FIELDS
    found = refused({**many, "last": {"type": "array", "items": {"type": "any"}}})
    assert found == [(("body", "schema"), "too_long")]


def test_defaults_and_patterns_are_found_at_every_depth() -> None:
    inner = {"type": "string", "default": None, "pattern": "x"}
    schema = {
        "a": {"type": "array", "default": [], "items": {"type": "object", "properties": {"b": inner}}},
        "c": {"type": "integer"},
    }
    fields = parse(schema)
    path = ("body", "schema", "a", "items", "properties", "b")
    assert [(loc, value) for loc, _, value in defaults(fields)] == [
        (("body", "schema", "a", "default"), []),
        ((*path, "default"), None),
    ]
    assert list(patterns(fields)) == [((*path, "pattern"), "x")]


def test_an_array_of_references_is_a_relation_of_at_most_100() -> None:
    fields = parse({"tag_ids": MANY, "friend_ids": MANY | {"max_length": 5}})
    assert references(fields) == {"tags": "users", "friends": "users"}
    assert [field.max_length for field in fields.values()] == [MAX_REFERENCES, 5]
    assert refused({"tag_ids": MANY | {"max_length": MAX_REFERENCES + 1}}) == [
        (("body", "schema", "tag_ids", "max_length"), "value_error")
    ]


def test_each_array_of_references_counts_as_an_index() -> None:
    assert refused({f"f{number}_ids": MANY for number in range(MAX_INDEXES + 1)}) == [(("body", "schema"), "too_long")]
