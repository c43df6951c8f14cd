"""An operator's own account: sessions, password, second factor and tokens."""

from functools import partial

from starlette.requests import Request

from service.domain.operators.operator import SessionCaller
from service.domain.permissions import Access
from service.errors import (
    Busy,
    FactorMandatory,
    InvalidFactor,
    NoFactor,
    ScopeExceeded,
    SessionNotFound,
    TokenLimit,
    TokenNotFound,
    WrongPassword,
)
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.auth.console_cookie import set_cookie
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME
from service.web.operators.bodies import (
    EXAMPLE_ME,
    EXAMPLE_TOKEN,
    CodeForm,
    ConsoleSessions,
    MeWithCodes,
    NewTokenView,
    OperatorPasswordForm,
    OperatorTokenForm,
    RecoveryCodes,
    TokenList,
    TotpSecret,
)
from service.web.operators.views import me_view, session_view, token_view

READ, WRITE = Access("session", "read"), Access("session", "write")
CONFIRMED = Access("session", "write", confirm=True)
CODES = ["MZXW-6YTB-OJRG-C4TB-PJUW-4ZY2"]
EXAMPLE_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # noqa: S105 - an example
EXAMPLE_SESSION = {
    "id": EXAMPLE_ID,
    "created_at": EXAMPLE_TIME,
    "last_seen_at": EXAMPLE_TIME,
    "ip": "192.0.2.1",
    "user_agent": "Mozilla/5.0",
    "current": True,
}

of_me = partial(endpoint, credential=Credential.CONSOLE, tag=Tag.OPERATORS)
in_stage = partial(endpoint, credential=Credential.CONSOLE_STAGE, tag=Tag.OPERATORS)


@of_me(
    "GET /admin/v1/me/sessions",
    operator=READ,
    answer=Success("The own sessions, newest first", {"one": {"sessions": [EXAMPLE_SESSION]}}),
)
async def list_console_sessions(request: Request, caller: SessionCaller, services: Services) -> Json[ConsoleSessions]:
    """List the own sessions at the console."""
    found = await services.operators.sessions.list(caller)
    return Json({"sessions": [session_view(each, caller.session.id) for each in found]})


@of_me(
    "DELETE /admin/v1/me/sessions/{id}",
    operator=CONFIRMED,
    answer=Success("It has ended"),
    errors=(SessionNotFound,),
)
async def end_console_session(request: Request, caller: SessionCaller, services: Services) -> NoContent:
    """End one of the own sessions at the console."""
    await services.operators.sessions.end(caller, request.path_params["id"])
    return NoContent()


@of_me(
    "PUT /admin/v1/me/password",
    operator=WRITE,
    description="All other sessions end.",
    body={"both": {"current_password": "a long pass phrase", "password": "another long phrase"}},
    answer=Success("The password is another", headers={"Set-Cookie": "The session in the place of this one"}),
    errors=(WrongPassword, Busy),
)
async def change_operator_password(
    request: RequestWith[OperatorPasswordForm], caller: SessionCaller, services: Services
) -> NoContent:
    """Change the own password as an operator."""
    form = await read_form(request)
    client = read_client(request, services)
    change = services.operators.sign_in.change_password
    opened = await change(caller, form.current_password, form.password, client)
    answer = NoContent()
    await set_cookie(request, answer, services, opened.cookie)
    return answer


@in_stage(
    "POST /admin/v1/me/totp",
    operator=CONFIRMED,
    description="The secret is good for 10 minutes. Needs confirmation, or a session of stage `enrol`.",
    answer=Success(
        "The secret, and the same as a URI for a QR code",
        {"one": {"secret": EXAMPLE_SECRET, "uri": f"otpauth://totp/Auth:olga?secret={EXAMPLE_SECRET}"}},
    ),
)
async def begin_operator_totp(request: Request, caller: SessionCaller, services: Services) -> Json[TotpSecret]:
    """Begin to set up an authenticator app."""
    new = await services.operators.factors.begin(caller)
    return Json({"secret": new.secret, "uri": new.uri})


