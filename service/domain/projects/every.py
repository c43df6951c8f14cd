"""Work on every project, one after the other: one that fails does not stop the others."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog

from service.errors import ServiceError
from service.storage.databases import Databases, ProjectDatabase
from service.storage.projects import ProjectStore

log = structlog.get_logger()

Result = TypeVar("Result")


async def for_each_project(
    databases: Databases, event: str, work: Callable[[ProjectDatabase], Awaitable[Result]]
) -> dict[str, Result | Exception]:
    """As `for_each_id`, for work on the project's database."""
    return await for_each_id(databases, event, lambda project_id: work(databases.project(project_id)))


async def for_each_id(
    databases: Databases, event: str, work: Callable[[str], Awaitable[Result]]
) -> dict[str, Result | Exception]:
    """Project id → what `work` returned for it, or the error, which is logged as `event`. Raises Unavailable."""
    outcomes: dict[str, Result | Exception] = {}
    for project_id in await ProjectStore(databases).ids():
        try:
            outcomes[project_id] = await work(project_id)
        except Exception as error:
            outcomes[project_id] = error
            known = isinstance(error, ServiceError)
            log.warning(event, project=project_id, cause=type(error).__name__, exc_info=None if known else error)
    return outcomes


def raise_first(outcomes: Mapping[str, object]) -> None:
    """Raises the first error there is, so that a job counts as failed, and runs again soon."""
    for outcome in outcomes.values():
        if isinstance(outcome, Exception):
            raise outcome
