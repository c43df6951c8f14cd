"""Schemas that a file declares: comparing them with those in force, and bringing a project's collections to them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from service.domain.collections.catalog import Catalogs, DeclaredCollection
from service.domain.collections.collections import Collections
from service.domain.collections.conflicts import Findings
from service.domain.collections.schema_changes import change_schema, preview_change
from service.domain.projects.lookup import Project
from service.errors import (
    CollectionNotFound,
    ConfigurationError,
    Invalid,
    RuleTestsFailed,
    SchemaConflict,
    ServiceError,
)
from service.schema.collection_options import NO_OPTIONS, OPTION_NAMES, read_options
from service.schema.fields import parse
from service.seeding.manifest import SchemaPart
from service.seeding.report import Report, find_changes
from service.seeding.rules import describe_violation

KIND = "collections"


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration of a file, and the collection in force, None if there is none."""

    name: str
    part: SchemaPart
    collection: DeclaredCollection | None

    @property
    def before(self) -> dict[str, Any]:
        """The declaration in force, as the body of POST /api/collections without its name."""
        if self.collection is None:
            return {}
        return {"schema": self.collection.schema, **self.collection.options.as_json()}

    @property
    def after(self) -> dict[str, Any]:
        """The declaration that the file asks for; the options that it leaves out stay as they are."""
        present = NO_OPTIONS if self.collection is None else self.collection.options
        return {"schema": self.part.declared, **present.merged(self.part.options).as_json()}

    @property
    def differences(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The definitions that differ, before and after, and the options that do."""
        present = self.collection.schema if self.collection else {}
        before, after = {name: present[name] for name in self.fields if name in present}, self.fields
        for name in OPTION_NAMES:
            if self.before.get(name) != self.after.get(name):
                before, after = before | {name: self.before.get(name)}, after | {name: self.after.get(name)}
        return before, after

    @property
    def is_same(self) -> bool:
        return self.before == self.after

    @property
    def fields(self) -> dict[str, Any]:
        """The body of PATCH /api/collections/{name}: the definitions that differ, null for those that go."""
        present = self.collection.schema if self.collection else {}
        return find_changes(present, self.part.declared) | {
            name: None for name in present if name not in self.part.declared
        }


async def find_declared(catalogs: Catalogs, project: Project, name: str, part: SchemaPart) -> Declared:
    """The declaration, with the collection as it is stored now."""
    try:
        return Declared(name, part, await catalogs.refresh(project, name))
    except CollectionNotFound:
        return Declared(name, part, None)


@dataclass(frozen=True, slots=True)
class SchemaSeeder:
    """Makes the collections of a file. If it may `migrate`, it changes the schemas of existing ones."""

    collections: Collections
    report: Report
    migrate: bool = False

    async def preview(self, project: Project, declared: Declared, coming: Iterable[str]) -> Findings:
        """The repairs and conflicts of `bring`, once the collections `coming` exist. Raises the errors of `bring`."""
        if declared.collection is None:
            options = read_options(declared.part.options)
            await self.collections.check(project, declared.name, declared.part.declared, options, coming=coming)
            return Findings()
        return await preview_change(
            self.collections, project, declared.name, declared.fields, declared.part.options, coming=coming
        )

    async def bring(self, project: Project, declared: Declared) -> DeclaredCollection:
        """The collection as the file declares it. Raises as `Collections.create` and `change_schema`."""
        name, part = declared.name, declared.part
        if declared.collection is None:
            return await self.collections.create(project, name, part.declared, read_options(part.options))
        if declared.is_same:
            return declared.collection
        return await change_schema(self.collections, project, name, declared.fields, part.options)

    async def seed(
        self, project: Project | None, name: str, part: SchemaPart, coming: Iterable[str]
    ) -> DeclaredCollection | None:
        """As `bring`, with a line in the report. A dry run writes nothing, and returns None for a new collection.

        Raises also ConfigurationError where the schema differs and may not be changed.
        """
        declared = Declared(name, part, None)
        if project is not None:
            declared = await find_declared(self.collections.catalogs, project, name, part)
        if declared.is_same:
            self.report.unchanged(KIND)
            return declared.collection
        if project is None or declared.collection is None:
            made = await self._make(project, declared, coming)
            self.report.created(KIND, name)
            return made
        if not self.migrate:
            raise ConfigurationError(
                "differs from the one in force; change it with `seed --migrate` or `schema push` first"
            )
        findings = await self.preview(project, declared, coming)
        if findings.error:
            raise findings.error
        changed = replace(declared.collection, schema=part.declared, fields=parse(part.declared))
        found = changed if self.report.dry_run else await self.bring(project, declared)
        note = f"repairs {findings.repairs:,} documents" if findings.repairs else ""
        self.report.updated(KIND, name, *declared.differences, note=note)
        return found

    async def _make(
        self, project: Project | None, declared: Declared, coming: Iterable[str]
    ) -> DeclaredCollection | None:
        if project is None:
            return None
        if not self.report.dry_run:
            return await self.bring(project, declared)
        await self.preview(project, declared, coming)
        return None


def explain(error: ServiceError) -> list[str]:
    """The reasons of a refused schema, one line each: its broken rules, or the first documents that break it."""
    if isinstance(error, Invalid):
        return list(map(describe_violation, error.violations))
    if isinstance(error, RuleTestsFailed):
        tests = (f"{test['name']} (expected {test['expected']}, got {test['got']})" for test in error.failed)
        return [f"{error.detail}: {test}" for test in tests]
    if isinstance(error, SchemaConflict):
        return [error.detail, *_describe_conflicts(error)]
    return [error.detail]


def _describe_conflicts(error: SchemaConflict) -> Iterator[str]:
    for document in error.conflicts["documents"]:
        for rule in document["errors"]:
            yield f"{error.record} {document['id']}: {'.'.join(map(str, rule['loc'][1:]))}: {rule['msg']}"
