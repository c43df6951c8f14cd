"""Brings each project that this worker meets to the present version, once, in the background."""

import structlog

from service.storage.migrations import Migrations

log = structlog.get_logger()


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
