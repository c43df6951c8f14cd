"""Copies a project within the deployment: a backup into a temporary file, which is restored under another id."""

import tempfile

from service.domain.audit.actions import Action
from service.domain.portable import Portable
from service.domain.portable.archive import Sink
from service.domain.portable.copying import Advance, ignore
from service.domain.portable.reading import BackupFile
from service.domain.portable.restoring import Choices, Restored, restore_project
from service.domain.portable.taking import Wanted, take_backup


async def clone_project(
    portable: Portable, wanted: Wanted, project_id: str, choices: Choices, advance: Advance = ignore
) -> Restored:
    """Copies the project that is `wanted`, as it is at one moment, to `project_id`.

    Raises Conflict where the id is taken, and the errors of `take_backup` and of `restore_project`.
    """
    if await portable.store.is_taken(project_id):
        raise await portable.store.conflict(project_id)
    with tempfile.TemporaryFile() as file:

        def empty() -> Sink:
            file.seek(0)
            file.truncate()
            return file

        await take_backup(portable, wanted, empty, advance)
        file.seek(0)
        with BackupFile(file) as backup:
            return await restore_project(portable, backup, project_id, choices, advance, action=Action.PROJECT_CLONED)
