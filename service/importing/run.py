"""An import in its order: inventory, schemas, users, documents, references and files, report.

Safe to run again: each record is stored under its id, and one that is there stays as it is.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from service.bounds import MAX_IMPORT_BATCH_BYTES
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import compare
from service.domain.collections.schema_changes import change_schema
from service.domain.portions import read_portions
from service.domain.projects.lookup import Project
from service.domain.projects.signer_keys import keep_signer_keys
from service.errors import CollectionNotFound, ConfigurationError, Invalid
from service.importing.documents import DocumentImport
from service.importing.inference import Inference
from service.importing.records import Inventory, SourceCollection, SourceRecord, SourceUser
from service.importing.report import MovingReport
from service.importing.sources import BadInput, ImportSource, take_inventory
from service.importing.users import UserImport
from service.importing.waiting import WaitingList
from service.schema.fields import Fields, parse
from service.seeding.attachments import Attachments
from service.services import Services

BATCH = 500

Observe = Callable[[str, int], None]
_read = partial(read_portions, most=BATCH, most_bytes=MAX_IMPORT_BATCH_BYTES)


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """The options of an import beside those of its source."""

    dry_run: bool = False
    infers: bool = False
    detects_dates: bool = False
    placeholder: str | None = None
    folder: Path | None = None


async def run_import(
    services: Services, project_id: str, source: str, asked: ImportSource, choices: ImportChoices, observe: Observe
) -> Mapping[str, Any]:
    """The report. Raises ProjectNotFound, and ConfigurationError for what cannot be imported at all."""
    project = await services.base.projects.by_id(project_id)
    report = MovingReport(source, project_id, choices.folder, dry_run=choices.dry_run)
    run = ImportRun(services, project, report, choices, observe)
    try:
        return await run.all(source, replace(asked, lose=report.lose))
    except BadInput as error:
        raise ConfigurationError(str(error)) from None
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import into a project that exists."""

    services: Services
    project: Project
    report: MovingReport
    choices: ImportChoices
    observe: Observe
    declared: dict[str, Fields] = field(default_factory=dict)

    async def all(self, source: str, asked: ImportSource) -> Mapping[str, Any]:
        """Raises BadInput, OSError, ConfigurationError."""
        inventory = await asyncio.to_thread(take_inventory, source, asked)
        for name in inventory.listed:
            self.report.lose(name, "", "not_imported")
        schemas = [await self._schema(each) for each in inventory.collections]
        await self._note(Action.IMPORT_BEGUN)
        try:
            await self._declare(inventory, schemas)
            await self._users(inventory)
            await self._documents(inventory)
        finally:
            found = self.report.close()
            await self._note(Action.IMPORT_ENDED)
        return found

    async def _note(self, action: Action) -> None:
        if self.choices.dry_run:
            return
        counts = {name: each.created for name, each in self.report.targets.items()}
        figures = {"source": self.report.source, "created": counts, "rejected": self.report.rejected}
        target = Target("project", self.project.id)
        await self.services.base.audit.note(Act(action, target, self.project.id, compare({}, figures)))

    async def _schema(self, collection: SourceCollection) -> Mapping[str, Any] | None:
        """The schema to declare; None for a collection that the project has. Raises ConfigurationError."""
        name = collection.name
        try:
            self.declared[name] = (await self.services.collections.catalogs.refresh(self.project, name)).fields
        except CollectionNotFound:
            if collection.schema is not None:
                return collection.schema
        else:
            return None
        if not self.choices.infers:
            raise ConfigurationError(
                f"The project has no collection {name}, and the source has no schema: declare it, or use --infer-schema"
            )
        inference = Inference(detects_dates=self.choices.detects_dates)
        async for batch in _read(collection.read(None), _size):
            for record in batch:
                inference.see(record.data)
            self.observe(f"{name} (schema)", len(batch))
        return inference.schema()

    async def _declare(self, inventory: Inventory, schemas: Sequence[Mapping[str, Any] | None]) -> None:
        """Makes the collections that are new: first those that others refer to. Raises ConfigurationError."""
        new = {
            each.name: schema for each, schema in zip(inventory.collections, schemas, strict=True) if schema is not None
        }
        for name, schema in new.items():
            try:
                self.declared[name] = parse(schema)
                if self.choices.dry_run:
                    await self.services.collections.check(self.project, name, dict(schema), coming=new)
            except Invalid as error:
                raise ConfigurationError(f"{name}: {_first(error)}") from None
        if self.choices.dry_run:
            return
        made: set[str] = set()
        for name in _in_order(new):
            # Fields that refer to a collection which comes later are added then.
            later = {each for each, field in new[name].items() if field.get("collection") in new.keys() - made - {name}}
            await self._create(name, {each: field for each, field in new[name].items() if each not in later})
            made.add(name)
        for name in new:
            if lacking := {each: field for each, field in new[name].items() if each not in self.declared[name]}:
                changed = await change_schema(self.services.collections, self.project, name, lacking)
                self.declared[name] = changed.fields

    async def _create(self, name: str, schema: dict[str, Any]) -> None:
        """Raises ConfigurationError."""
        try:
            self.declared[name] = (await self.services.collections.create(self.project, name, schema)).fields
        except Invalid as error:
            raise ConfigurationError(f"{name}: {_first(error)}") from None

    async def _users(self, inventory: Inventory) -> None:
        if inventory.users is None:
            return
        project = await self._with_signers(inventory.signer_keys)
        importer = UserImport(self.services.accounts, project, self.report, self.choices.placeholder)
        async for batch in _read(inventory.users(), _size_of_user):
            await importer.store(batch)
            self.observe("users", len(batch))

    async def _with_signers(self, keys: Mapping[str, bytes]) -> Project:
        """The project with further signer keys, which are stored unless this is a dry run."""
        base = self.services.base
        if keys and not self.choices.dry_run:
            await keep_signer_keys(base.store, base.secret_box, self.project.id, keys)
            base.projects.forget_all()
        return replace(self.project, signer_keys={**self.project.signer_keys, **keys})

    async def _documents(self, inventory: Inventory) -> None:
        attachments = Attachments(self.services.files, self.services.documents, Path("/"))
        with closing(WaitingList()) as waiting:
            importer = DocumentImport(
                self.services.documents, attachments, self.project, self.report, self.declared, waiting
            )
            handle = importer.judge if self.choices.dry_run else importer.store
            for collection in inventory.collections:
                async for batch in _read(collection.read(self.declared[collection.name]), _size):
                    await handle(collection.name, batch)
                    self.observe(collection.name, len(batch))
            await importer.settle()


def _size(record: SourceRecord) -> int:
    return record.size


def _size_of_user(user: SourceUser) -> int:
    return user.record.size


def _in_order(schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The names, each after those it refers to, as far as they do not refer to each other."""
    left = dict(schemas)
    while left:
        ready = [name for name, schema in left.items() if not (_targets(schema) - {name}) & left.keys()]
        for name in ready or [next(iter(left))]:
            yield name
            del left[name]


def _targets(schema: Mapping[str, Any]) -> set[str]:
    return {str(each["collection"]) for each in schema.values() if each.get("type") == "reference"}


def _first(error: Invalid) -> str:
    first = error.violations[0]
    return f"{'.'.join(map(str, first.loc[2:]))}: {first.msg}"
