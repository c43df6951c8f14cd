"""Changing the schema of a collection that has documents: all of them conform afterwards, or nothing has changed.

1. Looking: which documents would break the new schema, once defaults have filled what they can? A dry run ends here.
2. A lease in the registry keeps other changes away, and the validator becomes one that demands the old schema and the
   new one. From here on nobody can add a document that breaks either. What fits only one of them is answered with 503.
3. Looking again, and building unique indexes. If documents break the new schema, the old one comes back into force.
4. The new definition is stored: the one moment in which the change happens. Then `reconcile` repairs and tidies up.

A process that dies at any point leaves a lease that runs out; whoever reads the definitions then settles on the one
that is stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.domain.collections.catalog import Catalogs, Collection, read_collection
from service.domain.collections.reconcile import reconcile
from service.domain.collections.validation import validate_schema
from service.domain.projects.lookup import Project
from service.errors import DuplicateValue, SchemaChanging, SchemaConflict, Violation
from service.schema.fields import Fields
from service.schema.indexes import Index, indexes
from service.schema.json_schema import validator
from service.schema.repairs import fill
from service.schema.violations import translate
from service.storage.client import Document, within
from service.storage.collections import CollectionStore
from service.storage.definitions import CHANGE_SECONDS, Definitions

CLASH = Violation((), "Other documents have the same value, and the field is to be unique", "unique")


@dataclass(frozen=True, slots=True)
class Findings:
    """What a change meets: documents it would repair, and `conflicts` {total, documents: [{id, errors}]} or None."""

    repairs: int = 0
    total: int = 0
    documents: list[dict[str, Any]] = field(default_factory=list)

    @property
    def conflicts(self) -> dict[str, Any]:
        return {"total": self.total, "documents": self.documents}


class SchemaChanges:
    """Changes of the schemas of collections."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs

    async def preview(self, project: Project, name: str, changes: Mapping[str, Any]) -> Findings:
        """What `change` would meet. Raises CollectionNotFound, Invalid."""
        with within(CHANGE_SECONDS):
            collection, _, fields = await self._prepared(project, name, changes)
            return await _examine(CollectionStore(project.database), collection, fields)

    async def change(self, project: Project, name: str, changes: Mapping[str, Any]) -> Collection:
        """Declares the fields in `changes` anew, removes those that are null there, leaves the others.

        Raises SchemaConflict where documents break the new schema and no default repairs them; CollectionNotFound,
        Invalid, SchemaChanging.
        """
        with within(CHANGE_SECONDS):
            collection, schema, fields = await self._prepared(project, name, changes)
            store = CollectionStore(project.database)
            _refuse_conflicts(await _examine(store, collection, fields))
            record = await Definitions(project.database).begin(name, "change")
            if record is None:
                raise SchemaChanging
            try:
                _refuse_stale(collection, record)
                record = await _switch(project, record, schema, fields)
            finally:
                await reconcile(project.database, record)
        return (await self._catalogs.refresh(project)).find(name)

    async def _prepared(
        self, project: Project, name: str, changes: Mapping[str, Any]
    ) -> tuple[Collection, dict[str, Any], Fields]:
        catalog = await self._catalogs.refresh(project)
        collection = catalog.find(name)
        merged = {**collection.schema, **changes}
        removed = {name for name, definition in changes.items() if definition is None and name in collection.schema}
        schema = {name: definition for name, definition in merged.items() if name not in removed}
        return collection, schema, await validate_schema(project.database, name, schema, catalog)


async def _switch(project: Project, record: Document, schema: dict[str, Any], fields: Fields) -> Document:
    """The leased record with the new schema in it. Raises SchemaConflict with the old one still stored."""
    collection, store = read_collection(record), CollectionStore(project.database)
    old, new = validator(collection.fields), validator(fields)
    if old != new:
        await store.set_validator(collection.name, {"$and": [old, new]})
    _refuse_conflicts(await _examine(store, collection, fields))
    try:
        await store.add_indexes(collection.name, [*indexes(collection.fields), *_new_indexes(collection, fields)])
    except DuplicateValue:
        # All of them are looked at: an old one may have been dropped past the service.
        _refuse_conflicts(await _clashes(store, collection, indexes(fields)))
        raise SchemaChanging from None
    committed = await Definitions(project.database).commit(record, schema)
    if committed is None:
        raise SchemaChanging
    return committed


async def _examine(store: CollectionStore, collection: Collection, fields: Fields) -> Findings:
    if (new := validator(fields)) != validator(collection.fields):
        filling = fill(fields)
        before, _ = await store.broken(collection.name, new)
        after, first = await store.broken(collection.name, new, filling) if before else (0, [])
        if after:
            reasons = await store.reasons(collection.name, first, new, filling)
            return Findings(before - after, after, [_reported(id_, translate(reasons[id_], ())) for id_ in reasons])
        clashes = await _clashes(store, collection, _new_indexes(collection, fields))
        return Findings(before, clashes.total, clashes.documents)
    return await _clashes(store, collection, _new_indexes(collection, fields))


async def _clashes(store: CollectionStore, collection: Collection, wanted: Iterable[Index]) -> Findings:
    total, documents = 0, list[dict[str, Any]]()
    for index in wanted:
        if index.unique:
            count, first = await store.clashes(collection.name, index)
            total += count
            documents += [_reported(id_, [CLASH.under("data", index.field)]) for id_ in first]
    return Findings(0, total, documents)


def _new_indexes(collection: Collection, fields: Fields) -> list[Index]:
    present = indexes(collection.fields)
    return [index for index in indexes(fields) if index not in present]


def _reported(id_: str, violations: list[Violation]) -> dict[str, Any]:
    return {"id": id_, "errors": [violation.as_dict() for violation in violations]}


def _refuse_conflicts(findings: Findings) -> None:
    if findings.total:
        raise SchemaConflict(findings.conflicts)


def _refuse_stale(collection: Collection, record: Document) -> None:
    """The change was prepared on what `collection` was then."""
    if record["schema"] != collection.schema:
        raise SchemaChanging
