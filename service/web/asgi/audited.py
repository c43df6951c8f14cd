"""Writes of data by operators, also of those who act as users, with an entry in the audit log.

The entry begins before the write and gets its status after it.

A process that dies between the two leaves `begun`: the write may have happened or not. The names of the written fields
are noted while the handler reads them, and stored with the status.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import AuditChange, keep_changes
from service.errors import NotWhileActing, ServiceError
from service.query.parse import parse_pairs
from service.services import Services
from service.web.http.json_body import NOTED

Handler = Callable[[Any, Any, Services], Awaitable[Response]]


def audited(handler: Handler, action: str) -> Handler:
    """`handler`, around which an entry of `action` begins and ends. A dry run has none, for it writes nothing."""

    @wraps(handler)
    async def handle(request: Request, caller: ProjectCaller, services: Services) -> Response:
        if ("dry_run", "true") in parse_pairs(request.scope["query_string"]):
            return await handler(request, caller, services)
        bodies = request.scope["state"][NOTED] = list[dict[str, Any]]()
        entry = await services.base.audit.begin(Act(action, _find_target(request, caller), caller.project.id))
        status = ServiceError.status
        try:
            response = await handler(request, caller, services)
            status = response.status_code
        except ServiceError as error:
            status = error.status
            raise
        finally:
            # The write is answered as it ended; an entry that cannot be finished stays as it began.
            with suppress(ServiceError):
                await services.base.audit.finish(entry, status, keep_changes(_list_names(bodies)))
        return response

    return handle


def _find_target(request: Request, caller: ProjectCaller) -> Target:
    """The document or user of the path, else its collection, else the project."""
    parameters, path = request.path_params, request.scope["route"].path
    if "id" in parameters:
        return Target("user" if "/users/" in path else "document", parameters["id"], parameters.get("name"))
    if "name" in parameters:
        return Target("collection", parameters["name"])
    return Target("users" if "/users" in path else "project", caller.project.id, caller.project.name)


def _list_names(bodies: list[dict[str, Any]]) -> list[AuditChange]:
    """The names of the fields in `data`, without their values."""
    names = {name for body in bodies if isinstance(data := body.get("data"), dict) for name in data}
    return [AuditChange(("data", name)) for name in sorted(names)]


def acting(handler: Handler, acted: Handler) -> Handler:
    """`handler`, in whose place `acted` answers an operator who acts as a user."""

    def handle(request: Request, caller: Any, services: Services) -> Awaitable[Response]:
        acts = isinstance(caller, UserCaller) and caller.operator_id is not None
        return (acted if acts else handler)(request, caller, services)

    return handle


async def refuse_acting(request: Request, caller: UserCaller, services: Services) -> Response:
    """Raises NotWhileActing."""
    raise NotWhileActing
