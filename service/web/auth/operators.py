"""Turns a cookie or a token into an operator, and asks whether the operator may do what a row does.

The order: the origin, the credential, the stage of its sign-in, the access, the limit, the confirmation. Networks come
before all of that (`web/asgi/networks`), and query and headers after it.
"""

from typing import cast

from starlette.requests import Request

from service.domain.access.caller import AdminCaller, OperatorCaller, ServiceCaller
from service.domain.operators.operator import FACTOR, SessionCaller
from service.domain.permissions import EVERY, Access
from service.errors import (
    ConfirmationRequired,
    CrossOrigin,
    InvalidToken,
    NotFound,
    OperatorRequired,
    PermissionRequired,
    ProjectNotFound,
    ServiceError,
    Unauthorized,
)
from service.services import Services
from service.storage.operator_sessions import FULL
from service.web.auth.console_cookie import find_cookie, list_cookies
from service.web.auth.headers import bearer, headers_of
from service.web.auth.same_origin import is_same_origin

# The caller of a request that a command makes in its own process, in the request's state, which no client can write.
COMMAND = "command"
SIGN_IN = "This is for operators at the console; a token cannot do it"


async def authenticate_page(request: Request, services: Services) -> ServiceCaller:
    """A browser that loads the console. Raises NotFound where there is none, with the bytes of an unknown path."""
    if not services.operators.rules.has_console:
        raise NotFound("Not Found")
    return ServiceCaller()


async def authenticate_visitor(request: Request, services: Services) -> ServiceCaller:
    """A browser before its sign-in. Raises CrossOrigin, and NotFound where there is no console."""
    if not services.operators.rules.has_console:
        raise NotFound("Not Found")
    if COMMAND in request.scope["state"]:
        raise PermissionRequired(None, SIGN_IN)
    if not is_same_origin(request):
        raise CrossOrigin
    return ServiceCaller()


async def authenticate_operator(request: Request, services: Services) -> AdminCaller:
    """An operator who may do what the row does for the whole deployment. Raises as `_find` and `_permit`."""
    admin = _require_full(await _find(request, services))
    await _permit(request, services, admin, EVERY)
    return admin


async def authenticate_operator_in_project(request: Request, services: Services) -> OperatorCaller:
    """An operator who may do what the row does in the project that the path names.

    Raises ProjectNotFound also where the operator has no role in the project, and as `_find` and `_permit`.
    """
    admin = _require_full(await _find(request, services))
    project_id = request.path_params["project_id"]
    if admin.rights.role_in(project_id) is None:
        raise ProjectNotFound
    project = request.scope["state"]["project"] = await services.base.projects.by_id(project_id)
    await _permit(request, services, admin, project_id)
    services.base.presence.note(project.database.database.name)
    access = _access(request)

    async def is_allowed() -> bool:
        try:
            again = await _find(request, services, is_use=False)
        except Unauthorized:
            return False
        except ServiceError:
            # The database is away: what was allowed goes on.
            return True
        return any(again.rights.allows(project_id, area, access.level) for area in access.areas)

    return OperatorCaller(project, admin, is_allowed)


async def authenticate_in_console(request: Request, services: Services) -> SessionCaller:
    """An operator with a session. Raises as `_find_session` and `_permit`."""
    caller = _require_full(await _find_session(request, services))
    await _permit(request, services, caller, EVERY)
    return cast(SessionCaller, caller)


async def authenticate_in_stage(request: Request, services: Services) -> SessionCaller:
    """An operator with a session, whose sign-in may be incomplete. Raises as `_find_session` and `_permit`."""
    caller = await _find_session(request, services)
    stage = caller.session.stage
    if stage == FACTOR and _access(request).confirm:
        raise OperatorRequired(stage=stage)
    # A session that enrols was opened by the password just now, and cannot be confirmed.
    await _permit(request, services, caller, EVERY, confirms=stage == FULL)
    return caller


def demand(caller: object, access: Access) -> None:
    """The access that a row needs for some bodies, beside that which it always needs. Other callers are not asked.

    Raises PermissionRequired, ConfirmationRequired.
    """
    if isinstance(caller, OperatorCaller):
        _require_access(caller.admin, caller.project.id, access)
        _require_confirmation(caller.admin, caller.project.id, access)


async def _find(request: Request, services: Services, *, is_use: bool = True) -> AdminCaller:
    """The operator of the token, else of the cookie, else the command that asks. Raises OperatorRequired, CrossOrigin.

    A session that is found without `is_use` goes on to be idle.
    """
    if (command := request.scope["state"].get(COMMAND)) is not None:
        return cast(AdminCaller, command)
    if not headers_of(request, b"authorization"):
        return await _find_by_cookie(request, services, is_use=is_use)
    try:
        found = await services.operators.tokens.find(bearer(request))
    except InvalidToken:
        found = None
    return found or await _refuse(services)


async def _find_session(request: Request, services: Services) -> SessionCaller:
    """The session of the cookie. Raises NotFound, PermissionRequired for a token, OperatorRequired, CrossOrigin."""
    if not services.operators.rules.has_console:
        raise NotFound("Not Found")
    found = await _find(request, services)
    if not isinstance(found, SessionCaller):
        raise PermissionRequired(None, SIGN_IN)
    return found


async def _find_by_cookie(request: Request, services: Services, *, is_use: bool) -> AdminCaller:
    if not services.operators.rules.has_console or not await list_cookies(request, services):
        return await _refuse(services)
    if not is_same_origin(request):
        raise CrossOrigin
    cookie = await find_cookie(request, services)
    found = await services.operators.sessions.find(cookie, is_use=is_use) if cookie is not None else None
    return found or await _refuse(services)


async def _refuse(services: Services) -> AdminCaller:
    """Raises OperatorRequired: the same for an absent, an unknown and an ended credential."""
    raise OperatorRequired(has_operators=await services.operators.has_operators())


def _require_full(admin: AdminCaller) -> AdminCaller:
    """Raises OperatorRequired for a session whose sign-in is incomplete."""
    if isinstance(admin, SessionCaller) and admin.session.stage != FULL:
        raise OperatorRequired(stage=admin.session.stage)
    return admin


async def _permit(
    request: Request, services: Services, admin: AdminCaller, project: str, *, confirms: bool = True
) -> None:
    """Raises PermissionRequired, LimitExceeded, ConfirmationRequired, in this order."""
    access = _access(request)
    _require_access(admin, project, access)
    if admin.actor.kind != "cli":
        request.scope["state"]["quotas"] = await services.operators.limits.count_request(admin.actor.id or "")
    if confirms:
        _require_confirmation(admin, project, access)


def _require_access(admin: AdminCaller, project: str, access: Access) -> None:
    """`needs` names the first area, and `*` in the place of the project where that is the deployment."""
    is_open = access.area in ("any", "session")
    if not is_open and not any(admin.rights.allows(project, area, access.level) for area in access.areas):
        named = EVERY if access.area == "deployment" else project
        raise PermissionRequired(f"{named}:{access.area}:{access.level}")
    if not access.by_token and admin.rights.scopes is not None:
        raise PermissionRequired(None, SIGN_IN)


def _require_confirmation(admin: AdminCaller, project: str, access: Access) -> None:
    if not access.confirm or admin.is_confirmed:
        return
    if admin.rights.scopes is None or not any(admin.rights.names(project, area, access.level) for area in access.areas):
        raise ConfirmationRequired


def _access(request: Request) -> Access:
    access: Access = request.scope["route"].operator
    return access
