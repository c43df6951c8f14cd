"""Removing what unfinished uploads and replacements left behind, in every project."""

import asyncio
import random
from collections.abc import Sequence

from service.errors import ServiceError
from service.storage.databases import Databases
from service.storage.files.deletions import Swept, sweep
from service.storage.projects import ProjectStore

SWEEP_EVERY_SECONDS = 600


async def sweep_projects(databases: Databases) -> dict[str, Swept]:
    """Project id → what was removed there. Raises Unavailable; what was not reached, the next sweep removes."""
    ids = await _project_ids(databases)
    return {project_id: await sweep(databases.project(project_id)) for project_id in ids}


async def keep_sweeping(databases: Databases) -> None:
    """Sweeps for ever, each worker at moments of its own. A database that is away is tried again the next time."""
    while True:
        await asyncio.sleep(SWEEP_EVERY_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
        try:
            await sweep_projects(databases)
        except ServiceError:
            continue


async def _project_ids(databases: Databases) -> Sequence[str]:
    return [record["_id"] for record in await ProjectStore(databases).list()]
