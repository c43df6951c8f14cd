"""Removes files of interrupted uploads, which no record names, from every project."""

from collections.abc import Mapping

from service.domain.projects.every import for_each_project, raise_first
from service.storage.databases import Databases
from service.storage.files.deletions import Swept, sweep

SWEEP_EVERY_SECONDS = 600.0


async def sweep_projects(databases: Databases) -> Mapping[str, Swept | Exception]:
    """Project id → the removed files, or the error that stopped it. Raises Unavailable if no project can be listed.

    The next sweep removes the rest.
    """
    return await for_each_project(databases, "sweep_failed", sweep)


async def sweep_files(databases: Databases) -> None:
    """The same as a job: the first error counts, after all projects had their turn."""
    raise_first(await sweep_projects(databases))
