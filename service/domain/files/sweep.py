"""What no record names and nobody will come back for, removed from every project: files of uploads that were cut short."""

from collections.abc import Mapping

from service.domain.projects.every import for_each_project, raise_first
from service.storage.databases import Databases
from service.storage.files.deletions import Swept, sweep

SWEEP_EVERY_SECONDS = 600.0


async def sweep_projects(databases: Databases) -> Mapping[str, Swept | Exception]:
    """Project id → what was removed there, or the error that stopped it. Raises Unavailable where none can be listed.

    What was not reached, the next sweep removes.
    """
    return await for_each_project(databases, "sweep_failed", sweep)


async def sweep_files(databases: Databases) -> None:
    """The same as a job: the first error counts, after all projects had their turn."""
    raise_first(await sweep_projects(databases))
