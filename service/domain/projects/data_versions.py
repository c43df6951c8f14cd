"""Checks that this version of the service knows the form of the stored data: a newer one may have written it meanwhile."""

import structlog

from service.errors import NewerData
from service.storage.databases import Databases, ProjectDatabase
from service.storage.migrations import (
    PROJECT_MIGRATIONS,
    SYSTEM_MIGRATIONS,
    DataState,
    Migrations,
    read_state,
    read_version,
)

# Seconds between two looks of a worker at the system's database.
LOOK_SECONDS = 10.0
log = structlog.get_logger()


class DataVersions:
    """The system's version, as this process last read it. A project's is read together with the project."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self.is_newer = False

    async def look(self) -> None:
        """Reads the system's version. Raises Unavailable."""
        self.is_newer = await read_version(self._databases.system) > len(SYSTEM_MIGRATIONS)

    async def check(self) -> None:
        """Raises NewerData, where the system's data is newer than this version, and Unavailable."""
        await self.look()
        if self.is_newer:
            raise NewerData("the system's database")


async def check_project(project_id: str, project: ProjectDatabase) -> DataState:
    """The state of the project's data. Raises NewerData where a newer version has written it, and Unavailable."""
    state = await read_state(project)
    if state.number > len(PROJECT_MIGRATIONS):
        raise NewerData(f"the project {project_id}")
    return state


class Migrator:
    """Remembers the projects to look at; `run_pending` is called every second."""

    def __init__(self, migrations: Migrations) -> None:
        self._migrations = migrations
        self._pending: dict[str, None] = {}
        self._done: set[str] = set()

    def note(self, project_id: str) -> None:
        """A request uses this project."""
        if project_id not in self._done:
            self._pending[project_id] = None

    async def run_pending(self) -> None:
        """Migrates the projects that were met. Raises the first error, after all had their turn."""
        errors: list[Exception] = []
        for project_id in list(self._pending):
            try:
                await self._migrate(project_id)
            except Exception as error:
                log.warning("migration_failed", project=project_id, cause=type(error).__name__)
                errors.append(error)
        if errors:
            raise errors[0]

    async def _migrate(self, project_id: str) -> None:
        made = await self._migrations.migrate_project(project_id)
        if made:
            log.info("migrated", project=project_id, made=made)
        self._done.add(project_id)
        self._pending.pop(project_id, None)
