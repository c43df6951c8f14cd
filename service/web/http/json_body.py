"""Reading request bodies within limits, as the type that the handler's signature names."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from time import monotonic
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.types import Receive

from service.bounds import MAX_VALUES, MAX_VIOLATIONS
from service.domain.projects.lookup import CACHE_SECONDS
from service.errors import Invalid, TooLarge, UnsupportedMedia, Violation
from service.schema.nearest import describe_nearest
from service.schema.strict_json import load_object
from service.services import Services

Model = TypeVar("Model", bound=BaseModel)
Headers = Mapping[bytes, bytes]
Body = TypeVar("Body")


# Bytes of a body whose parsing takes about a millisecond.
LONG_BODY = 65_536
# The key of the request's state under which bodies are noted, where an entry of the audit log names their fields.
NOTED = "noted bodies"


class RequestWith(Request, Generic[Body]):
    """A request whose body has the form `Body`: a handler that takes `RequestWith[Login]` reads a Login.

    A handler whose form only describes the body reads it by another function than `read_form`.
    """


async def read_form(request: RequestWith[Model]) -> Model:
    """The body as the form that the signature names; without a body an empty one, if the endpoint needs none.

    Raises as `read_object`.
    """
    route, raw = request.scope["route"], await read_bytes(request)
    sent = await load_body(raw) if raw or route.operation.needs_body else {}
    form: type[Model] = route.form
    _note(request, sent)
    return validated(form, sent)


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object in the body, of at most the bytes that its route allows. Raises UnsupportedMedia, TooLarge, Invalid."""
    sent = await load_body(await read_bytes(request))
    _note(request, sent)
    return sent


async def load_body(raw: bytes) -> dict[str, Any]:
    """The object that a body holds. Raises Invalid.

    Other requests have their turn after a long body is parsed, because the checks of its values take as long again.
    """
    sent = load_object(raw, "The body", max_values=MAX_VALUES)
    if len(raw) > LONG_BODY:
        await asyncio.sleep(0)
    return sent


def _note(request: Request, sent: dict[str, Any]) -> None:
    if (noted := request.scope["state"].get(NOTED)) is not None:
        noted.append(sent)


async def read_bytes(request: Request) -> bytes:
    """The body, which says that it is JSON. Raises as `read_object`."""
    headers, began = dict(request.scope["headers"]), monotonic()
    _require_json(headers)
    raw = await _read(request.receive, headers, request.scope["route"].max_body)
    if monotonic() - began > CACHE_SECONDS:
        await confirm_project(request)
    return raw


async def read_raw(request: Request) -> bytes:
    """The body, whatever it says that it is, of at most the bytes that its route allows. Raises TooLarge."""
    return await _read(request.receive, dict(request.scope["headers"]), request.scope["route"].max_body)


async def confirm_project(request: Request) -> None:
    """Looks again at the project of a request that took longer than one is remembered, for it may be gone by now.

    Raises ProjectNotFound.

    A deletion waits for what begins while a worker still remembers the project, and not for slow clients.
    """
    project = request.scope["state"].get("project")
    if project is not None:
        await cast(Services, request.app.services).base.projects.by_id(project.id)


def validated(model: type[Model], value: dict[str, Any]) -> Model:
    """`value` as `model`. Raises Invalid with what pydantic found, in the specification's own form (section 7.1)."""
    kept = value if len(value) <= MAX_VIOLATIONS else _without_most_unknown(model, value)
    try:
        return model.model_validate(kept)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        violations = [Violation(("body", *e["loc"]), _sentence(e["msg"]), e["type"]) for e in found]
    raise Invalid(_hint(violations, model), omitted=len(value) - len(kept))


def _hint(violations: list[Violation], model: type[BaseModel]) -> list[Violation]:
    """The violations; the first unknown field of the body with the nearest field, or with where fields of a record go."""
    unknown = (each for each in violations if each.type == "extra_forbidden" and len(each.loc) == 2)
    if (first := next(unknown, None)) is None:
        return violations
    inside = "; put the fields of a record under data" if "data" in model.model_fields else ""
    hint = describe_nearest(str(first.loc[1]), model.model_fields) or inside
    return [replace(each, msg=each.msg + hint) if each is first else each for each in violations]


def _without_most_unknown(model: type[BaseModel], value: dict[str, Any]) -> dict[str, Any]:
    """The fields of the model and as many others as a refusal lists, for pydantic makes an error of each."""
    if model.model_config.get("extra") != "forbid":
        return value
    fields = {field.alias or name for name, field in model.model_fields.items()}
    unknown = islice((name for name in value if name not in fields), MAX_VIOLATIONS)
    return {name: value[name] for name in (*(fields & value.keys()), *unknown)}


def _sentence(msg: str) -> str:
    return msg.removeprefix("Value error, ")


def _require_json(headers: Headers) -> None:
    """An absent type counts as JSON; the strict parser judges the bytes."""
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise UnsupportedMedia("Send the body without Content-Encoding")
    media_type = headers.get(b"content-type", b"application/json").partition(b";")[0].strip().lower()
    if media_type != b"application/json":
        raise UnsupportedMedia("Send the body as Content-Type: application/json")


async def _read(receive: Receive, headers: Headers, limit: int) -> bytes:
    """The whole body. Stops reading at the first byte too many, and before the first where the length is declared."""
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"The body must have at most {limit} bytes")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            # The client is gone and reads no answer. This error is no fault of the service; any other would count as
            # one.
            raise Invalid.one(("body",), "The body ends before its length", type_="json_invalid")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            raise TooLarge(f"The body must have at most {limit} bytes")
    return bytes(body)
