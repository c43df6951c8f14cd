"""Rules and schemas agree: neither is changed so that the rules name what is not declared, nor so that a stored test fails.

Whoever changes one of them looks at the others and writes in one transaction, and writes into what it looked at: of two
changes at once that do not go together, the later one begins again and sees the earlier. So a change of a schema writes
into the record of the rules, and new rules write into the records of the collections that they look at, for there need
not have been any rules before.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from service.bounds import MAX_VIOLATIONS
from service.domain.access.advice import find_email_rules
from service.domain.access.declared import DeclaredShapes, find_shapes
from service.domain.access.rules_document import read_rules
from service.domain.access.ruleset import Rules
from service.domain.access.verdicts import failed_tests, judge_tests
from service.domain.steps import run_in_steps
from service.errors import Invalid, Location, RuleConflict, RuleTestsFailed, Violation
from service.schema.fields import Fields
from service.schema.steps import finish
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions
from service.storage.rules import NOTHING, StoredRules, ensure_rules, find_rules, note_schema, put_rules

RulesDocument = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """Rules that agree with the schemas, and the fields of the collections that they name."""

    rules: Rules
    fields: Mapping[str, Fields]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The rules that were in force, and those that took their place."""

    before: StoredRules
    after: StoredRules
    checked: CheckedRules


async def check_rules(document: RulesDocument, shapes: DeclaredShapes, *, is_new: bool = True) -> CheckedRules:
    """The rules, which are new unless they are stored already. Raises Invalid, RuleTestsFailed."""
    checked = await bind_rules(document, shapes, is_new=is_new)
    if failed := failed_tests(await judge_tests(checked.rules, checked.fields)):
        raise RuleTestsFailed(failed)
    return checked


async def bind_rules(document: RulesDocument, shapes: DeclaredShapes, *, is_new: bool = True) -> CheckedRules:
    """As `check_rules`, whatever the stored tests say. Raises Invalid."""
    reading = read_rules(document, shapes, shapes.targets, is_new=is_new)
    rules = finish(reading) if shapes.database is None else await run_in_steps(shapes.database, reading)
    return CheckedRules(rules, {name: shapes.fields(name) for name in rules.collections})


async def find_outgrown(database: ProjectDatabase) -> list[Violation]:
    """The violations for which the rules in force could not be saved again: bounds that came after them."""
    document = json.loads((await find_rules(database)).text)
    shapes = await find_shapes(database)
    try:
        await bind_rules(document, shapes)
    except Invalid as error:
        return error.violations
    return []


async def find_stored_email_rules(database: ProjectDatabase) -> list[Location]:
    """The places of the rules in force that compare with `$user.email`."""
    document = json.loads((await find_rules(database)).text)
    checked = await bind_rules(document, await find_shapes(database), is_new=False)
    return find_email_rules(checked.rules)


async def replace_rules(
    database: ProjectDatabase, document: RulesDocument, allow: Callable[[StoredRules], None]
) -> Replacement:
    """Puts `document` in the place of the rules in force, unless `allow` raises when it sees them.

    Raises Invalid, RuleTestsFailed, and what `allow` raises.
    """
    text = json.dumps(document, ensure_ascii=False) if document else NOTHING
    await ensure_rules(database)

    async def write(bound: ProjectDatabase) -> Replacement:
        before = await find_rules(bound)
        allow(before)
        shapes = await find_shapes(bound)
        checked = await check_rules(document, shapes)
        await Definitions(bound).mark(shapes.asked_for)
        return Replacement(before, await put_rules(bound, text), checked)

    return await database.in_transaction(write)


async def check_schema(database: ProjectDatabase, name: str, schema: Mapping[str, Any]) -> bool:
    """Whether there are rules; they agree with `schema` as that of the collection `name`.

    Raises RuleConflict, RuleTestsFailed.
    """
    stored = await find_rules(database)
    if stored.are_empty:
        return False
    await _check_stored(json.loads(stored.text), await find_shapes(database, {name: schema}))
    return True


async def commit_schema(
    database: ProjectDatabase, record: Document, schema: dict[str, Any], *, realtime: bool
) -> Document | None:
    """Makes `schema` the schema of a leased record, and says if it is live; None where the lease was lost.

    Raises RuleConflict, RuleTestsFailed.
    """

    async def write(bound: ProjectDatabase) -> Document | None:
        if await check_schema(bound, record["_id"], schema):
            await note_schema(bound)
        return await Definitions(bound).commit(record, schema, realtime=realtime)

    return await database.in_transaction(write)


async def begin_deletion(database: ProjectDatabase, name: str) -> Document | None:
    """The record, leased for its deletion, and its own rules gone; None where there is none, or it is being changed.

    Raises RuleConflict where others' rules name the collection, and RuleTestsFailed.
    """

    async def write(bound: ProjectDatabase) -> Document | None:
        record = await Definitions(bound).begin(name, "delete")
        if record is not None and not (stored := await find_rules(bound)).are_empty:
            document: RulesDocument = json.loads(stored.text)
            others = _without(document, name)
            await _check_stored(others, await find_shapes(bound))
            await (
                note_schema(bound) if others == document else put_rules(bound, json.dumps(others, ensure_ascii=False))
            )
        return record

    return await database.in_transaction(write)


async def _check_stored(document: RulesDocument, shapes: DeclaredShapes) -> None:
    try:
        await check_rules(document, shapes, is_new=False)
    except Invalid as error:
        listed = error.violations[:MAX_VIOLATIONS]
        raise RuleConflict(listed, omitted=len(error.violations) - len(listed)) from None


def _without(document: RulesDocument, name: str) -> dict[str, Any]:
    """`document` without the rules of a collection, and the tests of them."""
    parts = dict(document)
    if "collections" in parts:
        parts["collections"] = {each: rules for each, rules in parts["collections"].items() if each != name}
    if "tests" in parts:
        parts["tests"] = [test for test in parts["tests"] if test["collection"] != name]
    return parts
