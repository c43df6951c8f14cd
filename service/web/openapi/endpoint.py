"""The declaration of an endpoint, beside its handler: its row of `web/routes` and its part of the OpenAPI document.

    @endpoint("POST", "/auth-collections/login", credential=Credential.ANY_KEY, policy=LOGIN, tag=tags.ACCOUNTS, ...)
    async def login(request: RequestWith[Login], caller: KeyCaller, services: Services) -> Json[SignedIn]:

The signature has the form of the body, and the status and the type of each answer. All is read once, when the module is
imported; the handler itself stays as it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from inspect import isfunction
from operator import or_
from types import ModuleType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from service.bounds import MAX_JSON_BYTES
from service.domain.limits.policies import Policy
from service.errors import ListNotLive, TooManySubscriptions
from service.web.asgi.router import Handler
from service.web.auth.authenticate import AUTHENTICATE, Credential
from service.web.http.conditional import Unchanged
from service.web.http.json_body import RequestWith
from service.web.http.render import Json, NoContent
from service.web.openapi.api_route import ApiRoute, KeyUse, Query
from service.web.openapi.declaration import (
    Content,
    ErrorExample,
    Examples,
    Failure,
    Operation,
    Parameter,
    Schema,
    Success,
)
from service.web.openapi.forms import Form, form_content

H = TypeVar("H", bound=Handler)
DECLARED = "routes"

LAST_EVENT_ID = Parameter(
    name="Last-Event-ID",
    location="header",
    description="The `id` of the last event that came: a stream of events begins with what was missed since.",
    schema={"type": "string"},
)
FOLLOWED = "With `Accept: text/event-stream` the list is followed: see the page about realtime."


def endpoint(
    method: str,
    path: str,
    *,
    credential: Credential,
    tag: str,
    answer: Success | tuple[Success, ...],
    policy: Policy | None = None,
    operation_id: str = "",
    description: str = "",
    parameters: tuple[Parameter, ...] = (),
    path_parameters: Mapping[str, Schema] | None = None,
    body: Examples | tuple[Content, ...] = (),
    needs_body: bool = True,
    max_body: int = MAX_JSON_BYTES,
    errors: tuple[Failure, ...] = (),
    query: Query | None = None,
    idempotency_key: KeyUse | None = None,
    answer_seconds: float | None = None,
    takes_head: bool = True,
    events: Handler | None = None,
) -> Callable[[H], H]:
    """Declares the handler below it as the endpoint of a method and a path. A handler may have several declarations.

    `answer` describes the answers of the signature, in their order; `body` are examples of the signature's form. Content
    that is no JSON stands in them as it is. `operation_id` is the name of the handler where it is not given. A query
    string is read where a parameter of it is described. The other columns are those of `ApiRoute`. Raises TypeError
    where the declaration and the signature contradict each other.
    """

    def declare(handler: H) -> H:
        _check_caller(handler, credential)
        contents = body if isinstance(body, tuple) else tuple(_contents(_form_of(handler), body))
        operation = Operation(
            id=operation_id or _camel_case(handler.__name__),
            tag=tag,
            answers=tuple(_answers(handler, answer if isinstance(answer, tuple) else (answer,))),
            description=description,
            parameters=parameters,
            path_parameters=path_parameters or {},
            body=contents,
            needs_body=needs_body,
            errors=errors,
        )
        route = ApiRoute(
            method,
            path,
            handler,
            credential,
            policy,
            operation if events is None else _with_events(operation),
            events=events,
            query=query or _query_of(parameters),
            answer_seconds=answer_seconds,
            max_body=max_body if contents else 0,
            takes_head=takes_head,
            idempotency_key=idempotency_key,
        )
        handler.__dict__.setdefault(DECLARED, []).append(route)
        return handler

    return declare


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


def _check_caller(handler: Handler, credential: Credential) -> None:
    """Raises TypeError where the credential makes a caller that the handler does not take."""
    made, taken = _members(AUTHENTICATE[credential].__annotations__["return"]), _members(_annotation(handler, "caller"))
    if not set(made) <= set(taken):
        raise TypeError(f"{handler.__name__} takes not every caller of {credential}")


def _form_of(handler: Handler) -> Any:
    """The form of the body that the handler's request is annotated with."""
    request = _annotation(handler, "request")
    if get_origin(request) is not RequestWith:
        raise TypeError(f"{handler.__name__} has examples of a body, and its signature has no form")
    return get_args(request)[0]


def _contents(form: Any, examples: Examples) -> Iterator[Content]:
    """JSON, which has the examples, and forms with files. Several types of JSON are one content."""
    members = _members(form)
    files = [each for each in members if isinstance(each, type) and issubclass(each, Form)]
    yield Content(type=reduce(or_, (each for each in members if each not in files)), examples=examples)
    yield from (form_content(each) for each in files)


def _answers(handler: Handler, successes: tuple[Success, ...]) -> Iterator[Success]:
    """Each success with the status and the type of JSON that the signature names in its place."""
    kinds = [each for each in _members(_annotation(handler, "return")) if hasattr(get_origin(each) or each, "status")]
    if not kinds:
        yield from successes
        return
    for success, kind in zip(successes, kinds, strict=True):
        answer: type[Json[Any] | NoContent | Unchanged] = get_origin(kind) or kind
        json = tuple(Content(type=type_, examples=success.examples) for type_ in get_args(kind))
        yield replace(success, status=answer.status, content=(*json, *success.content))


def _members(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)


def _annotation(handler: Handler, name: str) -> Any:
    return handler.__annotations__[name]


def _query_of(parameters: Iterable[Parameter]) -> Query:
    return Query.READ if any(each.location == "query" for each in parameters) else Query.REFUSED


def _camel_case(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def _with_events(operation: Operation) -> Operation:
    """A list that can be followed as well.

    The answer in events is no content of its own here: a generated client would have to tell it from a page on each call.
    """
    return replace(
        operation,
        description=f"{operation.description} {FOLLOWED}".strip(),
        parameters=(*operation.parameters, LAST_EVENT_ID),
        errors=(*operation.errors, ErrorExample(ListNotLive), TooManySubscriptions),
    )
