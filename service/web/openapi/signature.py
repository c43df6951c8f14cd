"""Reads the signature of a handler: who calls it, the form of the body, and the status and the type of each answer."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Union, get_args, get_origin

from service.web.asgi.router import Handler
from service.web.auth.authenticate import AUTHENTICATE, Credential
from service.web.http.conditional import Unchanged
from service.web.http.json_body import RequestWith
from service.web.http.render import Json, NoContent
from service.web.openapi.declaration import Content, Examples, Success
from service.web.openapi.shapes import FormParts, form_content


def check_caller(handler: Handler, credential: Credential) -> None:
    """Raises TypeError where the credential makes a caller that the handler does not take."""
    made, taken = _members(AUTHENTICATE[credential].__annotations__["return"]), _members(_annotation(handler, "caller"))
    if not set(made) <= set(taken):
        raise TypeError(f"{handler.__name__} takes not every caller of {credential}")


def takes_caller(handler: Handler, kind: type) -> bool:
    """True if the handler takes callers of this kind."""
    return kind in _members(_annotation(handler, "caller"))


def read_contents(handler: Handler, body: Examples | tuple[Content, ...]) -> tuple[Content, ...]:
    """The contents of the signature's form: JSON, which has the examples, and forms with files. Types of JSON are one.

    Raises TypeError for a form without examples, and for examples without a form.
    """
    request = _annotation(handler, "request")
    has_form = get_origin(request) is RequestWith
    if has_form != isinstance(body, Mapping):
        raise TypeError(f"{handler.__name__} has a form without examples, or examples without a form")
    if isinstance(body, tuple):
        return body
    members = _members(get_args(request)[0])
    files = [each for each in members if isinstance(each, type) and issubclass(each, FormParts)]
    json = Content(type=reduce(or_, (each for each in members if each not in files)), examples=body)
    return json, *(form_content(each) for each in files)


def read_answers(handler: Handler, described: Success | tuple[Success, ...]) -> Iterator[Success]:
    """Each success with the status and the type of JSON that the signature names in its place."""
    successes = described if isinstance(described, tuple) else (described,)
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
