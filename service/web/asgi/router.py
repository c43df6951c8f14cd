"""From a URL to its endpoint: the checks before the handler runs, and the answer to a raised error, in one step.

Starlette does the same in five nested calls, each with its own wrapper around `send`; together they cost as much as all
of the service's own work for a request (see docs/performance.md). So a request that fits a route goes straight to its
endpoint. All others (404, 405, a preflight) are left to Starlette's own router. A route that this way would answer
differently from Starlette is refused when the service starts.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from inspect import isfunction
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from service.domain.access.caller import AnonymousCaller, Caller, PublishableKeyCaller, UserCaller
from service.domain.limits.limiter import OF_USER, Policy, exceeded
from service.errors import Invalid, NewerData, ServiceError, Violation
from service.query.parse import parse_pairs
from service.services import Services
from service.web.asgi.cors import Preflights
from service.web.asgi.request_context import extend_deadline
from service.web.auth.authenticate import AUTHENTICATE, Credential
from service.web.auth.client_address import find_client_address
from service.web.http.conditional import refuse_if_match
from service.web.http.idempotency import refuse_key
from service.web.http.json_body import RequestWith

Endpoint = Callable[[Request], Awaitable[Response]]
# The first is a Request, or a RequestWith the form of its body; the second the Caller that the row's credential makes.
Handler = Callable[[Any, Any, Services], Awaitable[Response]]
OnError = Callable[[Request, Exception], Awaitable[Response]]
Form = tuple[str, int]
EVENTS = b"text/event-stream"


class Demands(Protocol):
    """The demands of a row of `web/routes` on a request; `ApiRoute` describes each."""

    handler: Handler
    events: Handler | None
    credential: Credential
    policy: Policy | None
    answer_seconds: float | None
    is_write: bool
    refuses_query: bool
    refuses_key: bool
    refuses_if_match: bool


def make_endpoint(row: Demands) -> Endpoint:
    """The order of every endpoint: the credential, then the limits, then what is refused, then the handler and the body.

    The endpoint raises LimitExceeded, which names the limit, and Unavailable, for what cannot be counted must not pass.
    """
    handler = row.handler if row.events is None else _choose(row.handler, row.events)
    authenticate, policy = AUTHENTICATE[row.credential], row.policy
    seconds, refuses_query = row.answer_seconds, row.refuses_query
    is_write = row.is_write
    refuses_headers = row.refuses_key or row.refuses_if_match
    others = _policies(policy) if policy is not None else {}

    async def endpoint(request: Request) -> Response:
        state = request.scope["state"]
        if seconds is not None:
            extend_deadline(request, seconds)
        services: Services = request.scope["app"].services
        if is_write and services.versions.is_newer:
            raise NewerData("the system's database")
        caller = await authenticate(request, services)
        if policy is not None:
            counted = others.get(type(caller), policy)
            owner = _find_owner(request, caller, counted, services)
            quotas = state["quotas"] = await services.limits.count(state["project"], counted, owner)
            if quotas and (last := quotas[-1]).exceeded:
                raise exceeded(last.policy, last.limit, last.reset)
            services.presence.note(state["project"].database.database.name)
        if refuses_headers or (refuses_query and request.scope["query_string"]):
            _refuse_unread(request, row)
        return await handler(request, caller, services)

    endpoint.__name__, endpoint.__doc__ = row.handler.__name__, row.handler.__doc__
    return endpoint


def _find_owner(request: Request, caller: Caller, policy: Policy, services: Services) -> str:
    """The user or the address that the limit counts for; empty where it counts for the whole project."""
    if policy is OF_USER and isinstance(caller, UserCaller):
        return caller.user_id
    return find_client_address(request, services.trusted_proxies) if policy.per_address else ""


def _choose(handler: Handler, events: Handler) -> Handler:
    """`events` for a client that asks for a stream of events by its name, and `handler` for all others."""

    def handle(request: Request, caller: Any, services: Services) -> Awaitable[Response]:
        return (events if _wants_events(request.scope) else handler)(request, caller, services)

    return handle


def _wants_events(scope: Scope) -> bool:
    lines = [value for name, value in scope["headers"] if name == b"accept"]
    return any(EVENTS in line.lower() for line in lines) and scope["method"] == "GET"


def _policies(policy: Policy) -> dict[type[Caller], Policy]:
    """Policies that take the place of the policy for some callers."""
    found = {AnonymousCaller: policy.anonymous, UserCaller: policy.of_user, PublishableKeyCaller: policy.of_guest}
    return {kind: other for kind, other in found.items() if other is not None}


def _refuse_unread(request: Request, row: Demands) -> None:
    """Raises Invalid for what the handler would not read."""
    if row.refuses_query and request.scope["query_string"]:
        _refuse_query(request)
    if row.refuses_key:
        refuse_key(request)
    if row.refuses_if_match:
        refuse_if_match(request)


def _refuse_query(request: Request) -> None:
    """Raises Invalid for every parameter: a misspelt or forgotten one is never silently ignored."""
    names = [name for name, _ in parse_pairs(request.scope["query_string"])]
    raise Invalid(
        Violation(("query", name), "This endpoint takes no such parameter", "extra_forbidden") for name in names
    )


class RouteDispatch:
    """Answers each request of `router.routes`; errors become answers by `on_error`."""

    def __init__(self, router: Router, on_error: OnError) -> None:
        _check(router.routes)
        self._router = router
        self._on_error = on_error
        self._fixed = _without_parameters(router.routes)
        self._routes = _by_form(router.routes)
        self._otherwise = ExceptionMiddleware(Preflights(router), {ServiceError: on_error, HTTPException: on_error})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (route := self._find(scope)) is None:
            await self._otherwise(scope, receive, send)
            return
        scope["router"] = self._router
        request: RequestWith[Any] = RequestWith(scope, receive, send)
        try:
            response = await route.endpoint(request)
        except Exception as error:
            response = await self._on_error(request, error)
        await response(scope, receive, send)

    def _find(self, scope: Scope) -> Route | None:
        """The route of this method and path, noted in `scope` with the path's parameters; None where there is none."""
        if (fixed := self._fixed.get((scope["method"], scope["path"]))) is not None:
            scope["route"], scope["path_params"] = fixed, {}
            return fixed
        for route in self._routes.get(_form(scope["method"], scope["path"]), ()):
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope["route"] = route
                scope.update(found)
                return route
        return None


