"""Whether rules allow something, judged in memory alone: for the tests that are stored with them, and for `explain`. Pure.

What lies behind a relation is unknown here, and so false.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.access.permissions import Permissions
from service.domain.access.ruleset import Rules
from service.domain.access.stored_tests import StoredTest
from service.domain.access.templates import NOW, SET_PREFIX, USER_EMAIL, USER_ID, USER_ROLES, Values
from service.domain.access.writes import check_unchanged, creation_condition, creation_data, guard_change
from service.errors import Invalid, Unauthorized
from service.query.matcher import decide, matches
from service.query.reading import Reading
from service.query.tree import Leaf, Node, Tree
from service.schema.documents import complete
from service.schema.fields import Fields
from service.schema.values import now

Record = Mapping[str, Any]
NEW_ID = "0" * 24


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody tries: an action on the record `given`, with the fields `data` that are sent."""

    action: str
    given: Record | None = None
    data: Mapping[str, Any] | None = None


def is_allowed(permissions: Permissions, attempt: Attempt, fields: Fields) -> bool:
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
    change = guard_change(permissions, data)
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
    return Values(known, is_user=test.as_ is not None)


async def judge_tests(rules: Rules, fields: Mapping[str, Fields]) -> list[dict[str, str]]:
    """What the author of each test expects, and the verdict: [{"name", "expected", "got"}]. Gives way after each."""
    judged = []
    for test in rules.tests:
        got = _word(_judge(test, rules, fields))
        judged.append({"name": test.name, "expected": _word(test.is_allowed), "got": got})
        await asyncio.sleep(0)
    return judged


def failed_tests(judged: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Those whose verdict is another than their author expects."""
    return [test for test in judged if test["got"] != test["expected"]]


def _judge(test: StoredTest, rules: Rules, fields: Mapping[str, Fields]) -> bool:
    of, declared = rules.of(test.collection), fields.get(test.collection, {})
    return of is not None and is_allowed(Permissions(of, test_values(test)), _attempt(test, declared), declared)


def _attempt(test: StoredTest, fields: Fields) -> Attempt:
    given = None if test.given is None else stored_form(complete(test.given, fields))
    return Attempt(test.action, given, test.data)


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "refused"
