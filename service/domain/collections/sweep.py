"""Removes leftovers of deleted collections in MongoDB from every project after an hour."""

from service.domain.projects.every import for_each_project, raise_first
from service.storage.closed_collections import sweep_closed
from service.storage.databases import Databases


async def sweep_collections(databases: Databases) -> None:
    """The job: raises the first error, after all projects had their turn."""
    raise_first(await for_each_project(databases, "sweep_failed", sweep_closed))
