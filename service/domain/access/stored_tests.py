"""Tests that are stored with the rules: who may do what with which record, as their author expects it. Pure.

{"name": "authors see their drafts", "as": {"id": "u1", "roles": ["editor"], "data": {...}}, "sets": {"my_teams": ["t1"]},
 "action": "read", "collection": "posts", "given": {stored data}, "data": {sent data}, "expect": "allowed"}
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from service.bounds import MAX_RULE_TESTS
from service.errors import Location, Violation

ACTIONS = ("read", "create", "update", "delete")


@dataclass(frozen=True, slots=True)
class StoredTest:
    """One expectation. `as_` holds id, email, roles and data of a user, or is None for a guest."""

    name: str
    as_: Mapping[str, Any] | None
    action: str
    collection: str
    is_allowed: bool
    given: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)


class _As(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    id: str = "0" * 24
    email: str = "somebody@example.com"
    roles: list[str] = []
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