@in_stage(
    "POST /admin/v1/me/totp/confirm",
    operator=CONFIRMED,
    body={"a code": {"code": "492039"}},
    answer=Success(
        "The app is the factor, the session of full stage; the recovery codes are shown once",
        {"one": {**EXAMPLE_ME, "recovery_codes": CODES}},
        {"Set-Cookie": "The session in the place of this one"},
    ),
    errors=(InvalidFactor,),
)
async def confirm_operator_totp(
    request: RequestWith[CodeForm], caller: SessionCaller, services: Services
) -> Json[MeWithCodes]:
    """Complete the setting up of an authenticator app with one of its codes."""
    form = await read_form(request)
    client = read_client(request, services)
    opened, codes = await services.operators.factors.confirm(caller, form.code, client)
    view: MeWithCodes = {**await me_view(opened.caller, services), "recovery_codes": codes}
    answer = Json(view)
    await set_cookie(request, answer, services, opened.cookie)
    return answer


@of_me(
    "DELETE /admin/v1/me/totp",
    operator=CONFIRMED,
    answer=Success("There is no factor, and no recovery code"),
    errors=(FactorMandatory,),
)
async def remove_operator_totp(request: Request, caller: SessionCaller, services: Services) -> NoContent:
    """Remove the authenticator app."""
    await services.operators.factors.remove(caller)
    return NoContent()


@of_me(
    "POST /admin/v1/me/recovery-codes",
    operator=CONFIRMED,
    answer=Success("The codes, shown once; those before are void", {"one": {"recovery_codes": CODES}}),
    errors=(NoFactor,),
)
async def renew_operator_codes(request: Request, caller: SessionCaller, services: Services) -> Created[RecoveryCodes]:
    """Make new recovery codes."""
    return Created({"recovery_codes": await services.operators.factors.renew_codes(caller)})


@of_me(
    "GET /admin/v1/me/tokens",
    operator=READ,
    description="Those that ended stay in the list for 30 days.",
    answer=Success("The own tokens, newest first", {"one": {"tokens": [EXAMPLE_TOKEN]}}),
)
async def list_operator_tokens(request: Request, caller: SessionCaller, services: Services) -> Json[TokenList]:
    """List the own tokens."""
    found = await services.operators.tokens.list(caller.operator_id)
    return Json({"tokens": [token_view(each) for each in found]})


@of_me(
    "POST /admin/v1/me/tokens",
    operator=CONFIRMED,
    description="`scopes` are `<project or *>:<area or *>:<read or write>`. A token does what its scopes and the roles of "
    "its operator both allow at that moment.",
    body={"a pipeline": {"name": "pipeline", "scopes": ["shop:schema:write"], "days": 90}},
    answer=Success("The token, shown once", {"one": {**EXAMPLE_TOKEN, "token": "aco_66f0c1a2_" + "a" * 32}}),
    errors=(ScopeExceeded, ErrorExample(TokenLimit, 50)),
)
async def create_operator_token(
    request: RequestWith[OperatorTokenForm], caller: SessionCaller, services: Services
) -> Created[NewTokenView]:
    """Make a token."""
    form = await read_form(request)
    made = await services.operators.tokens.create(caller.operator_id, form.name, form.scopes, form.days)
    return Created({**token_view(made), "token": made.token or ""})


@of_me(
    "DELETE /admin/v1/me/tokens/{id}",
    operator=CONFIRMED,
    answer=Success("It is refused from the next request on"),
    errors=(TokenNotFound,),
)
async def revoke_operator_token(request: Request, caller: SessionCaller, services: Services) -> NoContent:
    """Revoke a token."""
    await services.operators.tokens.revoke(caller.operator_id, request.path_params["id"])
    return NoContent()
