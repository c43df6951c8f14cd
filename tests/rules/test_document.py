"""Reading rules: what is accepted, and each mistake with its place."""

from copy import deepcopy
from typing import Any

import pytest

from service.errors import Invalid, Location
from service.query.shapes import USERS, DocumentShape, Shape
from service.rules.document import read_rules
from service.rules.ruleset import Rules
from service.schema.fields import parse, references
from service.schema.steps import finish
from tests.rules.examples import COLLECTIONS, RULES, SCHEMAS


def read(document: dict[str, Any], schemas: dict[str, Any] = SCHEMAS) -> Rules:
    shapes: dict[str, Shape] = {"users": USERS}
    fields = {name: parse(schema) for name, schema in schemas.items()}
    for name, each in fields.items():
        shapes[name] = DocumentShape(f"c_{name}", each, shapes.get)
    return finish(read_rules(document, shapes, {name: references(each) for name, each in fields.items()}))


def faults(document: dict[str, Any]) -> list[Location]:
    with pytest.raises(Invalid) as refusal:
        read(document)
    return [violation.loc for violation in refusal.value.violations]


def with_rule(rule: Any, key: str = "read") -> dict[str, Any]:
    return {**RULES, "collections": {**COLLECTIONS, "posts": {key: rule}}}


def test_the_twelve_examples_are_rules() -> None:
    assert read(RULES).collections.keys() == COLLECTIONS.keys()


def test_a_document_comes_back_as_it_was_sent() -> None:
    assert read(deepcopy(RULES)).document == RULES


POSTS = ("body", "collections", "posts", "read")

REFUSED: list[tuple[str, Any, Location]] = [
    ("null", None, POSTS),
    ("empty text", "", POSTS),
    ("another word", "everyone", POSTS),
    ("true", True, POSTS),
    ("empty object", {}, POSTS),
    ("a list", [], POSTS),
    ("what looks like a list", {"0": {"status_eq": "a"}, "length": 1}, (*POSTS, "0")),
    ("or of nothing", {"or": []}, (*POSTS, "or")),
    ("or of an empty object", {"or": [{}]}, (*POSTS, "or", 0)),
    ("or of an object", {"or": {"0": {"status_eq": "a"}, "length": 1}}, (*POSTS, "or")),
    ("or of words", {"or": ["anyone"]}, (*POSTS, "or", 0)),
    ("not of a list", {"not": [{"status_eq": "a"}]}, (*POSTS, "not")),
    ("a field that is not there", {"state_eq": "a"}, (*POSTS, "state_eq")),
    ("a hidden field", {"password_eq": "a"}, (*POSTS, "password_eq")),
    ("an operator that is not there", {"status_like": "a"}, (*POSTS, "status_like")),
    ("contains", {"status_contains": "a"}, (*POSTS, "status_contains")),
    ("a literal of another type", {"status_eq": 1}, (*POSTS, "status_eq")),
    ("null as a literal", {"status_eq": None}, (*POSTS, "status_eq")),
    ("an object as a literal", {"status_eq": {"$gt": ""}}, (*POSTS, "status_eq")),
    ("in of nothing", {"status_in": []}, (*POSTS, "status_in")),
    ("in of 501", {"status_in": ["a"] * 501}, (*POSTS, "status_in")),
    ("a variable in a list", {"status_in": ["$user.id"]}, (*POSTS, "status_in")),
    ("a single variable at in", {"author_id_in": "$user.id"}, (*POSTS, "author_id_in")),
    ("a list variable at eq", {"status_eq": "$user.roles"}, (*POSTS, "status_eq")),
    ("a variable that is not there", {"author_id_eq": "$user.name"}, (*POSTS, "author_id_eq")),
    ("a field that users write", {"$user.data.name_eq": "x"}, (*POSTS, "$user.data.name_eq")),
    ("a server-only field without data", {"$user.plan_eq": "x"}, (*POSTS, "$user.plan_eq")),
    ("a set that is not there", {"author_id_in": "$sets.friends"}, (*POSTS, "author_id_in")),
    ("now beside text", {"status_gt": "$now"}, (*POSTS, "status_gt")),
    ("now without a unit", {"created_at_gt": "$now-15"}, (*POSTS, "created_at_gt")),
    ("an order of text", {"status_gt": "b"}, (*POSTS, "status_gt")),
    ("a relation that is not there", {"editor.$can": "read"}, (*POSTS, "editor.$can")),
    ("can write", {"author.$can": "update"}, (*POSTS, "author.$can")),
    ("a position in an array", {"author.following.0_eq": "x"}, (*POSTS, "author.following.0_eq")),
]


