"""`auth-collections migrate`: every database in this version's form, with all its indexes."""

from service.domain.projects.admin import ProjectAdmin
from service.storage.migrations import Migrations


async def migrate_all(migrations: Migrations, admin: ProjectAdmin) -> dict[str, list[str]]:
    """The database's name for people → what was made in it. The system's is first, and is so by the time this is called."""
    made = {"system": await migrations.migrate_system()}
    for project in await admin.list():
        missing = [f"the index {name}" for name in await project.database.missing_indexes()]
        await project.database.ensure_indexes()
        made[f"project {project.id}"] = [*missing, *await migrations.migrate_project(project.id)]
    return made
