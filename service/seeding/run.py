"""Everything in order: project, settings, users, their files, each collection with its documents, the rules, aggregations.

Safe to run again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.aggregations.aggregations import Aggregations, check_definition
from service.domain.documents.reader import Engine
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.keys import ProjectKeys
from service.domain.projects.lookup import Project
from service.domain.projects.setting_changes import merge_settings
from service.domain.projects.settings import SECRET_SETTINGS, read_project_settings, stored
from service.errors import CollectionNotFound, Invalid, ProjectNotFound, ServiceError
from service.schema.fields import parse
from service.seeding.attachments import Attachments, file_fields
from service.seeding.batches import RowBatches, one_behind
from service.seeding.documents import Destination, reason, seed_documents
from service.seeding.files import FileSeeder
from service.seeding.manifest import CollectionPart, ProjectPart, SeedManifest, Source
from service.seeding.profiles import ProfileSeeder
from service.seeding.report import Report, find_changes
from service.seeding.rules import RulesSeeder, describe_error, read_manifest_rules
from service.seeding.schemas import SchemaSeeder, explain
from service.seeding.users import KIND as USERS
from service.seeding.users import SeededUsers, UserSeeder
from service.services import Services

KIND = "aggregations"


@dataclass(frozen=True, slots=True)
class AggregationsSeeder:
    """Saves the aggregations of a manifest."""

    aggregations: Aggregations
    report: Report

    async def seed(self, project: Project | None, wanted: Mapping[str, Mapping[str, Any]]) -> None:
        """Saves those that are not there, or differ; others of the project are left."""
        saved = await self.aggregations.list(project) if project is not None and wanted else []
        present = {each.name: each.body for each in saved}
        for name, definition in wanted.items():
            try:
                await self._seed_one(project, name, definition, present.get(name))
            except ServiceError as error:
                self.report.refuse(KIND, f"{KIND}.{name}", describe_error(error))

    async def _seed_one(
        self, project: Project | None, name: str, definition: Mapping[str, Any], before: Mapping[str, Any] | None
    ) -> None:
        after = {"parameters": {}, **definition}
        if before is not None and not find_changes(before, after) and before.keys() <= after.keys():
            self.report.unchanged(KIND)
            return
        await self._save(project, name, definition)
        if before is None:
            self.report.created(KIND, name)
        else:
            self.report.updated(KIND, name, before, find_changes(before, after))

    async def _save(self, project: Project | None, name: str, definition: Mapping[str, Any]) -> None:
        if project is None:
            check_definition(definition)
        elif not self.report.dry_run:
            await self.aggregations.save(SecretKeyCaller(project), name, definition)
        else:
            await self._try(project, definition)

    async def _try(self, project: Project, definition: Mapping[str, Any]) -> None:
        """A collection that a run would make is not there to be looked at."""
        check_definition(definition)
        try:
            await self.aggregations.check(SecretKeyCaller(project), definition)
        except CollectionNotFound:
            return


@dataclass(frozen=True, slots=True)
class Seeder:
    """Seeds a manifest. `folder` is the manifest's; if the report is of a dry run, nothing is written."""

    admin: ProjectAdmin
    profiles: ProfileSeeder
    users: UserSeeder
    schemas: SchemaSeeder
    documents: Engine
    rules: RulesSeeder
    aggregations: AggregationsSeeder
    files: FileSeeder
    folder: Path
    report: Report

    async def seed(self, manifest: SeedManifest) -> ProjectKeys | None:
        """The API keys, if the project was made just now. Raises ConfigurationError for what stops the whole seed."""
        settings = _settings(manifest)
        project, keys = await self._project(manifest.project, settings)
        in_force = {**(stored(project.settings) if project else {}), **settings}
        await self._fill(project, manifest, in_force)
        return keys

    async def seed_new(self, manifest: SeedManifest) -> ProjectKeys:
        """Creates the project and returns its API keys. The project cannot be found before all of it is there.

        The next call continues an interrupted one. Raises Conflict if the project exists, and the errors of `seed`.
        """
        part, settings = manifest.project, _settings(manifest)
        self.report.created("project", part.id)
        _, keys = await self.admin.create(
            part.name, part.id, settings, lambda project: self._fill(project, manifest, settings)
        )
        return keys

    async def _fill(self, project: Project | None, manifest: SeedManifest, settings: Mapping[str, Any]) -> None:
        in_force, rules = read_project_settings(settings), read_manifest_rules(manifest, self.folder)
        profile = await self.profiles.seed(project, manifest.profile)
        for number, source in enumerate(manifest.users):
            target = SeededUsers(project, profile, manifest.project.name, in_force)
            await self._users(target, source, f"users[{number}]")
        await self.files.seed(project, manifest.files)
        for name, part in manifest.collections.items():
            await self._collection(project, name, part, manifest.collections)
        if rules is not None:
            await self.rules.seed(project, manifest, rules)
        await self.aggregations.seed(project, manifest.aggregations)

    async def _project(
        self, part: ProjectPart, settings: Mapping[str, str]
    ) -> tuple[Project | None, ProjectKeys | None]:
        """The project, which is None in a dry run before the first run, and its keys if it is new."""
        try:
            project = await self.admin.find(part.id)
        except ProjectNotFound:
            self.report.created("project", part.id)
            self.admin.complete(settings)
            return (None, None) if self.report.dry_run else await self.admin.create(part.name, part.id, settings)
        merge_settings(project.settings, settings)
        present = {name: _text(value) for name, value in stored(project.settings).items()}
        changes = {name: value for name, value in settings.items() if present.get(name) != value}
        if not changes:
            self.report.unchanged("project")
            return project, None
        before = {name: present[name] for name in changes if name in present}
        self.report.updated("project", project.id, _masked(before), _masked(changes))
        return project if self.report.dry_run else await self.admin.change(project.id, changes), None

    async def _users(self, target: SeededUsers, source: Source, place: str) -> None:
        batches = RowBatches(source, self.folder, place, kind=USERS, report=self.report)
        async for batch in batches.read(target.project, target.cells):
            users = batches.wanted(batch, target.read_row, "email")
            await self.users.seed(target, users)
            self.report.observe(USERS, len(batch))

    async def _collection(
        self, project: Project | None, name: str, part: CollectionPart, coming: Iterable[str]
    ) -> None:
        place = f"collections.{name}"
        try:
            collection = await self.schemas.seed(project, name, part, coming)
            fields = parse(part.declared)
        except ServiceError as error:
            self.report.refuse("collections", f"{place}.schema", _reason(error))
            return
        kinds = {field: each.kind for field, each in fields.items()}
        attachments = Attachments(self.files.files, self.documents, self.folder)
        for number, source in enumerate(part.documents):
            target = Destination(
                project, collection, name, source, self.documents, attachments=attachments, files=file_fields(fields)
            )
            batches = RowBatches(source, self.folder, f"{place}.documents[{number}]", kind=name, report=self.report)
            async with one_behind() as start:
                async for batch in batches.read(project, kinds):
                    documents = batches.wanted(batch, target.read_row, "key")
                    work = seed_documents(target, documents, self.report, dry_run=self.report.dry_run)
                    await (work if target.refers_to_itself else start(work))
                    self.report.observe(name, len(batch))


def make_seeder(services: Services, folder: Path, report: Report, *, migrate: bool = False) -> Seeder:
    files = FileSeeder(services.accounts, services.files, folder, report)
    rules = RulesSeeder(services.rules, report)
    aggregations = AggregationsSeeder(services.aggregations, report)
    schemas = SchemaSeeder(services.collections, report, migrate)
    parts = (schemas, services.documents, rules, aggregations, files)
    users = UserSeeder(services.accounts, report)
    profiles = ProfileSeeder(services.accounts.profiles, report, migrate)
    return Seeder(services.base.admin, profiles, users, *parts, folder, report)


def _reason(error: ServiceError) -> str:
    """The first reasons of a refused schema, as one line."""
    if isinstance(error, Invalid):
        return reason(error)
    return "; ".join(explain(error)[:2])


def _settings(manifest: SeedManifest) -> dict[str, str]:
    settings = {name: _text(value) for name, value in manifest.project.settings.items()}
    read_project_settings(settings)
    return settings


def _text(value: Any) -> str:
    """A setting as the command line takes it."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _masked(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: "********" if name in SECRET_SETTINGS else value for name, value in settings.items()}
