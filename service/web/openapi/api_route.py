"""One row of `web/routes`: what an endpoint asks of a request before its handler sees it, and what the document says of it."""

from enum import Enum

from starlette.routing import Route

from service.domain.limits.policies import Policy
from service.web.asgi.router import Handler, make_endpoint
from service.web.auth.authenticate import Credential
from service.web.openapi.declaration import Operation


class Query(Enum):
    """The use of a query string: it is refused, the handler reads it, or it is ignored."""

    REFUSED = "refused"
    READ = "read"
    IGNORED = "ignored"


class KeyUse(Enum):
    """The use of an `Idempotency-Key`: the write happens once for it, the write is refused, or the key is ignored."""

    TAKEN = "taken"
    REFUSED = "refused"
    IGNORED = "ignored"


class ApiRoute(Route):
    """A method and a path, and all that is decided about a request before its handler runs.

    `credential` makes the caller; `policy` is the limit that the request is counted under; `answer_seconds` are given to
    the handler where they are not those of every request; `max_body` is how many bytes of JSON it may read. `takes_head`
    is False where asking changes something. `events` answers in place of the handler where a client asks for a stream of
    events. `idempotency_key` says what becomes of one; without it a GET ignores it, and all
    else refuses it. A write whose description has no `If-Match` refuses that header.
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
        events: Handler | None = None,
        query: Query = Query.REFUSED,
        answer_seconds: float | None = None,
        max_body: int = 0,
        takes_head: bool = True,
        idempotency_key: KeyUse | None = None,
    ) -> None:
        self.method, self.handler, self.operation = method, handler, operation
        self.credential, self.policy, self.query, self.events = credential, policy, query, events
        self.is_write = method != "GET" or not takes_head
        self.refuses_query = query is Query.REFUSED
        self.answer_seconds, self.max_body = answer_seconds, max_body
        self.form = next((content.type for content in operation.body), None)
        self.idempotency_key = idempotency_key or (KeyUse.IGNORED if method == "GET" else KeyUse.REFUSED)
        self.refuses_key = self.idempotency_key is KeyUse.REFUSED
        compares = any(parameter.name == "If-Match" for parameter in operation.parameters)
        self.refuses_if_match = self.idempotency_key is not KeyUse.IGNORED and not compares
        self._check()
        super().__init__(path, make_endpoint(self), methods=[method])
        if self.methods and not takes_head:
            self.methods = self.methods - {"HEAD"}

    def _check(self) -> None:
        """Raises TypeError where the row contradicts its description, or counts what belongs to no project."""
        parameters = any(parameter.location == "query" for parameter in self.operation.parameters)
        if parameters != (self.query is Query.READ):
            raise TypeError(f"{self.operation.id}: parameters are described where the query string is read")
        if bool(self.operation.body) != bool(self.max_body):
            raise TypeError(f"{self.operation.id}: a body is described where one is read")
        if self.idempotency_key is KeyUse.TAKEN and not self.max_body:
            raise TypeError(f"{self.operation.id}: what is written once is a JSON body")
        if self.policy and self.credential in {Credential.NONE, Credential.METRICS_TOKEN}:
            raise TypeError(f"{self.operation.id}: a limit is one of a project, and the credential names none")
