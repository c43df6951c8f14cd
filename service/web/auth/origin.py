"""The origin of a request's writes, for the audit log."""

from starlette.requests import Request

from service.domain.access.caller import (
    AdminCaller,
    Caller,
    OperatorCaller,
    PublishableKeyCaller,
    SecretKeyCaller,
    UserCaller,
)
from service.domain.audit.origin import SYSTEM, AuditActor, Origin
from service.domain.projects.keys import key_id
from service.domain.projects.lookup import hash_api_key
from service.services import Services
from service.storage.authors import SYSTEM as SYSTEM_AUTHOR
from service.web.auth.client_address import read_client
from service.web.http.request_state import API_KEY


def read_origin(request: Request, caller: Caller, services: Services, statuses: tuple[int, ...]) -> Origin:
    """The origin of what `caller` writes; `statuses` are those of the endpoint's successes."""
    client = read_client(request, services)
    actor = _find_actor(request, caller)
    return Origin(actor, request.scope["state"]["request_id"], client.ip, client.user_agent, statuses)


def read_author(request: Request, caller: Caller) -> str:
    """The caller as the author of a write: `<kind>:<id>`."""
    match caller:
        case UserCaller(operator_id=None):
            return f"user:{caller.user_id}"
        case UserCaller():
            return f"operator:{caller.operator_id}"
        case OperatorCaller():
            return _name_admin(caller.admin)
        case AdminCaller():
            return _name_admin(caller)
        case SecretKeyCaller() | PublishableKeyCaller():
            return f"key:{key_id(hash_api_key(request.scope['state'][API_KEY]))}"
    return SYSTEM_AUTHOR


def _name_admin(caller: AdminCaller) -> str:
    return "cli:" if caller.actor.kind == "cli" else f"operator:{caller.operator_id}"


def _find_actor(request: Request, caller: Caller) -> AuditActor:
    if isinstance(caller, OperatorCaller):
        return caller.admin.actor
    if isinstance(caller, AdminCaller):
        return caller.actor
    if isinstance(caller, SecretKeyCaller):
        return AuditActor("secret_key", key_id(hash_api_key(request.headers["x-api-key"])))
    if isinstance(caller, UserCaller) and caller.operator_id is not None:
        return AuditActor("operator", caller.operator_id)
    return SYSTEM.actor
