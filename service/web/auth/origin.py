"""The origin of a request's writes, for the audit log."""

from starlette.requests import Request

from service.domain.access.caller import AdminCaller, Caller, OperatorCaller, SecretKeyCaller, UserCaller
from service.domain.audit.origin import SYSTEM, AuditActor, Origin
from service.domain.projects.keys import key_id
from service.domain.projects.lookup import hash_api_key
from service.services import Services
from service.web.auth.client_address import read_client


def read_origin(request: Request, caller: Caller, services: Services, statuses: tuple[int, ...]) -> Origin:
    """The origin of what `caller` writes; `statuses` are those of the endpoint's successes."""
    client = read_client(request, services)
    actor = _find_actor(request, caller)
    return Origin(actor, request.scope["state"]["request_id"], client.ip, client.user_agent, statuses)


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
