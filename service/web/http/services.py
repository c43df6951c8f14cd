"""From a request to the services of the application that answers it."""

from time import monotonic

from starlette.requests import Request

from service.domain.projects.lookup import CACHE_SECONDS
from service.services import Services

STOPPING = "stopping"


def services(request: Request) -> Services:
    found: Services = request.scope["app"].services
    return found


async def confirm_project(request: Request, read_since: float) -> None:
    """Looks again at a project whose request took long to arrive, for it may be gone by now. Raises ProjectNotFound.

    A deletion waits for what begins while a worker still remembers the project, and not for slow clients.
    """
    project = request.scope["state"].get("project")
    if project is not None and monotonic() - read_since > CACHE_SECONDS:
        await services(request).projects.by_id(project.id)


def is_stopping(request: Request) -> bool:
    """Whether the server has been told to stop; it sets this in the state that each request is given."""
    return STOPPING in request.scope["state"]
