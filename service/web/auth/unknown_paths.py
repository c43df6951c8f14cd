"""Paths that no row has, below a project of the Admin API: strangers learn no more there than in a project that is none."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service.domain.permissions import Access
from service.services import Services
from service.web.auth.operators import authenticate_operator_in_project

PREFIX = "/admin/v1/projects/"


class UnknownPaths:
    """Answers 404 by `not_found`, after the access to the project below whose prefix the path is."""

    # The access of a row, which this stands for: any role in the project.
    operator = Access("any", "read")

    def __init__(self, not_found: ASGIApp) -> None:
        self._not_found = not_found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            request = Request({**scope, "route": self, "path_params": {"project_id": _project(scope["path"])}})
            services: Services = scope["app"].services
            await authenticate_operator_in_project(request, services)
        await self._not_found(scope, receive, send)


def _project(path: str) -> str:
    return path.removeprefix(PREFIX).partition("/")[0]
