"""Sign-in through an identity provider over HTTP: specification section 4.2."""

import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import AnonymousCaller, PublishableKeyCaller, SecretKeyCaller
from service.domain.limits.policies import AUTH
from service.domain.projects.providers import DEFAULT
from service.domain.sign_in.flow import LIFETIME, AuthorizationStart, Callback, SignInResult, SignInWish
from service.domain.sign_in.registration import completion_page
from service.errors import (
    Busy,
    ConfigurationMissing,
    Invalid,
    ProjectNotFound,
    ProviderNotFound,
    SignInFailed,
    Unavailable,
    Violation,
)
from service.query.parse import parse_pairs
from service.services import Services
from service.web.auth.authenticate import MAX_PROJECT_ID, Credential
from service.web.auth.client_address import read_client
from service.web.http.render import Json
from service.web.openapi.declaration import TEXT, ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.sign_in.bodies import (
    CHALLENGE,
    CHALLENGE_LENGTH,
    EXAMPLE_URL,
    LOGIN_PARAMETERS,
    MAX_CLIENT_STATE,
    MAX_PROVIDER,
    MAX_REDIRECT_TO,
    AuthorizationUrl,
)

# The provider's ten seconds come on top of our own deadline.
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
# Characters that a configured URL keeps; all others are percent-encoded, for a header holds ASCII only.
URL_CHARACTERS = ":/%#?=@[]!$&'()*+,;~"

ENDINGS: tuple[type[SignInFailed], ...] = (SignInFailed, *SignInFailed.__subclasses__())
OF_CALLBACK = {
    "code": "The authorization code.",
    "state": "What the authorization URL carried.",
    "iss": "The issuer (RFC 9207).",
    "error": "Why the provider refused (RFC 6749 section 4.1.2.1).",
}
ARRIVAL = (
    "Browsers come here from the provider. They go on to the project's IDP_COMPLETE_URL with `svc-super-token`, "
    "an access token, with `svc-code` where the sign-in began with a challenge, or with `svc-error`: "
    f"{', '.join(f'`{ending.code}`' for ending in ENDINGS)}."
)
CALLBACK_ERRORS = (ErrorExample(ConfigurationMissing, "IDP_COMPLETE_URL key missing"), ProjectNotFound, Unavailable)

# HEAD would spend the state of a sign-in, for a scanner of links perhaps.
comes_back = partial(
    endpoint,
    credential=Credential.PROJECT_IN_PATH,
    policy=AUTH,
    tag=Tag.SIGN_IN,
    description=ARRIVAL,
    parameters=tuple(Parameter(name=name, description=text, schema=TEXT) for name, text in OF_CALLBACK.items()),
    answer=Success(
        "To the project's page, with a token or an error code",
        headers={"Location": "IDP_COMPLETE_URL with `svc-super-token` or `svc-error`"},
        status=302,
    ),
    errors=CALLBACK_ERRORS,
    answer_seconds=PROVIDER_ANSWER_SECONDS,
    takes_head=False,
)


@endpoint(
    "GET /auth-collections/login-idp",
    credential=Credential.OPTIONAL_API_KEY,
    policy=AUTH,
    tag=Tag.SIGN_IN,
    description="The project is the one of the API key, else the one named, else the service's DEFAULT_PROJECT_ID. Send the "
    "browser to `url`.",
    parameters=LOGIN_PARAMETERS,
    answer=Success(
        "Where to send the browser",
        {"a provider": {"url": EXAMPLE_URL}},
        {"Set-Cookie": "Binds the sign-in to this browser, where one asks over https"},
    ),
    errors=(ErrorExample(ConfigurationMissing, "IDP_CLIENT_ID key missing"), ProjectNotFound, ProviderNotFound, Busy),
    answer_seconds=PROVIDER_ANSWER_SECONDS,
)
async def login_idp(
    request: Request, caller: SecretKeyCaller | PublishableKeyCaller | AnonymousCaller, services: Services
) -> Json[AuthorizationUrl]:
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


@comes_back("GET /auth-collections/auth-idp-redirect/{project_id}")
@comes_back(
    "GET /auth-collections/auth-idp-redirect/{project_id}/{provider}",
    operation_id="authIdpRedirectOfProvider",
    description=f"The redirect URL of one of the project's providers, each its own. {ARRIVAL}",
    errors=(*CALLBACK_ERRORS, ProviderNotFound),
)
# The specification's configuration example has the callback without the prefix.
@comes_back("GET /auth-idp-redirect/{project_id}", operation_id="authIdpRedirectWithoutPrefix")
async def auth_idp_redirect(request: Request, caller: AnonymousCaller, services: Services) -> Response:
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
    """The value of the sign-in's cookie.

    Only this cookie is looked for: parsing all that a client sends would take time.
    """
    found = [value for header in request.headers.getlist("cookie") for value in COOKIE_IN_HEADER.findall(header)]
    return found[-1] if found else None


def begun_response(begun: AuthorizationStart) -> Json[AuthorizationUrl]:
    """The URL, and the cookie that binds the sign-in to this browser where the project wants that."""
    response = Json[AuthorizationUrl]({"url": begun.url})
    if begun.browser:
        seconds = int(LIFETIME.total_seconds())
        response.set_cookie(COOKIE, begun.browser, seconds, path="/", secure=True, httponly=True, samesite="lax")
    return response


def _callback(request: Request) -> Callback:
    # RFC 6749 section 4.1.2.1: an answer with `error` has no code; a `code` beside it was added by another party.
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
