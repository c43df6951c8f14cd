"""Sessions over HTTP: `docs/sessions.md`."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import ServiceCaller, UserCaller
from service.domain.limits.policies import AUTH, DAILY, exceeded
from service.domain.sessions import refreshing
from service.domain.sessions.refreshing import find_token_project
from service.errors import Invalid, InvalidRefreshToken, LimitExceeded, SessionNotFound, Unavailable
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.auth.grant import Granted, grant_view
from service.web.auth.headers import headers_of
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Json, NoContent
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.sessions.bodies import (
    EXAMPLE_GRANTED,
    EXAMPLE_SESSION,
    SENT_TOKEN,
    LogoutForm,
    RefreshForm,
    SessionList,
    session_view,
)

RECENT = "For ten minutes after a sign-in or a step-up."
ENDED = Success("The session has ended")

of_token = partial(endpoint, tag=Tag.SESSIONS, idempotency_key=KeyUse.IGNORED, body=SENT_TOKEN)
of_user = partial(endpoint, tag=Tag.SESSIONS, policy=AUTH)


@of_token(
    "POST /auth-collections/refresh",
    credential=Credential.NONE,
    description="Where the project's `ACCESS_TOKEN_LIFETIME` is less than 30 days. All who send the same token at once are "
    "given the same next one; a token that is used again after the next one was ends the session.",
    answer=Success("A new user token, and the next refresh token", {"refreshed": EXAMPLE_GRANTED}),
    errors=(InvalidRefreshToken, LimitExceeded, Unavailable),
)
async def refresh(request: RequestWith[RefreshForm], caller: ServiceCaller, services: Services) -> Json[Granted]:
    """Get a new user token for a refresh token."""
    form, state = await read_form(request), request.scope["state"]
    token = services.sessions.refresh_tokens.read(form.refresh_token)
    project = state["project"] = await find_token_project(services.sessions, token)
    quotas = state["quotas"] = await services.limits.count(project, DAILY, "")
    if quotas and (last := quotas[-1]).exceeded:
        raise exceeded(last.policy, last.limit, last.reset)
    refreshed = await refreshing.refresh(
        services.sessions, services.flows, project, token, read_client(request, services)
    )
    state["quotas"] = [*refreshed.quotas, *quotas]
    return Json(grant_view(refreshed.grant))


@of_token(
    "POST /auth-collections/logout",
    credential=Credential.OPTIONAL_USER,
    description="The session of `refresh_token`, and that of the user token in `Authorization`; one of them is needed. Tokens "
    "that are dead are answered as others are.",
    needs_body=False,
    answer=ENDED,
)
async def logout(request: RequestWith[LogoutForm], caller: UserCaller | ServiceCaller, services: Services) -> NoContent:
    """End the session of a token."""
    form = await read_form(request)
    if form.refresh_token is None and not headers_of(request, b"authorization"):
        msg = "Send the refresh token here, or the user token as Authorization"
        raise Invalid.one(("body", "refresh_token"), msg, type_="missing")
    if form.refresh_token is not None:
        await _end_refreshed(request, services, form.refresh_token)
    if isinstance(caller, UserCaller) and caller.sid is not None:
        await services.sessions.end_named(caller.project, caller.sid, read_client(request, services))
    return NoContent()


async def _end_refreshed(request: Request, services: Services, text: str) -> None:
    """Ends the token's session. An invalid token has none to end (RFC 7009 section 2.2)."""
    try:
        token = services.sessions.refresh_tokens.read(text)
        project = await find_token_project(services.sessions, token)
    except InvalidRefreshToken:
        return
    request.scope["state"]["project"] = project
    await services.sessions.end_named(project, token.sid, read_client(request, services))


@of_user(
    "GET /auth-collections/user/sessions",
    credential=Credential.USER_TOKEN,
    answer=Success("The sessions that can still be used, the newest first", {"one": {"sessions": [EXAMPLE_SESSION]}}),
)
async def list_sessions(request: Request, caller: UserCaller, services: Services) -> Json[SessionList]:
    """List the user's sessions."""
    found = await services.sessions.list(caller)
    return Json({"sessions": [session_view(session, caller.sid) for session in found]})


@of_user(
    "DELETE /auth-collections/user/sessions/{id}",
    credential=Credential.RECENT_USER,
    description=f"{RECENT} Its tokens are refused from the next request on.",
    answer=ENDED,
    errors=(SessionNotFound,),
)
async def end_session(request: Request, caller: UserCaller, services: Services) -> NoContent:
    """End one of the user's sessions."""
    await services.sessions.end_one(caller, request.path_params["id"], read_client(request, services))
    return NoContent()


@of_user(
    "DELETE /auth-collections/user/sessions",
    credential=Credential.RECENT_USER,
    description=RECENT,
    answer=Success("All others have ended"),
)
async def end_other_sessions(request: Request, caller: UserCaller, services: Services) -> NoContent:
    """End all of the user's other sessions."""
    await services.sessions.end_others(caller, read_client(request, services))
    return NoContent()
