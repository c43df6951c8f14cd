"""Sign-in through an identity provider over HTTP: specification section 4.2."""

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote, urlencode

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from service.domain.access.caller import AnonymousCaller, PublishableKeyCaller, SecretKeyCaller
from service.domain.projects.providers import DEFAULT
from service.domain.sign_in.flow import LIFETIME, AuthorizationStart, Callback, SignInResult, SignInWish
from service.domain.sign_in.registration import completion_page
from service.errors import Invalid, Violation
from service.query.parse import parse_pairs
from service.services import Services
from service.web.auth.authenticate import MAX_PROJECT_ID
from service.web.auth.client import read_client
from service.web.http.render import json_response
from service.web.sign_in.bodies import MAX_CLIENT_STATE, MAX_PROVIDER, MAX_REDIRECT_TO

# A SHA-256 in base64url (RFC 7636 section 4.2).
CHALLENGE_LENGTH = 43
CHALLENGE = re.compile(rf"[A-Za-z0-9_-]{{{CHALLENGE_LENGTH}}}")
# What the provider may take, ten seconds, comes on top of what is ours.
PROVIDER_ANSWER_SECONDS = 25.0
PARAMETERS = {
    "project_id": MAX_PROJECT_ID,
    "client_state": MAX_CLIENT_STATE,
    "provider": MAX_PROVIDER,
    "code_challenge": CHALLENGE_LENGTH,
    "redirect_to": MAX_REDIRECT_TO,
}
# The prefix makes browsers refuse the cookie from other hosts, over http and for a part of the site (RFC 6265bis 4.1.3).
COOKIE = "__Host-sign-in"
COOKIE_IN_HEADER = re.compile(rf"(?:^|;)[ \t]*{COOKIE}=([A-Za-z0-9_-]{{43}})[ \t]*(?=;|$)")
TOKEN_PARAMETER = "svc-super-token"  # noqa: S105 - the name of a parameter
CODE_PARAMETER = "svc-code"
ERROR_PARAMETER = "svc-error"
STATE_PARAMETER = "state"
# What a configured URL may contain as it is; everything else is percent-encoded, for a header holds ASCII only.
URL_CHARACTERS = ":/%#?=@[]!$&'()*+,;~"


class AuthorizationUrl(TypedDict):
    """Where to send the browser."""

    url: Annotated[str, Field(json_schema_extra={"format": "uri"})]


async def login_idp(
    request: Request, caller: SecretKeyCaller | PublishableKeyCaller | AnonymousCaller, services: Services
) -> Response:
    """Get the identity provider's authorization URL."""
    parameters = read_parameters(request, PARAMETERS)
    wish = SignInWish(
        provider=name_provider(parameters.get("provider")),
        client_state=parameters.get("client_state"),
        browser=read_browser(request),
        challenge=_challenge(parameters),
        redirect_to=parameters.get("redirect_to"),
    )
    return begun_response(await services.sign_in.begin(caller.project, wish))


async def callback(request: Request, caller: AnonymousCaller, services: Services) -> Response:
    """Take the browser back from the identity provider, and send it to the project's page."""
    brought = _callback(request)
    page = completion_page(caller.project, brought.provider)
    result = await services.sign_in.complete(caller.project, brought, read_client(request, services))
    return redirect_response(result.page or page, result)


def name_provider(provider: str | None) -> str | None:
    """None is the provider of the IDP settings, which has a name for those who list all of them."""
    return None if provider == DEFAULT else provider


def _challenge(parameters: Mapping[str, str]) -> str | None:
    """Raises Invalid for what no verifier makes, and where a page is named without one: it is never given a token."""
    challenge = parameters.get("code_challenge")
    if challenge is not None and not CHALLENGE.fullmatch(challenge):
        msg = f"This must be {CHALLENGE_LENGTH} characters, the SHA-256 of a verifier in base64url (RFC 7636)"
        raise Invalid.one(("query", "code_challenge"), msg)
    if challenge is None and "redirect_to" in parameters:
        raise Invalid.one(("query", "code_challenge"), "A redirect_to needs a code_challenge", type_="missing")
    return challenge


def read_parameters(request: Request, lengths: Mapping[str, int]) -> dict[str, str]:
    """Those of the query, by name → how long one may be. Raises Invalid for another name, and an empty or long value."""
    pairs = parse_pairs(request.scope["query_string"])
    violations = [fault for name, value in pairs if (fault := _fault(name, value, lengths))]
    if violations:
        raise Invalid(violations)
    return dict(pairs)


def _fault(name: str, value: str, lengths: Mapping[str, int]) -> Violation | None:
    if name not in lengths:
        return Violation(("query", name), "This endpoint takes no such parameter", "extra_forbidden")
    if not 1 <= len(value) <= lengths[name]:
        return Violation(("query", name), f"This must have 1 to {lengths[name]} characters", "value_error")
    return None


def read_browser(request: Request) -> str | None:
    """What the sign-in's cookie holds. It alone is looked for: to parse whatever else a client sends takes its time."""
    found = [value for header in request.headers.getlist("cookie") for value in COOKIE_IN_HEADER.findall(header)]
    return found[-1] if found else None


def begun_response(begun: AuthorizationStart) -> Response:
    """The URL, and the cookie that binds the sign-in to this browser where the project wants that."""
    answer: AuthorizationUrl = {"url": begun.url}
    response = json_response(answer)
    if begun.browser:
        seconds = int(LIFETIME.total_seconds())
        response.set_cookie(COOKIE, begun.browser, seconds, path="/", secure=True, httponly=True, samesite="lax")
    return response


def _callback(request: Request) -> Callback:
    # RFC 6749 section 4.1.2.1: an answer with `error` has no code, whatever else somebody wrote into it.
    code = None if "error" in request.query_params else _only(request, "code")
    provider = name_provider(request.path_params.get("provider"))
    return Callback(_only(request, "state"), code, _only(request, "iss"), read_browser(request), provider)


def _only(request: Request, name: str) -> str | None:
    """RFC 6749 section 3.1: a parameter stands there once, else it is as good as absent."""
    values = request.query_params.getlist(name)
    return values[0] if len(values) == 1 else None


def redirect_response(page: str, result: SignInResult) -> Response:
    """A 302, so that the browser asks with GET; nothing keeps it, and no referrer carries the token or the code on."""
    headers = {
        "location": completion_url(page, result),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
    }
    return Response(status_code=302, headers=headers)


def completion_url(page: str, result: SignInResult) -> str:
    """`page` with its own query kept and the result added: "https://a.example/done?x=1&svc-error=database_error"."""
    ours = {
        TOKEN_PARAMETER: result.token,
        CODE_PARAMETER: result.code,
        ERROR_PARAMETER: result.error,
        STATE_PARAMETER: result.client_state,
    }
    query = urlencode({name: value for name, value in ours.items() if value is not None})
    return f"{quote(page, safe=URL_CHARACTERS)}{'&' if '?' in page else '?'}{query}"
