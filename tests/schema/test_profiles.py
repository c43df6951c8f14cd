"""Definitions of profile fields: those that are refused, with their places, and the form in which users keep the others."""

from typing import Any

import pytest

from service.errors import Invalid
from service.schema.documents import complete, read
from service.schema.json_schema import TIME_PATTERN, profile_schema, profile_validator
from service.schema.profiles import RESERVED, declared_fields, parse_profile
from service.schema.values import Kind

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        *(({name: TEXT}, (name, "reserved")) for name in sorted(RESERVED)),
        ({"username": {"type": "integer"}}, ("username", "type", "value_error")),
        ({"a": {**TEXT, "required": True}}, ("a", "required", "extra_forbidden")),
        ({"a": {**TEXT, "required": False}}, ("a", "required", "extra_forbidden")),
        ({"a": {**TEXT, "unique": True}}, ("a", "unique", "extra_forbidden")),
        ({"a": {**TEXT, "index": True}}, ("a", "index", "extra_forbidden")),
        (
            {"a": {"type": "object", "properties": {"b": {**TEXT, "required": True}}}},
            ("a", "properties", "b", "required", "extra_forbidden"),
        ),
        ({"a": {"type": "array", "items": {**TEXT, "unique": True}}}, ("a", "items", "unique", "extra_forbidden")),
        ({"a": {"type": "file", "protected": True}}, ("a", "protected", "extra_forbidden")),
        ({"a": {"type": "file", "variants": {"s": {"width": 9}}}}, ("a", "variants", "extra_forbidden")),
        ({"a": {"type": "array", "items": {"type": "file"}}}, ("a", "items", "type", "nested_file")),
        ({"a_id": {"type": "reference", "collection": "books"}}, ("a_id", "collection", "value_error")),
        ({"a": {"type": "text"}}, ("a", "type", "enum")),
        ({"a": 1}, ("a", "dict_type")),
        ({"a.b": TEXT}, ("a.b", "field_name")),
    ],
    ids=str,
)
def test_a_definition_that_profiles_do_not_take_is_refused(schema: dict[str, Any], expected: tuple[str, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_profile(schema, additional=True)
    assert [(*each.loc[2:], each.type) for each in refused.value.violations] == [expected]


def test_all_violations_are_named_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        parse_profile({"id": TEXT, "a": {**TEXT, "unique": True, "min_length": -1}}, additional=True)
    assert {each.loc[2:] for each in refused.value.violations} == {("id",), ("a", "unique"), ("a", "min_length")}


def test_times_are_kept_as_text_of_one_form_at_every_depth() -> None:
    moment = {"type": "datetime"}
    schema = {
        "born": {**moment, "default": "2026-01-31"},
        "seen": {"type": "array", "items": moment},
        "card": {"type": "object", "properties": {"until": {**moment, "default": "2026-02-01T12:00:00+01:00"}}},
    }
    fields = parse_profile(schema, additional=True)
    sent = {"seen": ["2026-01-31", "soon", 5], "card": {}}
    assert complete(sent, fields) == {
        "born": "2026-01-31T00:00:00.000Z",
        "seen": ["2026-01-31T00:00:00.000Z", "soon", 5],
        "card": {"until": "2026-02-01T11:00:00.000Z"},
    }
    assert read({"born": "2026-01-31T12:00:00.1234Z"}, fields) == {"born": "2026-01-31T12:00:00.123Z"}
    kept = profile_schema(fields, additional=True)["properties"]["born"]
    assert kept == {"bsonType": ["string"], "pattern": TIME_PATTERN}
    assert declared_fields(schema, additional=True)["born"].kind is Kind.DATETIME


def test_a_field_with_a_default_is_always_there_and_no_other() -> None:
    fields = parse_profile({"plan": {**TEXT, "default": "free"}, "nick": TEXT}, additional=True)
    assert profile_schema(fields, additional=True)["required"] == ["plan"]
    assert "required" not in profile_schema(fields, additional=True, complete=False)
    assert profile_validator({}, additional=True) == {}


def test_a_user_name_is_declared_by_itself_where_profiles_take_no_other_fields() -> None:
    assert list(parse_profile({"a": TEXT}, additional=False)) == ["a", "username"]
    assert list(parse_profile({"a": TEXT}, additional=True)) == ["a"]
    own = parse_profile({"username": {**TEXT, "max_length": 9}}, additional=False)
    assert own["username"].max_length == 9
    assert profile_schema(own, additional=False)["additionalProperties"] is False
