"""Signing in at the console: invitations, the password, the factor, the session. `docs/operators.md` has the steps."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import ServiceCaller
from service.domain.operators.operator import SessionCaller
from service.domain.operators.sessions import Opened, hash_secret
from service.domain.permissions import Access
from service.errors import (
    AccountDisabled,
    Busy,
    HttpsRequired,
    InvalidFactor,
    InvitationNotFound,
    LimitExceeded,
    OperatorExists,
    OperatorLimit,
    WrongCredentials,
)
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import find_client_address, read_client
from service.web.auth.console_cookie import clear_cookie, find_cookie, require_secure, set_cookie
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.operators.bodies import (
    EXAMPLE_EMAIL,
    EXAMPLE_LINK,
    EXAMPLE_ME,
    EXAMPLE_OPERATOR,
    AcceptForm,
    CheckedInvitation,
    InvitationToken,
    Me,
    OperatorConfirmForm,
    OperatorFactorForm,
    OperatorLogin,
)
from service.web.operators.views import checked_view, me_view

PASSWORD = "a long pass phrase"  # noqa: S105 - an example
ME = {"an operator": EXAMPLE_ME}
TOKEN = {"token": EXAMPLE_LINK.rpartition("/")[2]}
COOKIE = {"Set-Cookie": "The session, for /admin/v1 alone"}

visitor = partial(endpoint, credential=Credential.VISITOR, tag=Tag.OPERATORS)
of_session = partial(endpoint, tag=Tag.OPERATORS)
IN_STAGE, WRITE = Credential.CONSOLE_STAGE, Access("session", "write")


@visitor(
    "POST /admin/v1/session",
    description="The session's `stage` says what is still to come: `factor`, a second factor; `enrol`, one to set up.",
    body={"an operator": {"email": EXAMPLE_EMAIL, "password": PASSWORD}},
    answer=Success("The operator, with a session", ME, COOKIE),
    errors=(WrongCredentials, AccountDisabled, HttpsRequired, LimitExceeded, Busy),
)
async def sign_in_operator(request: RequestWith[OperatorLogin], caller: ServiceCaller, services: Services) -> Json[Me]:
    """Sign in as an operator."""
    require_secure(request, services)
    form = await read_form(request)
    await _count(request, services)
    cookie = await find_cookie(request, services)
    replaces = hash_secret(cookie) if cookie else None
    client = read_client(request, services)
    opened = await services.operators.sign_in.sign_in(form.email, form.password, client, replaces)
    return await _answer(request, services, opened)


@of_session(
    "GET /admin/v1/session",
    credential=IN_STAGE,
    operator=Access("session", "read"),
    answer=Success("The operator, and what it may do", ME),
)
async def read_session(request: Request, caller: SessionCaller, services: Services) -> Json[Me]:
    """Show the session: its operator, its stage, and the permissions."""
    return Json(await me_view(caller, services))


@of_session(
    "DELETE /admin/v1/session",
    credential=IN_STAGE,
    operator=WRITE,
    answer=Success("The session has ended", headers={"Clear-Site-Data": "The browser forgets what it kept"}),
)
async def sign_out_operator(request: Request, caller: SessionCaller, services: Services) -> NoContent:
    """Sign out."""
    await services.operators.sessions.sign_out(caller)
    answer = NoContent()
    await clear_cookie(request, answer, services)
    answer.headers["clear-site-data"] = '"cache"'
    return answer


@of_session(
    "POST /admin/v1/session/factor",
    credential=IN_STAGE,
    operator=WRITE,
    body={"a code": {"totp": "492039"}},
    answer=Success("The operator, with a session of full stage", ME, COOKIE),
    errors=(InvalidFactor,),
)
async def prove_operator_factor(
    request: RequestWith[OperatorFactorForm], caller: SessionCaller, services: Services
) -> Json[Me]:
    """Complete a sign-in with the second factor."""
    proof = (await read_form(request)).read()
    await _count(request, services)
    client = read_client(request, services)
    return await _answer(request, services, await services.operators.sign_in.prove_factor(caller, proof, client))


@of_session(
    "POST /admin/v1/session/confirm",
    credential=Credential.CONSOLE,
    operator=WRITE,
    body={"a password and a code": {"password": PASSWORD, "totp": "492039"}},
    answer=Success("The operator, with a session that is confirmed for 10 minutes", ME, COOKIE),
    errors=(WrongCredentials, InvalidFactor, Busy),
)
async def confirm_operator_session(
    request: RequestWith[OperatorConfirmForm], caller: SessionCaller, services: Services
) -> Json[Me]:
    """Confirm the session, for what needs confirmation."""
    form = await read_form(request)
    proof = form.read()
    await _count(request, services)
    client = read_client(request, services)
    opened = await services.operators.sign_in.confirm(caller, form.password, proof, client)
    return await _answer(request, services, opened)


@visitor(
    "POST /admin/v1/invitations/check",
    description="Spends nothing.",
    body={"a link's token": TOKEN},
    answer=Success(
        "The invitation",
        {
            "one": {
                "kind": "invite",
                "email": EXAMPLE_EMAIL,
                "roles": EXAMPLE_OPERATOR["roles"],
                "expires_at": EXAMPLE_OPERATOR["created_at"],
            }
        },
    ),
    errors=(InvitationNotFound,),
)
async def check_invitation(
    request: RequestWith[InvitationToken], caller: ServiceCaller, services: Services
) -> Json[CheckedInvitation]:
    """Look at an invitation."""
    form = await read_form(request)
    return Json(checked_view(await services.operators.invitations.check(form.token)))


@visitor(
    "POST /admin/v1/invitations/accept",
    description="Address and roles are those of the invitation; only the first owner's has no address.",
    body={"an account": {**TOKEN, "name": "Olga", "password": PASSWORD}},
    answer=Success("The operator, with a session", ME, COOKIE),
    errors=(
        InvitationNotFound,
        HttpsRequired,
        OperatorExists,
        ErrorExample(OperatorLimit, 200),
        AccountDisabled,
        Busy,
    ),
)
async def accept_invitation(request: RequestWith[AcceptForm], caller: ServiceCaller, services: Services) -> Created[Me]:
    """Make an operator's account by an invitation, or begin one again."""
    require_secure(request, services)
    form = await read_form(request)
    client = read_client(request, services)
    opened = await services.operators.invitations.accept(form.token, form.read(), client)
    answer = Created(await me_view(opened.caller, services))
    await set_cookie(request, answer, services, opened.cookie)
    return answer


async def _answer(request: Request, services: Services, opened: Opened) -> Json[Me]:
    answer = Json(await me_view(opened.caller, services))
    await set_cookie(request, answer, services, opened.cookie)
    return answer


async def _count(request: Request, services: Services) -> None:
    """Counts a sign-in of the client's address. Raises LimitExceeded."""
    address = find_client_address(request, services.web.trusted_proxies)
    request.scope["state"]["quotas"] = await services.operators.limits.count_sign_in(address)
