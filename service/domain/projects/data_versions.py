"""Checks that this version of the service knows the form of the stored data: a newer one may have written it meanwhile."""

from service.errors import NewerData
from service.storage.databases import Databases, ProjectDatabase
from service.storage.migrations import PROJECT_MIGRATIONS, SYSTEM_MIGRATIONS, read_version

# Seconds between two looks of a worker at the system's database.
LOOK_SECONDS = 10.0


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


async def check_project(project_id: str, project: ProjectDatabase) -> None:
    """Raises NewerData for a project that a newer version has written, and Unavailable."""
    if await read_version(project.database) > len(PROJECT_MIGRATIONS):
        raise NewerData(f"the project {project_id}")
