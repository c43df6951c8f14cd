"""One row of `web/routes`: what an endpoint asks of a request before its handler sees it, and what the document says of it."""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.domain.access.caller import AnonymousCaller, Caller, PublishableKeyCaller, UserCaller
from service.domain.limits.limiter import OF_USER, Policy, exceeded
from service.errors import Invalid, Violation
from service.query.parse import parse_pairs
from service.services import Services
from service.web.asgi.request_context import extend_deadline
from service.web.auth.authenticate import AUTHENTICATE, Credential, find_client_address
from service.web.openapi.declaration import Operation

Endpoint = Callable[[Request], Awaitable[Response]]
# The second is the one Caller that the row's credential makes; each handler names its class.
Handler = Callable[[Request, Any, Services], Awaitable[Response]]


class Query(Enum):
    """What becomes of a query string: it is refused, the handler reads it, or nobody looks at it."""

    REFUSED = "refused"
    READ = "read"
    IGNORED = "ignored"


class ApiRoute(Route):
    """A method and a path, and all that is decided about a request before its handler runs.

    `credential` makes the caller; `policy` is the limit that the request is counted under; `answer_seconds` are given to
    the handler where they are not those of every request; `max_body` is how many bytes of JSON it may read. `takes_head`
    is False where asking changes something.
    """

    def __init__(
        self,
        method: str,
        path: str,
        handler: Handler,
        credential: Credential,
        policy: Policy | None,
        operation: Operation,
        *,
        query: Query = Query.REFUSED,
        answer_seconds: float | None = None,
        max_body: int = 0,
        takes_head: bool = True,
    ) -> None:
        self.method, self.handler, self.operation = method, handler, operation
        self.credential, self.policy, self.query = credential, policy, query
        self.answer_seconds, self.max_body = answer_seconds, max_body
        self._check()
        super().__init__(path, _endpoint(self), methods=[method])
        if self.methods and not takes_head:
            self.methods = self.methods - {"HEAD"}

    def _check(self) -> None:
        """Raises TypeError where the row contradicts its description, or counts what belongs to no project."""
        parameters = any(parameter.location == "query" for parameter in self.operation.parameters)
        if parameters != (self.query is Query.READ):
            raise TypeError(f"{self.operation.id}: parameters are described where the query string is read")
        if bool(self.operation.body) != bool(self.max_body):
            raise TypeError(f"{self.operation.id}: a body is described where one is read")
        if self.policy and self.credential in {Credential.NONE, Credential.METRICS_TOKEN}:
            raise TypeError(f"{self.operation.id}: a limit is one of a project, and the credential names none")


def _endpoint(route: ApiRoute) -> Endpoint:
    """The order of every endpoint: the credential, then the limits, then the query string, then the handler and the body."""
    handler, authenticate, policy = route.handler, AUTHENTICATE[route.credential], route.policy
    seconds, refuses_query = route.answer_seconds, route.query is Query.REFUSED

    async def endpoint(request: Request) -> Response:
        if seconds is not None:
            extend_deadline(request, seconds)
        services: Services = request.scope["app"].services
        caller = await authenticate(request, services)
        if policy is not None:
            await _count(request, services, caller, policy)
        if refuses_query and request.scope["query_string"]:
            _refuse_query(request)
        return await handler(request, caller, services)

    endpoint.__name__, endpoint.__doc__ = handler.__name__, handler.__doc__
    return endpoint


async def _count(request: Request, services: Services, caller: Caller, policy: Policy) -> None:
    """Counts a request of a project under `policy`, or what the policy has for those without a credential.

    Raises LimitExceeded, which names the limit, and Unavailable.
    """
    policy = _policy_of(caller, policy)
    state = request.scope["state"]
    address = ""
    if policy.per_address:
        # Whose hour it is: the user's where each user has one, else that of the client's address.
        if policy is OF_USER and isinstance(caller, UserCaller):
            address = caller.user_id
        else:
            address = find_client_address(request, services.trusted_proxies)
    quotas = state["quotas"] = await services.limits.count(state["project"], policy, address)
    if quotas and (last := quotas[-1]).exceeded:
        raise exceeded(last.policy, last.limit, last.reset)


def _policy_of(caller: Caller, policy: Policy) -> Policy:
    match caller:
        case AnonymousCaller():
            return policy.anonymous or policy
        case UserCaller():
            return policy.of_user or policy
        case PublishableKeyCaller():
            return policy.of_guest or policy
    return policy


def _refuse_query(request: Request) -> None:
    """Raises Invalid for every parameter: a misspelt or forgotten one is never silently ignored."""
    names = [name for name, _ in parse_pairs(request.scope["query_string"])]
    raise Invalid(
        Violation(("query", name), "This endpoint takes no such parameter", "extra_forbidden") for name in names
    )
