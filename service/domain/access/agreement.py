"""Rules and schemas agree: the rules name only declared fields, and their stored tests hold.

A change of either reads the other and writes in one transaction, and writes into the records that it read. If two
concurrent changes contradict each other, the later one conflicts, is retried, and sees the earlier. A change of a
schema writes into the record of the rules. New rules write into the records of the collections they read, for the first
rules find no record of rules.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from service.bounds import MAX_VIOLATIONS
from service.domain.projects.lookup import Project
from service.domain.steps import run_in_steps
from service.errors import Invalid, Location, RuleConflict, RuleTestsFailed, Violation
from service.query.shapes import USERS as USER_SHAPE
from service.query.shapes import DocumentShape, Shape
from service.rules.advice import find_email_rules
from service.rules.compiled import CompiledRules
from service.rules.document import read_rules
from service.rules.ruleset import Rules
from service.rules.stored_tests import failed_tests, judge_tests
from service.schema.collection_options import NO_OPTIONS, CollectionOptions, read_options
from service.schema.fields import USERS, Fields, parse, references
from service.schema.indexes import Index, indexes
from service.schema.steps import Steps, finish
from service.storage.client import Document
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions, is_visible
from service.storage.rules import NOTHING, StoredRules, ensure_rules, find_rules, note_schema, put_rules

RulesDocument = Mapping[str, Any]
T = TypeVar("T")
NOTHING_STORED: Mapping[str, CollectionOptions] = {}
NoteRules = Callable[[ProjectDatabase, StoredRules], Awaitable[None]]
NoteDefinition = Callable[[ProjectDatabase, Document], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """Rules that agree with the schemas, with the fields and indexes of the collections that they name."""

    rules: Rules
    fields: Mapping[str, Fields]
    indexes: Mapping[str, Sequence[Index]]


@dataclass(frozen=True, slots=True)
class Replacement:
    """The rules that were in force, and those that took their place."""

    before: StoredRules
    after: StoredRules
    checked: CheckedRules


class DeclaredShapes(Mapping[str, Shape]):
    """The shapes of the declared collections and of `users`, by name. Each schema is read when it is first asked for.

    `targets` says of each collection where its relations lead. `asked_for` are the collections whose schemas were read.
    `options` are those of the stored collections. `database` is that of the project, where there is one.
    """

    def __init__(
        self,
        schemas: Mapping[str, Mapping[str, Any]],
        database: ProjectDatabase | None = None,
        options: Mapping[str, CollectionOptions] = NOTHING_STORED,
    ) -> None:
        self._schemas = schemas
        self._options = options
        self.database = database
        self.asked_for: set[str] = set()
        self._fields = cache(self._read)
        self._shape = cache(self._make)
        self.targets = _Targets(self)
        self.mongo_collections = {name: mongo_collection_name(name) for name in schemas} | {
            USERS: USER_SHAPE.collection
        }

    def __getitem__(self, name: str) -> Shape:
        return USER_SHAPE if name == USERS else self._shape(name)

    def __iter__(self) -> Iterator[str]:
        yield from (*self._schemas, USERS)

    def __len__(self) -> int:
        return len(self._schemas) + 1

    def fields(self, name: str) -> Fields:
        """Raises KeyError."""
        return self._fields(name)

    def indexes(self, name: str) -> list[Index]:
        """The indexes that a collection asks for. Raises KeyError."""
        return indexes(self._fields(name), self._options.get(name, NO_OPTIONS))

    def _read(self, name: str) -> Fields:
        fields = parse(self._schemas[name])
        self.asked_for.add(name)
        return fields

    def _make(self, name: str) -> DocumentShape:
        return DocumentShape(mongo_collection_name(name), self._fields(name), self.get)


class _Targets(Mapping[str, Mapping[str, str]]):
    def __init__(self, shapes: DeclaredShapes) -> None:
        self._shapes = shapes

    def __getitem__(self, name: str) -> Mapping[str, str]:
        return references(self._shapes.fields(name))

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._shapes if name != USERS)

    def __len__(self) -> int:
        return len(self._shapes) - 1


async def find_shapes(
    database: ProjectDatabase, schemas: Mapping[str, Mapping[str, Any]] | None = None
) -> DeclaredShapes:
    """The shapes of the collections as they are declared now; `schemas` stand in for the stored ones of the same names."""
    records = [record for record in await Definitions(database).list() if is_visible(record)]
    options = {record["_id"]: read_options(record) for record in records if record["_id"] not in (schemas or ())}
    stored = {record["_id"]: record["schema"] for record in records}
    return DeclaredShapes(stored | dict(schemas or {}), database, options)


async def compile_rules(project: Project, stored: StoredRules) -> CompiledRules:
    """The rules of a stored document, which was checked before it was stored."""
    document = json.loads(stored.text)
    if not document:
        return CompiledRules(stored.revision, Rules())
    shapes = await find_shapes(project.database.outside)
    rules = await run_in_steps(project.database, read_rules(document, shapes, shapes.targets))
    return CompiledRules(stored.revision, rules, shapes.mongo_collections, len(stored.text))


async def check_rules(document: RulesDocument, shapes: DeclaredShapes, *, is_new: bool = True) -> CheckedRules:
    """The rules, which are new unless they are stored already. Raises Invalid, RuleTestsFailed."""
    checked = await bind_rules(document, shapes, is_new=is_new)
    if failed := failed_tests(await _run(shapes, judge_tests(checked.rules, checked.fields))):
        raise RuleTestsFailed(failed)
    return checked


async def bind_rules(document: RulesDocument, shapes: DeclaredShapes, *, is_new: bool = True) -> CheckedRules:
    """As `check_rules`, whatever the stored tests say. Raises Invalid."""
    rules = await _run(shapes, read_rules(document, shapes, shapes.targets, is_new=is_new))
    return CheckedRules(
        rules,
        {name: shapes.fields(name) for name in rules.collections},
        {name: shapes.indexes(name) for name in rules.collections},
    )


async def _run(shapes: DeclaredShapes, steps: Steps[T]) -> T:
    return finish(steps) if shapes.database is None else await run_in_steps(shapes.database, steps)


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
    database: ProjectDatabase, document: RulesDocument, allow: Callable[[StoredRules], None], note: NoteRules
) -> Replacement:
    """Puts `document` in the place of the rules in force, unless `allow` raises when it sees them.

    `note` is given the rules before, and writes in the same transaction.

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
        await note(bound, before)
        return Replacement(before, await put_rules(bound, text), checked)

    return await database.in_transaction(write)