@pytest.mark.parametrize(("rule", "loc"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_x9_a_rule_is_refused_with_its_place(rule: Any, loc: Location) -> None:
    assert loc in faults(with_rule(rule))


def nested(depth: int) -> dict[str, Any]:
    rule: dict[str, Any] = {"status_eq": "a"}
    for _ in range(depth - 1):
        rule = {"or": [rule]}
    return rule


def test_x15_a_rule_is_five_deep_and_has_thirty_conditions() -> None:
    read(with_rule(nested(5)))
    read(with_rule({"or": [{"status_eq": str(number)} for number in range(30)]}))
    read(with_rule({"status_in": ["a"] * 500}))
    assert faults(with_rule(nested(6)))
    assert faults(with_rule({"or": [{"status_eq": str(number)} for number in range(31)]}))
    assert faults(with_rule({"and": [{"or": [{"status_eq": str(n)} for n in range(16)]}] * 2}))
    assert faults(with_rule({"status_in": ["a"] * 501}))


def test_x15_a_rule_of_any_depth_is_refused_without_recursion() -> None:
    assert faults(with_rule(nested(900)))


PAIR = {"before": "users", "after": "users"}
UPDATES = [[], {"before": "users"}, {"after": "users"}, [{"before": "users"}], [{}], {**PAIR, "x": 1}]


@pytest.mark.parametrize("update", UPDATES)
def test_x9_an_update_is_a_rule_a_pair_or_pairs(update: Any) -> None:
    assert faults(with_rule(update, "update"))


SETS = [
    {"from": "posts", "take": "status"},
    {"from": "posts", "where": {"status_in": "$sets.blocked"}, "take": "status"},
    {"from": "posts", "where": {"status_eq": "a"}, "take": "nothing"},
    {"from": "nothing", "where": {"status_eq": "a"}, "take": "status"},
]


@pytest.mark.parametrize("value", SETS)
def test_a_set_knows_no_other_set_and_needs_its_three_parts(value: Any) -> None:
    assert faults({**RULES, "sets": {**RULES["sets"], "mine": value}})


def test_a_rule_never_needs_itself() -> None:
    schemas = {f"c{n}": {"next_id": {"type": "reference", "collection": f"c{(n + 1) % 6}"}} for n in range(6)}
    circle = {f"c{n}": {"read": {"next.$can": "read"}} for n in range(6)}
    with pytest.raises(Invalid):
        read({"collections": circle}, schemas)
    with pytest.raises(Invalid):
        read({"collections": circle | {"c4": {"read": "anyone"}}}, schemas)
    read(
        {"collections": circle | {"c3": {"read": "anyone"}, "c4": {"read": "anyone"}, "c5": {"read": "anyone"}}},
        schemas,
    )


def test_unknown_keys_and_collections_are_refused() -> None:
    assert faults({"collection": {}}) == [("body", "collection")]
    assert faults({"collections": {"nothing": {"read": "anyone"}}}) == [("body", "collections", "nothing")]
    assert faults({"collections": {"users": {"read": "anyone"}}}) == [("body", "collections", "users")]
    assert faults(with_rule("anyone", "list")) == [("body", "collections", "posts", "list")]


def test_x6_a_field_that_a_user_writes_is_no_variable() -> None:
    document = {**RULES, "users": {"fields": {"data.is_admin": {"read": "users"}}}}
    document["collections"] = {"posts": {"read": {"$user.data.is_admin_eq": True}}}
    assert ("body", "collections", "posts", "read", "$user.data.is_admin_eq") in faults(document)
