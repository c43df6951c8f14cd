"""Creating, changing and deleting projects: what the command line and the seeds do, never a request."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import NO_CHANGES, KeptChanges, compare
from service.domain.projects.deletion import Deletions
from service.domain.projects.keys import PUBLISHABLE, SECRET, ProjectKeys, new_key
from service.domain.projects.lookup import PROJECT_ID, Project, Projects
from service.domain.projects.readiness import Canary
from service.domain.projects.secrets import SecretBox
from service.domain.projects.settings import SECRET_SETTINGS, check_names, check_together, read_project_settings, stored
from service.domain.projects.signing_keys import new_signing_key
from service.errors import ConfigurationError, ProjectNotFound
from service.query.shapes import USERS
from service.schema.values import now
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases, ProjectDatabase
from service.storage.images import keep_images
from service.storage.migrations import Migrations
from service.storage.projects import ProjectStore

Fill = Callable[[Project], Awaitable[None]]

MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """One project as a list of all shows it."""

    id: str
    name: str
    created_at: datetime
    database: ProjectDatabase


class ProjectAdmin:
    """The operations of `auth-collections project`."""

    def __init__(
        self,
        databases: Databases,
        store: ProjectStore,
        secret_box: SecretBox,
        projects: Projects,
        canary: Canary,
        *,
        migrations: Migrations,
        deletions: Deletions,
        audit: Audit,
        default_tier: str,
    ) -> None:
        self._databases = databases
        self._store = store
        self._secret_box = secret_box
        self._projects = projects
        self._canary = canary
        self._migrations = migrations
        self._deletions = deletions
        self._audit = audit
        self._default_tier = default_tier

    async def create(
        self, name: str, project_id: str | None, settings: Mapping[str, str], fill: Fill | None = None
    ) -> tuple[Project, ProjectKeys]:
        """The new project and its keys, which are shown now and never again.

        The database is made first, and filled by `fill`: a project that can be found is one that can be used. Raises
        Conflict when the id is taken, ConfigurationError for a bad name, id or setting.
        """
        project_id, settings = project_id or secrets.token_hex(6), self.complete(settings)
        _check(name, project_id)
        await self._canary.check()
        # Nothing may be made in a database that is about to be dropped.
        if await self._store.is_deleting(project_id):
            raise await self._store.conflict(project_id)
        record = {
            "_id": project_id,
            "name": name,
            "settings": self._sealed(project_id, stored(read_project_settings(settings))),
            "signing_key": self._secret_box.seal(new_signing_key(project_id), f"{project_id}/signing_key"),
            "created_at": now(),
        }
        project = self._projects.opened(record)
        await self._migrations.begin_project(project.database)
        if project.settings.realtime_users:
            await _keep_images_of_users(project)
        if fill is not None:
            await fill(project)
        secret, publishable = new_key(project_id, SECRET, "default"), new_key(project_id, PUBLISHABLE, "default")
        await self._store.insert(record, [secret.record, publishable.record], partial(self._note_creation, record))
        return project, ProjectKeys(secret.key, publishable.key)

    def complete(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The settings of a new project: those given, and the deployment's tier. Raises ConfigurationError for a bad one."""
        found = {"TIER": self._default_tier, **settings}
        check_together(read_project_settings(found))
        return found

    async def find(self, project_id: str) -> Project:
        """The project as it is stored now. Raises ProjectNotFound."""
        record = await self._store.find(project_id)
        if record is None:
            is_deleting = await self._store.is_deleting(project_id)
            raise (
                ProjectNotFound(f"The project {project_id} is being deleted") if is_deleting else _not_found(project_id)
            )
        return self._projects.opened(record)

    async def list(self) -> list[ProjectEntry]:
        """All projects, oldest first, without their secrets: no SECRET_KEY is needed for this."""
        return [
            ProjectEntry(record["_id"], record["name"], record["created_at"], self._databases.project(record["_id"]))
            for record in await self._store.list()
        ]

    async def change(self, project_id: str, changes: Mapping[str, str]) -> Project:
        """Changes settings; an empty value means the default again. Raises ConfigurationError, ProjectNotFound."""
        if "TIER" in changes:
            changes = {**changes, "TIER": changes["TIER"] or self._default_tier}
        check_names(changes)

        async def decide(session: ClientSession, record: Document) -> Document | None:
            before = stored(self._projects.opened(record).settings)
            kept = {name: value for name, value in before.items() if name not in changes}
            settings = read_project_settings(kept | {name: value for name, value in changes.items() if value})
            check_together(settings)
            after = stored(settings)
            found = compare(before, after, secrets=SECRET_SETTINGS, path=("settings",))
            if found == NO_CHANGES:
                return None
            await self._audit.record(session, _act(Action.SETTINGS_CHANGED, record, found))
            return self._update(project_id, before, after)

        await self._store.change(project_id, decide)
        project = await self.find(project_id)
        if "REALTIME_USERS" in changes:
            await _keep_images_of_users(project)
        return project

    async def rename(self, project_id: str, name: str) -> Project:
        """Gives a project another name. Raises ConfigurationError, ProjectNotFound."""
        _check_name(name)

        async def decide(session: ClientSession, record: Document) -> Document | None:
            if (found := compare({"name": record["name"]}, {"name": name})) == NO_CHANGES:
                return None
            await self._audit.record(session, _act(Action.PROJECT_RENAMED, record, found))
            return {"$set": {"name": name}}

        await self._store.change(project_id, decide)
        self._projects.forget_all()
        return await self.find(project_id)

    async def delete(self, project_id: str, on_closed: Callable[[], None] = lambda: None) -> None:
        """Deletes a project with all its data, also one whose secrets do not open. Raises ProjectNotFound.

        Its keys are refused from the first write on, after which `on_closed` is called. Returns when all its data is
        gone and its id is free, which takes half a minute if a server runs. After an interruption a running server, or
        the next that starts, goes on.
        """
        await self.begin_deletion(project_id)
        on_closed()
        await self._deletions.finish(project_id)

    async def begin_deletion(self, project_id: str) -> None:
        """Refuses the project's keys from now on; a running server deletes its data. Raises ProjectNotFound."""
        if not await self._store.begin_deletion(project_id, self._note_deletion):
            raise _not_found(project_id)
        self._projects.forget_all()

    async def _note_creation(self, record: Document, session: ClientSession) -> None:
        changes = compare({}, _describe(record), secrets=SECRET_SETTINGS)
        await self._audit.record(session, _act(Action.PROJECT_CREATED, record, changes, is_new=True))

    async def _note_deletion(self, session: ClientSession, record: Document) -> None:
        changes = compare(_describe(record), {}, secrets=SECRET_SETTINGS)
        await self._audit.record(session, _act(Action.PROJECT_DELETED, record, changes))

    def _update(self, project_id: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Document:
        """The update of the record: settings that are equal stay as they are, sealed ones too."""
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        given = {f"settings.{name}": value for name, value in self._sealed(project_id, changed).items()}
        removed = {f"settings.{name}": "" for name in before.keys() - after.keys()}
        update: Document = {"$set": given, "$unset": removed}
        return {operator: fields for operator, fields in update.items() if fields}

    def _sealed(self, project_id: str, settings: Mapping[str, Any]) -> Document:
        """The stored form of settings, of which secrets are sealed."""
        return {
            name: self._secret_box.seal(value, f"{project_id}/{name}") if name in SECRET_SETTINGS else value
            for name, value in settings.items()
        }


def _act(action: Action, record: Document, changes: KeptChanges, *, is_new: bool = False) -> Act:
    target = Target("project", record["_id"], record["name"])
    return Act(action, target, record["_id"], changes, is_new=is_new)


def _describe(record: Document) -> Document:
    """The name and the settings of a record, as an audit entry shows them."""
    return {"name": record["name"], "settings": record["settings"]}


async def _keep_images_of_users(project: Project) -> None:
    await keep_images(project.database, USERS.collection, enabled=project.settings.realtime_users)


def _not_found(project_id: str) -> ProjectNotFound:
    return ProjectNotFound(f"There is no project {project_id}")


def _check(name: str, project_id: str) -> None:
    _check_name(name)
    if not PROJECT_ID.fullmatch(project_id):
        raise ConfigurationError("A project's id has 1 to 40 of a-z, 0-9 and -, and neither begins nor ends with -")


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise ConfigurationError(f"A project's name has 1 to {MAX_NAME} printable characters")
