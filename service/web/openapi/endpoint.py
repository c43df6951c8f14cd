"""The declaration of an endpoint, beside its handler: its row of `web/routes` and its part of the OpenAPI document.

    @endpoint("POST /auth-collections/login", credential=Credential.ANY_KEY, policy=LOGIN, tag=Tag.ACCOUNTS, ...)
    async def login(request: RequestWith[Login], caller: KeyCaller, services: Services) -> Json[SignedIn]:

The signature has the form of the body, and the status and the type of each answer. All is read once, when the module is
imported; the handler itself stays as it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from inspect import isfunction
from types import ModuleType
from typing import TypedDict, TypeVar

from starlette.routing import Route
from typing_extensions import Unpack

from service.bounds import MAX_JSON_BYTES
from service.domain.access.caller import SecretKeyCaller
from service.domain.limits.policies import Policy
from service.domain.permissions import Access
from service.errors import ListNotLive, TooManySubscriptions
from service.web.asgi.audited import audited, refuse_acting
from service.web.asgi.router import Handler, make_endpoint
from service.web.auth.authenticate import OF_ACCOUNT, OF_OPERATORS, OF_USERS, Credential
from service.web.openapi.declaration import (
    Content,
    ErrorExample,
    Examples,
    Failure,
    Operation,
    Parameter,
    Schema,
    Success,
    Tag,
)
from service.web.openapi.signature import check_caller, read_answers, read_contents, takes_caller

H = TypeVar("H", bound=Handler)
DECLARED = "routes"
# Rows that operators may call within a project are served there too.
IN_PROJECT = "/admin/v1/projects/{project_id}"

LAST_EVENT_ID = Parameter(
    name="Last-Event-ID",
    location="header",
    description="The `id` of the last event that came: a stream of events begins with what was missed since.",
    schema={"type": "string"},
)
FOLLOWED = "With `Accept: text/event-stream` the list is followed: see the page about realtime."


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


class Columns(TypedDict, total=False):
    """The columns of a row that most rows leave out.

    `answer_seconds` are given to the handler where they are not those of every request; `max_body` is how many bytes of
    JSON it may read. `takes_head` is False where asking changes something. `events` answers in place of the handler where
    a client asks for a stream of events. `operator` is the access with which operators may call the row, too. A query
    string is read where a parameter of it is described. `idempotency_key` says what becomes of one; without it a GET
    ignores it, and all else refuses it. `while_acting`: an operator who acts as a user may write here; without it, where
    the row takes other callers than the user.
    """

    events: Handler | None
    query: Query
    answer_seconds: float | None
    max_body: int
    takes_head: bool
    idempotency_key: KeyUse | None
    operator: Access | None
    while_acting: bool


class ApiRoute(Route):
    """A method and a path, and all that is decided about a request before its handler runs.

    `credential` makes the caller; `policy` is the limit that the request is counted under. A write whose description has
    no `If-Match` refuses that header.
    """

    def __init__(
        self,
        url: str,
        handler: Handler,
        credential: Credential,
        policy: Policy | None,
        operation: Operation,
        **columns: Unpack[Columns],
    ) -> None:
        method, path = url.split()
        self.method, self.handler, self.operation, self.columns = method, handler, operation, columns
        self.operator, self.takes_head = columns.get("operator"), columns.get("takes_head", True)
        self.credential, self.policy, self.events = credential, policy, columns.get("events")
        reads = any(parameter.location == "query" for parameter in operation.parameters)
        self.query = Query.READ if reads else columns.get("query", Query.REFUSED)
        self.is_write = method != "GET" or not self.takes_head
        self.acted = self._find_acted() if self.is_write and credential in OF_USERS else None
        self.statuses = tuple(each.status for each in operation.answers)
        self.refuses_query = self.query is Query.REFUSED
        self.answer_seconds = columns.get("answer_seconds")
        self.form = next((content.type for content in operation.body), None)
        self.max_body = columns.get("max_body", MAX_JSON_BYTES) if operation.body else 0
        without = KeyUse.IGNORED if method == "GET" else KeyUse.REFUSED
        self.idempotency_key = columns.get("idempotency_key") or without
        self.refuses_key = self.idempotency_key is KeyUse.REFUSED
        compares = any(parameter.name == "If-Match" for parameter in operation.parameters)
        self.refuses_if_match = self.idempotency_key is not KeyUse.IGNORED and not compares
        self._check()
        super().__init__(path, make_endpoint(self), methods=[method])
        if self.methods and not self.takes_head:
            self.methods = self.methods - {"HEAD"}

    def _find_acted(self) -> Handler | None:
        """The handler for operators who act as users: audited, or a refusal; None where the row only reads."""
        if not self.columns.get("while_acting", self.credential not in OF_ACCOUNT):
            return refuse_acting
        reads = self.operator is not None and self.operator.level == "read"
        return None if reads else audited(self.handler, f"acting.{self.operation.id}")

    def _check(self) -> None:
        """Raises TypeError for a key of a write without a body, a limit without a project, an operator without access."""
        if self.idempotency_key is KeyUse.TAKEN and not self.max_body:
            raise TypeError(f"{self.operation.id}: what is written once is a JSON body")
        if self.operator is None and self.credential in OF_OPERATORS - {Credential.VISITOR}:
            raise TypeError(f"{self.operation.id}: a row for operators names the access that it needs")
        if self.policy and self.credential in {Credential.NONE, Credential.METRICS_TOKEN}:
            raise TypeError(f"{self.operation.id}: a limit is one of a project, and the credential names none")


def endpoint(
    url: str,
    *,
    credential: Credential,
    tag: Tag,
    answer: Success | tuple[Success, ...],
    policy: Policy | None = None,
    operation_id: str = "",
    description: str = "",
    parameters: tuple[Parameter, ...] = (),
    path_parameters: Mapping[str, Schema] | None = None,
    body: Examples | tuple[Content, ...] = (),
    needs_body: bool = True,
    errors: tuple[Failure, ...] = (),
    **columns: Unpack[Columns],
) -> Callable[[H], H]:
    """Declares the handler below it as the endpoint of a method and a path, as in "GET /api/rules".

    A handler may have several. `answer` describes the signature's answers, in order; `body` has examples of its form, or
    the content that is no JSON. `operation_id` is else the handler's name. Raises TypeError for a contradiction of the two.
    """

    def declare(handler: H) -> H:
        check_caller(handler, credential)
        operation = Operation(
            id=operation_id or _camel_case(handler.__name__),
            tag=tag,
            answers=tuple(read_answers(handler, answer)),
            description=description,
            parameters=parameters,
            path_parameters=path_parameters or {},
            body=read_contents(handler, body),
            needs_body=needs_body,
            errors=errors,
        )
        row = ApiRoute(url, handler, credential, policy, _with_events(operation, columns), **columns)
        handler.__dict__.setdefault(DECLARED, []).append(row)
        return handler

    return declare


def mirror(routes: Iterable[ApiRoute]) -> list[ApiRoute]:
    """The rows that operators may call, once more, under the prefix of a project: the same handlers, bodies and answers.

    Raises TypeError for a handler that takes no secret key, for an operator comes in its place.
    """
    return [_in_project(route) for route in routes if route.operator is not None]


def _in_project(route: ApiRoute) -> ApiRoute:
    if not takes_caller(route.handler, SecretKeyCaller):
        raise TypeError(f"{route.operation.id}: operators come in the place of a secret key, which this takes not")
    is_noted = route.operator is not None and route.operator.is_noted
    return ApiRoute(
        f"{route.method} {IN_PROJECT}{route.path}",
        audited(route.handler, f"data.{route.operation.id}") if is_noted else route.handler,
        Credential.OPERATOR_IN_PROJECT,
        None,
        replace(route.operation, id=f"{route.operation.id}InProject"),
        **route.columns,
    )


def find_declared(modules: Iterable[ModuleType]) -> Iterator[ApiRoute]:
    """The routes that the handlers of these modules declare."""
    for module in modules:
        for each in vars(module).values():
            if isfunction(each) and each.__module__ == module.__name__:
                yield from each.__dict__.get(DECLARED, ())


def arrange(page: str, routes: Iterable[ApiRoute]) -> list[ApiRoute]:
    """The routes in the order of a page with a method and a path in each line.

    Raises TypeError where the page and the declarations differ, and for an endpoint that is declared twice.
    """
    lines = [tuple(line.split()) for line in page.split("\n") if line.strip()]
    found: dict[tuple[str, ...], ApiRoute] = {}
    for route in routes:
        if found.setdefault((route.method, route.path), route) is not route:
            raise TypeError(f"{route.method} {route.path} is declared twice")
    if differing := sorted(found.keys() ^ set(lines)):
        raise TypeError(f"web/routes and the declarations differ in {differing}")
    return [found[line] for line in lines]


def _camel_case(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def _with_events(operation: Operation, columns: Columns) -> Operation:
    """The operation, and the events of a list that can be followed as well.

    The answer in events is no content of its own here: a generated client would have to tell it from a page on each call.
    """
    if columns.get("events") is None:
        return operation
    return replace(
        operation,
        description=f"{operation.description} {FOLLOWED}".strip(),
        parameters=(*operation.parameters, LAST_EVENT_ID),
        errors=(*operation.errors, ErrorExample(ListNotLive), TooManySubscriptions),
    )
