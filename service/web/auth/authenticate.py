"""Who is asking: an API key → its project, a bearer token → a user; and whether they may ask once more.

The order is the same for every endpoint: the credential, then the limits, then the query string, then the body.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import UserCaller
from service.domain.limits.limiter import AUTH, DAILY, Policy
from service.domain.projects.lookup import Project
from service.errors import Invalid, InvalidApiKey, InvalidToken, Violation
from service.query.parse import parse_pairs
from service.web.auth.client_address import client_address
from service.web.auth.rate_limits import refuse_exceeded
from service.web.http.services import services

Endpoint = Callable[[Request], Awaitable[Response]]
ProjectHandler = Callable[[Request, Project], Awaitable[Response]]
SessionHandler = Callable[[Request, UserCaller], Awaitable[Response]]

BEARER = "bearer"


def api_key(handler: ProjectHandler) -> Endpoint:
    """An endpoint for the holder of a project's API key, with no query parameters, under the daily limit."""
    return _keyed(handler, DAILY, takes_query=False)


def api_key_with_query(handler: ProjectHandler) -> Endpoint:
    """An endpoint for the holder of a project's API key that reads the query string itself, under the daily limit."""
    return _keyed(handler, DAILY, takes_query=True)


def api_key_under(policy: Policy, *, takes_query: bool = False) -> Callable[[ProjectHandler], Endpoint]:
    """An endpoint for the holder of a project's API key, under `policy` and the daily limit."""
    return partial(_keyed, policy=policy, takes_query=takes_query)


def _keyed(handler: ProjectHandler, policy: Policy, *, takes_query: bool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        project = await project_of(request)
        await count(request, project, policy)
        if not takes_query:
            refuse_query(request)
        return await handler(request, project)

    endpoint.__name__, endpoint.__doc__ = handler.__name__, handler.__doc__
    return endpoint


def user_token(handler: SessionHandler) -> Endpoint:
    """An endpoint for the user whose token the request carries, with no query parameters, under the auth limit."""

    async def endpoint(request: Request) -> Response:
        caller = await services(request).tokens.verify(bearer(request))
        request.scope["state"]["project"] = caller.project
        await count(request, caller.project, AUTH)
        refuse_query(request)
        return await handler(request, caller)

    endpoint.__name__, endpoint.__doc__ = handler.__name__, handler.__doc__
    return endpoint


async def count(request: Request, project: Project, policy: Policy) -> None:
    """Counts the request under `policy` and the project's daily limit. Raises LimitExceeded, Unavailable."""
    quotas = await services(request).limits.count(project, policy, _address(request) if policy.per_address else "")
    request.scope["state"]["quotas"] = quotas
    refuse_exceeded(quotas)


def _address(request: Request) -> str:
    peer = request.scope.get("client")
    return client_address(
        peer[0] if peer else None,
        services(request).trusted_proxies,
        x_forwarded_for=_header(request, b"x-forwarded-for"),
        forwarded=_header(request, b"forwarded"),
    )


async def project_of(request: Request) -> Project:
    """The project of the one `x-api-key` header. Raises InvalidApiKey."""
    keys = _header(request, b"x-api-key")
    if len(keys) != 1:
        raise InvalidApiKey
    project = await services(request).projects.by_api_key(keys[0])
    request.scope["state"]["project"] = project
    return project


def refuse_query(request: Request) -> None:
    """Raises Invalid for any query parameter: a misspelt or forgotten one is never silently ignored."""
    if request.scope["query_string"]:
        names = [name for name, _ in parse_pairs(request.scope["query_string"])]
        raise Invalid(
            Violation(("query", name), "This endpoint takes no such parameter", "extra_forbidden") for name in names
        )


def bearer(request: Request) -> str:
    """The token of the one `Authorization` header (RFC 6750 section 2.1). Raises InvalidToken."""
    headers = _header(request, b"authorization")
    if len(headers) != 1:
        raise InvalidToken
    scheme, _, token = headers[0].partition(" ")
    if scheme.lower() != BEARER:
        raise InvalidToken
    return token.strip(" ")


def _header(request: Request, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in request.scope["headers"] if key == name]
