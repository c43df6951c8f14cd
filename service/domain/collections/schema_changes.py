"""Changing the schema of a collection that has documents: all of them conform afterwards, or nothing has changed.

1. The examination finds documents that would break the new schema, with defaults filled in. A dry run ends here. 2. A
lease in the registry keeps other changes away, and the validator becomes one that demands the old schema and the new
one. From here on no document that breaks either can be written. One that fits only one of them is answered with 503. 3.
A second examination, and building unique indexes. If documents break the new schema, the old one comes back into force.
4. The new definition is stored, if the project's rules agree with it: the one moment in which the change happens. Then
`reconcile` repairs and tidies up.

A process that dies at any point leaves a lease that expires; the next reader of the definitions then completes the
change towards the stored one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from service.domain.access.agreement import NoteDefinition, check_schema, commit_schema
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import NO_CHANGES, compare
from service.domain.collections.catalog import DeclaredCollection, read_collection
from service.domain.collections.collections import Collections, describe_definition, refuse_bytes, refuse_indexes
from service.domain.collections.conflicts import Conforming, Examination, Findings
from service.domain.collections.reconcile import reconcile
from service.domain.collections.validation import validate_schema
from service.domain.limits.made_files import count_indexes
from service.domain.projects.lookup import Project
from service.errors import DuplicateValue, Invalid, SchemaChanging, Violation
from service.schema.fields import LOC
from service.schema.json_schema import both, validator
from service.schema.options import is_file
from service.storage.client import Document, within
from service.storage.collections import CollectionStore
from service.storage.databases import ProjectDatabase
from service.storage.definitions import CHANGE_SECONDS, Definitions

UNCHANGED: Mapping[str, Any] = {}


async def preview_change(
    collections: Collections,
    project: Project,
    name: str,
    changes: Mapping[str, Any],
    options: Mapping[str, Any] = UNCHANGED,
    *,
    coming: Iterable[str] = (),
) -> Findings:
    """The documents that `change_schema` would repair, and those that would break the definition.

    The collections `coming` are taken to exist. Raises CollectionNotFound, Invalid, RuleConflict, RuleTestsFailed.
    """
    with within(CHANGE_SECONDS):
        examination, _ = await _prepare(collections, project, name, changes, options, coming)
        return await examination.run()


async def change_schema(
    collections: Collections,
    project: Project,
    name: str,
    changes: Mapping[str, Any],
    options: Mapping[str, Any] = UNCHANGED,
) -> DeclaredCollection:
    """Declares the fields in `changes`, removes those that are null there, leaves the others.

    Those of the collection's options that are in `options` take the place of the present ones. Raises SchemaConflict if
    documents break the new schema and no default repairs them; RuleConflict and RuleTestsFailed if the rules do not
    let it pass; CollectionNotFound, Invalid, SchemaChanging, LimitExceeded.
    """
    with within(CHANGE_SECONDS):
        examination, schema = await _prepare(collections, project, name, changes, options)
        await _refuse_true_conflicts(collections, examination)
        await count_indexes(collections.limits, project, len(examination.new_indexes))
        record = await Definitions(project.database).begin(name, "change")
        if record is None:
            raise SchemaChanging
        try:
            _refuse_stale(examination.collection, stored := read_collection(record))
            examination = replace(examination, collection=stored)
            record = await _switch(examination, record, schema, partial(partial(_note, collections), project, record))
        finally:
            await reconcile(project.database, record)
    await collections.access.refresh(project)
    return await collections.catalogs.refresh(project, name)


async def _note(
    collections: Collections, project: Project, before: Document, bound: ProjectDatabase, after: Document
) -> None:
    if (changes := compare(describe_definition(before), describe_definition(after))) != NO_CHANGES:
        act = Act(Action.COLLECTION_CHANGED, Target("collection", after["_id"]), project.id, changes)
        await collections.audit.record(bound.session, act)


async def _refuse_true_conflicts(collections: Collections, examination: Examination) -> None:
    """Raises SchemaConflict; SchemaChanging where documents may break the schema only because it was changed meanwhile."""
    findings = await examination.run()
    if findings.total:
        collection = examination.collection
        _refuse_stale(collection, await collections.catalogs.refresh(examination.project, collection.name))
    _refuse_conflicts(findings)


async def _prepare(
    collections: Collections,
    project: Project,
    name: str,
    changes: Mapping[str, Any],
    changed: Mapping[str, Any],
    coming: Iterable[str] = (),
) -> tuple[Examination, dict[str, Any]]:
    """The examination to make before the change, and the schema after it."""
    collection = await collections.catalogs.refresh(project, name)
    merged = {**collection.schema, **changes}
    removed = {name for name, definition in changes.items() if definition is None and name in collection.schema}
    schema = {name: definition for name, definition in merged.items() if name not in removed}
    _refuse_lost_files(collection, schema)
    options = collection.options.merged(changed)
    fields = await validate_schema(
        project, name, schema, collections.judge, options=options, present=collection, coming=coming
    )
    if schema != collection.schema:
        await check_schema(project.database, name, schema)
    coming_validator = validator(fields, realtime=options.realtime)
    return Examination(project, collection, fields, coming_validator, collections.judge, options), schema


async def _switch(examination: Examination, record: Document, schema: dict[str, Any], note: NoteDefinition) -> Document:
    """The leased record with the new schema in it. Raises SchemaConflict with the old one still stored."""
    database, collection = examination.project.database, examination.collection
    if await Definitions(database).announce(record, schema, examination.options) is None:
        raise SchemaChanging
    if len(examination.indexes) > len(collection.indexes):
        refuse_indexes(sum((await Definitions(database).count_indexes()).values()))
    if len(orjson.dumps(schema)) > len(orjson.dumps(collection.schema)):
        refuse_bytes(await Definitions(database).count_bytes())
    store = CollectionStore(database)
    old, new = collection.validator, examination.validator
    if old != new:
        await store.set_validator(collection.name, both(old, new))
    _refuse_conflicts(await examination.run())
    try:
        await store.add_indexes(collection.name, [*collection.indexes, *examination.new_indexes])
    except DuplicateValue:
        # All of them are looked at: an old one may have been dropped past the service.
        _refuse_conflicts(await examination.find_clashes(examination.indexes))
        raise SchemaChanging from None
    committed = await commit_schema(database, record, schema, options=examination.options, note=note)
    if committed is None:
        raise SchemaChanging
    return committed


def _refuse_lost_files(collection: DeclaredCollection, schema: Mapping[str, Any]) -> None:
    """Raises Invalid if a field of files becomes another type: it would keep their names, and no process would remove
    them.
    """
    lost = [
        Violation(
            (*LOC, name, "type"),
            "A field of files cannot change its type; remove it first, then declare it again",
            "file_field",
        )
        for name in collection.files
        if isinstance(definition := schema.get(name), dict)
        and not is_file(definition)
        and not is_file(definition.get("items"))
    ]
    if lost:
        raise Invalid(lost)


def _refuse_conflicts(findings: Findings) -> None:
    if findings.error:
        raise findings.error


def _refuse_stale(collection: Conforming, present: Conforming) -> None:
    """Raises SchemaChanging if `collection`, on which the change was prepared, is not the present one."""
    if (present.schema, present.indexes) != (collection.schema, collection.indexes):
        raise SchemaChanging