async def check_schema(database: ProjectDatabase, name: str, schema: Mapping[str, Any]) -> bool:
    """True if there are rules; they agree with `schema` as that of the collection `name`.

    Raises RuleConflict, RuleTestsFailed.
    """
    stored = await find_rules(database)
    if stored.are_empty:
        return False
    await _check_stored(json.loads(stored.text), await find_shapes(database, {name: schema}))
    return True


async def commit_schema(
    database: ProjectDatabase,
    record: Document,
    schema: dict[str, Any],
    *,
    options: CollectionOptions,
    note: NoteDefinition,
) -> Document | None:
    """Makes `schema` and `options` those of a leased record; None where the lease was lost.

    `note` is given the new record, and writes in the same transaction.

    Raises RuleConflict, RuleTestsFailed.
    """

    async def write(bound: ProjectDatabase) -> Document | None:
        if await check_schema(bound, record["_id"], schema):
            await note_schema(bound)
        committed = await Definitions(bound).commit(record, schema, options=options)
        if committed is not None:
            await note(bound, committed)
        return committed

    return await database.in_transaction(write)


async def begin_deletion(database: ProjectDatabase, name: str, note: NoteDefinition) -> Document | None:
    """The record, leased for its deletion, and its own rules gone; None where there is none, or it is being changed.

    `note` is given the record, and writes in the same transaction.

    Raises RuleConflict where others' rules name the collection, and RuleTestsFailed.
    """

    async def write(bound: ProjectDatabase) -> Document | None:
        record = await Definitions(bound).begin(name, "delete")
        if record is None:
            return None
        await note(bound, record)
        if not (stored := await find_rules(bound)).are_empty:
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
