"""Tests that are stored with the rules: each says whether a user may do something with a record. Pure.

{"name": "authors see their drafts", "as": {"id": "u1", "roles": ["editor"], "data": {...}}, "sets": {"my_teams": ["t1"]},
 "action": "read", "collection": "posts", "given": {stored data}, "data": {sent data}, "expect": "allowed"}

Relations are not followed here: a condition behind one is false.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from service.bounds import MAX_RULE_TESTS
from service.errors import Invalid, Location, Unauthorized, Violation
from service.query.matcher import decide, matches
from service.query.reading import Reading
from service.query.tree import Leaf, Node, Tree
from service.rules.permissions import Permissions
from service.rules.ruleset import Rules, StoredTest
from service.rules.templates import NOW, SET_PREFIX, USER_ANONYMOUS, USER_EMAIL, USER_ID, USER_ROLES, Values
from service.rules.writes import check_unchanged, creation_condition, creation_data, guard_change
from service.schema.documents import complete
from service.schema.fields import Fields
from service.schema.steps import Steps, finish
from service.schema.values import now

ACTIONS = ("read", "create", "update", "delete")
Record = Mapping[str, Any]
NEW_ID = "0" * 24


class _As(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    id: str = "0" * 24
    email: str = "somebody@example.com"
    roles: list[str] = []
    anonymous: bool = False
    data: dict[str, Any] = {}


class _Test(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    as_: _As | str = Field(alias="as")
    action: str = Field(pattern=f"^({'|'.join(ACTIONS)})$")
    collection: str
    expect: str = Field(pattern="^(allowed|refused)$")
    given: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    sets: dict[str, list[str | int | float | bool]] = {}


_TESTS = TypeAdapter(list[_Test])


def read_tests(
    value: Any, loc: Location, violations: list[Violation], collections: Collection[str]
) -> tuple[StoredTest, ...]:
    """The tests of a document; what is wrong with them is added to `violations`."""
    try:
        tests = _TESTS.validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        violations += [Violation((*loc, *each["loc"]), each["msg"], each["type"]) for each in found]
        return ()
    if len(tests) > MAX_RULE_TESTS:
        violations.append(Violation(loc, f"At most {MAX_RULE_TESTS} tests", "too_long"))
    violations += [
        Violation((*loc, number, "collection"), "There is no collection of this name", "collection_not_found")
        for number, test in enumerate(tests)
        if test.collection not in collections
    ]
    violations += [
        Violation((*loc, number, "as"), 'Must be an object, or "anyone"', "value_error")
        for number, test in enumerate(tests)
        if isinstance(test.as_, str) and test.as_ != "anyone"
    ]
    return tuple(map(_stored, tests))


def _stored(test: _Test) -> StoredTest:
    return StoredTest(
        name=test.name,
        as_=test.as_.model_dump() if isinstance(test.as_, _As) else None,
        action=test.action,
        collection=test.collection,
        is_allowed=test.expect == "allowed",
        given=test.given,
        data=test.data,
        sets=test.sets,
    )


@dataclass(frozen=True, slots=True)
class TriedAction:
    """A tried action on the record `given`, with the fields `data` that are sent."""

    action: str
    given: Record | None = None
    data: Mapping[str, Any] | None = None


def is_allowed(permissions: Permissions, attempt: TriedAction, fields: Fields) -> bool:
    match attempt.action:
        case "create":
            return _may_create(permissions, attempt.data or {}, fields)
        case "update":
            return attempt.given is not None and _may_update(permissions, attempt.data or {}, attempt.given)
        case "delete":
            return attempt.given is not None and _holds(permissions.delete, attempt.given)
    return attempt.given is not None and _holds(permissions.read, attempt.given)


def _may_create(permissions: Permissions, data: Mapping[str, Any], fields: Fields) -> bool:
    try:
        completed = complete(creation_data(permissions, data), fields)
    except (Invalid, Unauthorized):
        return False
    return _holds(creation_condition(permissions, data), stored_form(completed))


def _may_update(permissions: Permissions, data: Mapping[str, Any], given: Record) -> bool:
    change = finish(guard_change(permissions, data))
    try:
        check_unchanged(permissions, change.unchanged, Reading(given))
    except Invalid:
        return False
    return _holds(change.condition, given)


def _holds(tree: Tree, record: Record) -> bool:
    return matches(decide(tree, _without_relations), record)


def _without_relations(leaf: Node) -> Tree:
    return leaf if isinstance(leaf, Leaf) else False


def stored_form(data: Mapping[str, Any], id_: str = NEW_ID) -> Record:
    """The record that `data` would be in, made now."""
    moment = now()
    return {"_id": id_, "data": data, "created_at": moment, "updated_at": moment}


def test_values(test: StoredTest) -> Values:
    """The variables as a stored test gives them; a set that it does not give is unknown."""
    known: dict[str, Any] = {NOW: now(), **{f"{SET_PREFIX}{name}": tuple(each) for name, each in test.sets.items()}}
    if test.as_ is not None:
        known |= {f"user.data.{name}": value for name, value in test.as_["data"].items()}
        known |= {USER_ID: test.as_["id"], USER_EMAIL: test.as_["email"], USER_ROLES: tuple(test.as_["roles"])}
        known[USER_ANONYMOUS] = test.as_["anonymous"]
    return Values(known)


def judge_tests(rules: Rules, fields: Mapping[str, Fields]) -> Steps[list[dict[str, str]]]:
    """The expectation of each test, and the verdict: [{"name", "expected", "got"}]. Each test is one step."""
    judged = []
    for test in rules.tests:
        got = _word(_judge(test, rules, fields))
        judged.append({"name": test.name, "expected": _word(test.is_allowed), "got": got})
        yield
    return judged


def failed_tests(judged: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """The tests whose verdict is not the expected one."""
    return [test for test in judged if test["got"] != test["expected"]]


def _judge(test: StoredTest, rules: Rules, fields: Mapping[str, Fields]) -> bool:
    of, declared = rules.of(test.collection), fields.get(test.collection, {})
    return of is not None and is_allowed(Permissions(of, test_values(test)), _attempt(test, declared), declared)


def _attempt(test: StoredTest, fields: Fields) -> TriedAction:
    given = None if test.given is None else stored_form(complete(test.given, fields))
    return TriedAction(test.action, given, test.data)


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "refused"