def _check(routes: Iterable[BaseRoute]) -> None:
    """Raises TypeError for what would not be answered as Starlette does: all but functions on paths of their own.

    Those are mounted applications, endpoints that are classes, parameters that span `/`, and fixed paths that come twice or
    after a path with parameters that has them as well.
    """
    earlier: list[tuple[str, Route]] = []
    for route in routes:
        if not isinstance(route, Route) or not isfunction(route.endpoint) or ":path}" in route.path:
            raise TypeError(f"{route} is no function on a path of its own")
        for method, other in earlier:
            if not route.param_convertors and method in (route.methods or ()) and other.path_regex.match(route.path):
                raise TypeError(f"{route} is hidden by {other}")
        earlier += [(method, route) for method in route.methods or ()]


def _direct(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, Route]]:
    """Method and route of each."""
    for route in routes:
        assert isinstance(route, Route)  # noqa: S101 - checked before; mypy must know
        yield from ((method, route) for method in route.methods or ())


def _without_parameters(routes: Iterable[BaseRoute]) -> dict[tuple[str, str], Route]:
    """Those whose path is the whole truth, by method and path."""
    return {(method, route.path): route for method, route in _direct(routes) if not route.param_convertors}


def _by_form(routes: Iterable[BaseRoute]) -> dict[Form, list[Route]]:
    """Those with parameters, in their order, by their form."""
    found = defaultdict[Form, list[Route]](list)
    for method, route in _direct(routes):
        if route.param_convertors:
            found[_form(method, route.path)].append(route)
    return dict(found)


def _form(method: str, path: str) -> Form:
    """The part of a request that few routes share, before their parameters are known: its method and its depth."""
    return method, path.count("/")
