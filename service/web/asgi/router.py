"""The endpoint of a row: the checks before its handler runs."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Scope

from service.domain.access.caller import AnonymousCaller, Caller, PublishableKeyCaller, UserCaller
from service.domain.audit.origin import ORIGIN
from service.domain.limits.policies import OF_USER, Policy, exceeded
from service.errors import Invalid, NewerData, ServiceError, Violation
from service.fast import uses
from service.fast.router import OnError, RouteDispatch
from service.query.parse import parse_pairs
from service.services import Services
from service.storage.authors import AUTHOR
from service.web.asgi.audited import acting
from service.web.asgi.cors import Preflights
from service.web.asgi.request_context import extend_deadline
from service.web.auth.authenticate import AUTHENTICATE, OF_OPERATORS, Credential
from service.web.auth.client_address import find_client_address
from service.web.auth.origin import read_author, read_origin
from service.web.http.conditional import refuse_if_match
from service.web.http.idempotency import refuse_key
from service.web.http.render import render_error
from service.web.http.request_state import CALLER

Endpoint = Callable[[Request], Awaitable[Response]]
# The first is a Request, or a RequestWith the form of its body; the second the Caller that the row's credential makes.
Handler = Callable[[Any, Any, Services], Awaitable[Response]]
EVENTS = b"text/event-stream"


class Demands(Protocol):
    """The demands of a row of `web/routes` on a request; `ApiRoute` describes each."""

    handler: Handler
    events: Handler | None
    credential: Credential
    policy: Policy | None
    answer_seconds: float | None
    is_write: bool
    statuses: tuple[int, ...]
    refuses_query: bool
    refuses_key: bool
    refuses_if_match: bool
    # The handler of a write by an operator who acts as a user; None where no user writes.
    acted: Handler | None


def make_endpoint(row: Demands) -> Endpoint:
    """The order of every endpoint: the credential, then the limits, then what is refused, then the handler and the body.

    The endpoint raises LimitExceeded, which names the limit, and Unavailable, for what cannot be counted must not pass.
    """
    handler = _find_handler(row)
    authenticate, policy = AUTHENTICATE[row.credential], row.policy
    seconds, refuses_query = row.answer_seconds, row.refuses_query
    is_write, statuses = row.is_write, row.statuses
    is_noted = is_write or row.credential in OF_OPERATORS
    refuses_headers = row.refuses_key or row.refuses_if_match
    others = _policies(policy) if policy is not None else {}

    async def endpoint(request: Request) -> Response:
        state = request.scope["state"]
        if seconds is not None:
            extend_deadline(request, seconds)
        services: Services = request.scope["app"].services
        if is_write and services.base.versions.is_newer:
            raise NewerData("the system's database")
        caller = state[CALLER] = await authenticate(request, services)
        if is_noted:
            ORIGIN.set(partial(read_origin, request, caller, services, statuses))
            AUTHOR.set(partial(read_author, request, caller))
        if policy is not None:
            counted = others.get(type(caller), policy)
            owner = _find_owner(request, caller, counted, services)
            quotas = state["quotas"] = await services.limits.count(state["project"], counted, owner)
            if quotas and (last := quotas[-1]).exceeded:
                raise exceeded(last.policy, last.limit, last.reset)
            services.base.presence.note(state["project"].database.database.name)
        if refuses_headers or (refuses_query and request.scope["query_string"]):
            _refuse_unread(request, row)
        return await handler(request, caller, services)

    made = _guard(endpoint) if row.credential in OF_OPERATORS else endpoint
    made.__name__, made.__doc__ = row.handler.__name__, row.handler.__doc__
    return made


def _guard(endpoint: Endpoint) -> Endpoint:
    """The endpoint of an operator, whose answers and errors no page of another origin reads and no cache keeps."""

    async def guarded(request: Request) -> Response:
        try:
            response = await endpoint(request)
        except Exception as error:
            response = await render_error(request, error)
        response.headers.update({"cross-origin-resource-policy": "same-origin", "cache-control": "no-store"})
        return response

    return guarded


def _find_owner(request: Request, caller: Caller, policy: Policy, services: Services) -> str:
    """The user or the address that the limit counts for; empty where it counts for the whole project."""
    if policy is OF_USER and isinstance(caller, UserCaller):
        return caller.user_id
    return find_client_address(request, services.web.trusted_proxies) if policy.per_address else ""


def _find_handler(row: Demands) -> Handler:
    """The handler, with those in its place for streams of events and for operators who act as users."""
    handler = row.handler if row.events is None else _choose(row.handler, row.events)
    return handler if row.acted is None else acting(handler, row.acted)


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


def dispatch(router: Router, on_error: OnError) -> ASGIApp:
    """Answers each request of `router.routes`; errors become answers by `on_error`."""
    plain = ExceptionMiddleware(Preflights(router), {ServiceError: on_error, HTTPException: on_error})
    return RouteDispatch(router, on_error, plain) if uses("router") else plain
