"""Sign-in through an identity provider over HTTP: specification section 4.2."""

import re

from starlette.requests import Request
from starlette.responses import Response

from service.domain.limits.limiter import ANONYMOUS, AUTH
from service.domain.projects.lookup import Project
from service.domain.sign_in.flow import LIFETIME, AuthorizationStart, Callback
from service.domain.sign_in.redirect import SignInResult, completion_url
from service.domain.sign_in.registration import completion_page
from service.errors import Invalid, Violation
from service.query.parse import parse_pairs
from service.web.asgi.deadlines import extend_deadline
from service.web.auth.authenticate import count, project_of
from service.web.http.render import json_response
from service.web.http.services import services

# What the provider may take, ten seconds, comes on top of what is ours.
PROVIDER_ANSWER_SECONDS = 25.0
MAX_CLIENT_STATE = 512
PARAMETERS = {"project_id": 40, "client_state": MAX_CLIENT_STATE}
# The prefix makes browsers refuse the cookie from other hosts, over http and for a part of the site (RFC 6265bis 4.1.3).
COOKIE = "__Host-sign-in"
COOKIE_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")


async def login_idp(request: Request) -> Response:
    """Get the identity provider's authorization URL."""
    extend_deadline(request, PROVIDER_ANSWER_SECONDS)
    asked = _parameters(request)
    project = await _project(request, asked.get("project_id"))
    await count(request, project, AUTH if "x-api-key" in request.headers else ANONYMOUS)
    sign_in = services(request).sign_in
    return _begun(await sign_in.begin(project, client_state=asked.get("client_state"), browser=_browser(request)))


async def callback(request: Request) -> Response:
    """Take the browser back from the identity provider, and send it to the project's page."""
    extend_deadline(request, PROVIDER_ANSWER_SECONDS)
    project = await services(request).projects.by_id(request.path_params["project_id"])
    request.scope["state"]["project"] = project
    await count(request, project, ANONYMOUS)
    page = completion_page(project.settings)
    return _redirect(page, await services(request).sign_in.complete(project, _callback(request)))


def _parameters(request: Request) -> dict[str, str]:
    """The query of login-idp. Raises Invalid for a name that is not a parameter, and for an empty or long value."""
    pairs = parse_pairs(request.scope["query_string"])
    violations = [fault for name, value in pairs if (fault := _fault(name, value))]
    if violations:
        raise Invalid(violations)
    return dict(pairs)


def _fault(name: str, value: str) -> Violation | None:
    if name not in PARAMETERS:
        return Violation(("query", name), "This endpoint takes no such parameter", "extra_forbidden")
    if not 1 <= len(value) <= PARAMETERS[name]:
        return Violation(("query", name), f"This must have 1 to {PARAMETERS[name]} characters", "value_error")
    return None


async def _project(request: Request, project_id: str | None) -> Project:
    """The project of the API key if one is sent, else the named one, else the default. Raises Invalid if there is none."""
    if "x-api-key" in request.headers:
        return await project_of(request)
    projects = services(request).projects
    project = await projects.by_id(project_id) if project_id else await projects.default()
    if project is None:
        raise Invalid.one(("query", "project_id"), "Name the project here, or send its API key", type_="missing")
    request.scope["state"]["project"] = project
    return project


def _browser(request: Request) -> str | None:
    value = request.cookies.get(COOKIE, "")
    return value if COOKIE_VALUE.fullmatch(value) else None


def _begun(begun: AuthorizationStart) -> Response:
    response = json_response({"url": begun.url})
    if begun.browser:
        seconds = int(LIFETIME.total_seconds())
        response.set_cookie(COOKIE, begun.browser, seconds, path="/", secure=True, httponly=True, samesite="lax")
    return response


def _callback(request: Request) -> Callback:
    # RFC 6749 section 4.1.2.1: an answer with `error` has no code, whatever else somebody wrote into it.
    code = None if "error" in request.query_params else _only(request, "code")
    return Callback(_only(request, "state"), code, _only(request, "iss"), _browser(request))


def _only(request: Request, name: str) -> str | None:
    """RFC 6749 section 3.1: a parameter stands there once, else it is as good as absent."""
    values = request.query_params.getlist(name)
    return values[0] if len(values) == 1 else None


def _redirect(page: str, outcome: SignInResult) -> Response:
    """A 302, so that the browser asks with GET; nothing keeps it, and no referrer carries the token or the code on."""
    headers = {
        "location": completion_url(page, outcome),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
    }
    return Response(status_code=302, headers=headers)
