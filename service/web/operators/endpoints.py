"""Operators and invitations, administered by owners."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import AdminCaller
from service.domain.operators.operator import SessionCaller
from service.domain.permissions import Access
from service.errors import (
    InvitationNotFound,
    LastOwner,
    OperatorExists,
    OperatorLimit,
    OperatorNotFound,
)
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.operators.bodies import (
    EXAMPLE_EMAIL,
    EXAMPLE_INVITED,
    EXAMPLE_OPERATOR,
    EXAMPLE_TOKEN,
    Invited,
    InviteForm,
    OpenInvitations,
    OperatorForm,
    OperatorList,
    OperatorResetForm,
    OperatorView,
    check_roles,
)
from service.web.operators.views import invitation_view, new_invitation_view, operator_view

READ = Access("deployment", "read")
WRITE = Access("deployment", "write", confirm=True, by_token=False)
FULL = ErrorExample(OperatorLimit, 200)
EXAMPLE_INVITATION = {
    "id": EXAMPLE_TOKEN["id"],
    "kind": "invite",
    "email": EXAMPLE_EMAIL,
    "roles": EXAMPLE_OPERATOR["roles"],
    "created_at": EXAMPLE_OPERATOR["created_at"],
    "expires_at": EXAMPLE_OPERATOR["created_at"],
}

by_owner = partial(endpoint, credential=Credential.OPERATOR, tag=Tag.OPERATORS)
of_operator = partial(by_owner, errors=(OperatorNotFound,))


@by_owner(
    "GET /admin/v1/operators",
    operator=READ,
    answer=Success("All operators, oldest first", {"one": {"operators": [EXAMPLE_OPERATOR]}}),
)
async def list_operators(request: Request, caller: AdminCaller, services: Services) -> Json[OperatorList]:
    """List operators."""
    found = await services.operators.administration.list()
    return Json({"operators": [operator_view(each) for each in found]})


@by_owner(
    "POST /admin/v1/operators",
    operator=WRITE,
    description="Nobody is mailed: hand the link over. A second open invitation of an address replaces the first.",
    body={"an admin": {"email": EXAMPLE_EMAIL, "roles": {"shop": "admin"}, "hours": 24}},
    answer=Success("A link that makes the account, once", {"a link": EXAMPLE_INVITED}),
    errors=(OperatorExists, FULL),
)
async def invite_operator(
    request: RequestWith[InviteForm], caller: AdminCaller, services: Services
) -> Created[Invited]:
    """Invite an operator."""
    form = await read_form(request)
    check_roles(form.roles)
    made = await services.operators.invitations.invite(form.email, form.roles, form.hours)
    return Created({"invitation": new_invitation_view(made)})


@of_operator("GET /admin/v1/operators/{id}", operator=READ, answer=Success("The operator", {"one": EXAMPLE_OPERATOR}))
async def read_operator(request: Request, caller: AdminCaller, services: Services) -> Json[OperatorView]:
    """Show an operator."""
    return Json(operator_view(await services.operators.administration.find({"_id": request.path_params["id"]})))


@by_owner(
    "PATCH /admin/v1/operators/{id}",
    operator=WRITE,
    description="Other roles, and disabling, end all sessions of the operator, but the own one.",
    body={"a role": {"roles": {"shop": "viewer"}}, "disable": {"disabled": True}},
    answer=Success("The operator afterwards", {"one": EXAMPLE_OPERATOR}),
    errors=(OperatorNotFound, LastOwner),
)
async def change_operator(
    request: RequestWith[OperatorForm], caller: AdminCaller, services: Services
) -> Json[OperatorView]:
    """Change an operator's name or roles, or disable and enable the account."""
    form, operator_id = await read_form(request), request.path_params["id"]
    check_roles(form.roles)
    is_own = isinstance(caller, SessionCaller) and caller.operator_id == operator_id
    session = caller.session.hash if is_own and isinstance(caller, SessionCaller) else None
    changed = await services.operators.administration.change(operator_id, form.read(), session)
    return Json(operator_view(changed))


@by_owner(
    "DELETE /admin/v1/operators/{id}",
    operator=WRITE,
    answer=Success("The operator is gone, with all sessions and tokens"),
    errors=(OperatorNotFound, LastOwner),
)
async def remove_operator(request: Request, caller: AdminCaller, services: Services) -> NoContent:
    """Remove an operator."""
    await services.operators.administration.remove(request.path_params["id"])
    return NoContent()


@by_owner(
    "POST /admin/v1/operators/{id}/reset",
    operator=WRITE,
    description="The link sets password and factor again, and ends all sessions and tokens, once it is used.",
    body={"a day": {"hours": 24}},
    needs_body=False,
    answer=Success("A link for the operator", {"a link": EXAMPLE_INVITED}),
    errors=(OperatorNotFound, FULL),
)
async def reset_operator(
    request: RequestWith[OperatorResetForm], caller: AdminCaller, services: Services
) -> Created[Invited]:
    """Make a link by which an operator begins again, such as after a lost phone."""
    form = await read_form(request)
    made = await services.operators.invitations.reset({"_id": request.path_params["id"]}, form.hours)
    return Created({"invitation": new_invitation_view(made)})


@of_operator("DELETE /admin/v1/operators/{id}/sessions", operator=WRITE, answer=Success("All have ended"))
async def end_sessions_of_operator(request: Request, caller: AdminCaller, services: Services) -> NoContent:
    """End all sessions of an operator."""
    await services.operators.administration.end_sessions(request.path_params["id"])
    return NoContent()


@by_owner(
    "GET /admin/v1/invitations",
    operator=Access("deployment", "read", by_token=False),
    answer=Success("Those that are open, without their links", {"one": {"invitations": [EXAMPLE_INVITATION]}}),
)
async def list_invitations(request: Request, caller: AdminCaller, services: Services) -> Json[OpenInvitations]:
    """List open invitations."""
    found = await services.operators.invitations.list()
    return Json({"invitations": [invitation_view(each) for each in found]})


@by_owner(
    "DELETE /admin/v1/invitations/{id}",
    operator=WRITE,
    answer=Success("Its link is void"),
    errors=(InvitationNotFound,),
)
async def revoke_invitation(request: Request, caller: AdminCaller, services: Services) -> NoContent:
    """Revoke an open invitation."""
    await services.operators.invitations.revoke(request.path_params["id"])
    return NoContent()
