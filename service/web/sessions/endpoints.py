"""Sessions over HTTP: `docs/sessions.md`."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller, UserCaller
from service.domain.limits.limiter import DAILY, exceeded
from service.errors import Invalid, InvalidRefreshToken
from service.services import Services
from service.storage.sessions import Session
from service.web.auth.authenticate import headers_of
from service.web.auth.client import read_client
from service.web.auth.grant import grant_view
from service.web.http.json_body import read_object, read_optional_object, validated
from service.web.http.render import json_response
from service.web.sessions.bodies import LogoutForm, RefreshForm, SessionView


async def refresh(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Get a new user token for a refresh token."""
    form, state = validated(RefreshForm, await read_object(request)), request.scope["state"]
    token = services.refresh_tokens.read(form.refresh_token)
    project = state["project"] = await services.refreshing.find_project(token)
    quotas = state["quotas"] = await services.limits.count(project, DAILY, "")
    if quotas and (last := quotas[-1]).exceeded:
        raise exceeded(last.policy, last.limit, last.reset)
    refreshed = await services.refreshing.refresh(project, token, read_client(request, services))
    state["quotas"] = [*refreshed.quotas, *quotas]
    return json_response(grant_view(refreshed.grant))


async def logout(request: Request, caller: UserCaller | ServiceCaller, services: Services) -> Response:
    """End the session of a token."""
    form = validated(LogoutForm, await read_optional_object(request))
    if form.refresh_token is None and not headers_of(request, b"authorization"):
        msg = "Send the refresh token here, or the user token as Authorization"
        raise Invalid.one(("body", "refresh_token"), msg, type_="missing")
    if form.refresh_token is not None:
        await _end_refreshed(request, services, form.refresh_token)
    if isinstance(caller, UserCaller) and caller.sid is not None:
        await services.sessions.end_named(caller.project, caller.sid, read_client(request, services))
    return Response(status_code=204)


async def _end_refreshed(request: Request, services: Services, text: str) -> None:
    """What is no token any more has nothing to end (RFC 7009 section 2.2)."""
    try:
        token = services.refresh_tokens.read(text)
        project = await services.refreshing.find_project(token)
    except InvalidRefreshToken:
        return
    request.scope["state"]["project"] = project
    await services.sessions.end_named(project, token.sid, read_client(request, services))


async def list_sessions(request: Request, caller: UserCaller, services: Services) -> Response:
    """List the user's sessions."""
    found = await services.sessions.list(caller)
    return json_response({"sessions": [session_view(session, caller.sid) for session in found]})


async def end_session(request: Request, caller: UserCaller, services: Services) -> Response:
    """End one of the user's sessions."""
    await services.sessions.end_one(caller, request.path_params["id"], read_client(request, services))
    return Response(status_code=204)


async def end_other_sessions(request: Request, caller: UserCaller, services: Services) -> Response:
    """End all of the user's other sessions."""
    await services.sessions.end_others(caller, read_client(request, services))
    return Response(status_code=204)


def session_view(session: Session, own: str | None) -> SessionView:
    """`own` is the session of whoever asks."""
    return {
        "id": session.id,
        "created_at": session.created_at,
        "last_used_at": session.last_used_at,
        "expires_at": session.expires_at,
        "ip": session.ip,
        "user_agent": session.user_agent,
        "aal": session.aal,
        "amr": list(session.amr),
        "current": session.id == own,
    }
