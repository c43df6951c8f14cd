"""Creating, changing and deleting projects: what the command line and the seeds do, never a request."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import NO_CHANGES, KeptChanges, compare
from service.domain.projects.deletion import Deletions
from service.domain.projects.keys import PUBLISHABLE, SECRET, ProjectKeys, new_key
from service.domain.projects.lookup import PROJECT_ID, Project, Projects
from service.domain.projects.readiness import Canary
from service.domain.projects.secrets import SecretBox
from service.domain.projects.setting_changes import (
    SettingChanges,
    check_needs,
    keep_images_of_settings,
    keep_names_of_users,
    needs_images,
)
from service.domain.projects.settings import SECRET_SETTINGS, read_project_settings, stored
from service.domain.projects.signing_keys import new_signing_key
from service.errors import InvalidConfiguration, ProjectNotFound
from service.schema.values import now
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases, ProjectDatabase
from service.storage.migrations import Migrations
from service.storage.project_lists import ProjectPage, ProjectQuery, list_page
from service.storage.projects import ProjectStore

Fill = Callable[[Project], Awaitable[None]]

MAX_NAME = 100
# Settings of a new project that is no part of a manifest.
OF_NEW_PROJECTS = {"TOKEN_ISSUER": "project"}


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
        settings: SettingChanges,
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
        self._settings = settings
        self._default_tier = default_tier

    async def create(
        self, name: str, project_id: str | None, settings: Mapping[str, str], fill: Fill | None = None
    ) -> tuple[Project, ProjectKeys]:
        """The new project and its keys, which are shown now and never again.

        The database is made first, and filled by `fill`: a project that can be found is one that can be used. Raises
        Conflict when the id is taken, InvalidConfiguration for a bad name, id or setting.
        """
        project_id, settings = project_id or secrets.token_hex(6), self.complete(settings)
        check_project(name, project_id)
        await self._canary.check()
        # Nothing may be made in a database that is about to be dropped.
        if await self._store.is_deleting(project_id):
            raise await self._store.conflict(project_id)
        record = {
            "_id": project_id,
            "name": name,
            "settings": self._settings.seal(project_id, stored(read_project_settings(settings))),
            "signing_key": self._secret_box.seal(new_signing_key(project_id), f"{project_id}/signing_key"),
            "created_at": now(),
        }
        project = self._projects.opened(record)
        await self._migrations.begin_project(project.database)
        if needs_images(project.settings):
            await keep_images_of_settings(project)
        if project.settings.usernames != "off":
            await keep_names_of_users(project)
        if fill is not None:
            await fill(project)
        secret, publishable = new_key(project_id, SECRET, "default"), new_key(project_id, PUBLISHABLE, "default")
        await self._store.insert(record, [secret.record, publishable.record], partial(self._note_creation, record))
        return project, ProjectKeys(secret.key, publishable.key)

    async def create_new(
        self, name: str, project_id: str | None, settings: Mapping[str, str]
    ) -> tuple[Project, ProjectKeys]:
        """As `create`, for an operator or a command: the project is an issuer of tokens of its own."""
        return await self.create(name, project_id, {**OF_NEW_PROJECTS, **settings})

    def complete(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The settings of a new project: those given, and the deployment's tier. Raises InvalidConfiguration for a bad one."""
        found = {"TIER": self._default_tier, **settings}
        check_needs(read_project_settings(found))
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

    async def page(self, query: ProjectQuery) -> ProjectPage:
        """A page of projects, without their secrets. Raises QueryTooSlow."""
        return await list_page(self._databases, query)

    async def change(self, project_id: str, changes: Mapping[str, str]) -> Project:
        """Changes settings; an empty value means the default again. Raises InvalidConfiguration, ProjectNotFound."""
        await self._settings.change(project_id, {name: value or None for name, value in changes.items()})
        return await self.find(project_id)

    async def rename(self, project_id: str, name: str) -> Project:
        """Gives a project another name. Raises InvalidConfiguration, ProjectNotFound."""
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


def _act(action: Action, record: Document, changes: KeptChanges, *, is_new: bool = False) -> Act:
    target = Target("project", record["_id"], record["name"])
    return Act(action, target, record["_id"], changes, is_new=is_new)


def _describe(record: Document) -> Document:
    """The name and the settings of a record, as an audit entry shows them."""
    return {"name": record["name"], "settings": record["settings"]}


def _not_found(project_id: str) -> ProjectNotFound:
    return ProjectNotFound(f"There is no project {project_id}")


def check_project(name: str, project_id: str) -> None:
    """Raises InvalidConfiguration for a bad name or id."""
    _check_name(name)
    if not PROJECT_ID.fullmatch(project_id):
        msg = "A project's id has 1 to 40 of a-z, 0-9 and -, and neither begins nor ends with -"
        raise InvalidConfiguration.one(("body", "id"), msg)


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        msg = f"A project's name has 1 to {MAX_NAME} printable characters"
        raise InvalidConfiguration.one(("body", "name"), msg)
