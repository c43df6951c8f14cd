"""The header `Idempotency-Key`: reading it, and answering a write once however often it is sent."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import orjson
from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_IDEMPOTENCY_KEY, MAX_KEPT_ANSWER_BYTES
from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.idempotency import Answer, Idempotency, Keep
from service.errors import Invalid, Location
from service.schema.versions import version_tag
from service.web.http.forms import is_form
from service.web.http.json_body import load_body, read_bytes, read_object
from service.web.http.render import write_json

HEADER = b"idempotency-key"
LOC: Location = ("header", HEADER.decode())
# A string of RFC 8941 section 3.3.3 without spaces, or the same characters without quotes around them.
QUOTED = re.compile(r'"((?:[!#-\[\]-~]|\\["\\])+)"')
PLAIN = re.compile(r"[!#-~]+")
ESCAPED = re.compile(r"\\(.)")
# A kept body is sealed, in base64: four characters for three bytes, the nonce and the tag included.
MAX_WHOLE_BYTES = MAX_KEPT_ANSWER_BYTES // 4 * 3 - 64
# Headers that each answer makes for itself.
OF_EACH = frozenset({"content-length", "content-type"})

Outcome = TypeVar("Outcome")
Shown = TypeVar("Shown", bound=Response)
Sent = dict[str, Any]
# The body that was sent and the kept one → the body that the caller may read now.
Review = Callable[[Sent, Sent], Awaitable[Any]]
# An outcome → the JSON that is kept in place of its answer: ids and versions, which the review reads again.
Refer = Callable[[Outcome], Any]
Abridge = Callable[[Outcome, Answer], Answer | None]


def find_key(request: Request) -> str | None:
    """The key, None where there is none. Raises Invalid for one that is malformed or sent twice."""
    found = [value for name, value in request.scope["headers"] if name == HEADER]
    if not found:
        return None
    key = _read(found[0].decode("latin-1")) if len(found) == 1 else None
    if key is None or len(key) > MAX_IDEMPOTENCY_KEY:
        msg = f"Must be one key of 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters, in quotes or without"
        raise Invalid.one(LOC, msg)
    return key


def _read(text: str) -> str | None:
    if quoted := QUOTED.fullmatch(text):
        return ESCAPED.sub(r"\1", quoted[1])
    return text if PLAIN.fullmatch(text) else None


def refuse_key(request: Request) -> None:
    """Raises Invalid where a key is sent to a write that cannot keep its promise."""
    if any(name == HEADER for name, _ in request.scope["headers"]):
        msg = "This write takes no Idempotency-Key, and would happen again if it were sent again"
        raise Invalid.one(LOC, msg, type_="extra_forbidden")


def refuse_form(request: Request) -> None:
    """Raises Invalid for a key beside a form: files cannot be stored in the transaction of the write."""
    if is_form(request):
        raise Invalid.one(LOC, "Only a JSON body can be sent with an Idempotency-Key", type_="extra_forbidden")


async def answer_once(
    request: Request,
    caller: ProjectCaller,
    idempotency: Idempotency,
    *,
    write: Callable[[Sent, Keep[Outcome] | None], Awaitable[Outcome]],
    render: Callable[[Outcome], Shown],
    abridge: Abridge[Outcome],
    review: Review,
) -> Shown:
    """The answer to a write of a JSON object: what `render` makes of its outcome, now or when the key came first.

    A kept answer has the status and the JSON of a rendered one, and is a plain Response.
    """
    if (key := find_key(request)) is None:
        return render(await write(await read_object(request), None))
    _refuse_guest(caller)

    def render_answer(outcome: Outcome) -> Answer:
        return _answer(render(outcome))

    answer = await write_once(
        request, caller, idempotency, key, write=write, render=render_answer, abridge=abridge, review=review
    )
    return cast(Shown, _response(answer))


async def write_once(
    request: Request,
    caller: ProjectCaller,
    idempotency: Idempotency,
    key: str,
    *,
    write: Callable[[Sent, Keep[Outcome] | None], Awaitable[object]],
    render: Callable[[Outcome], Answer],
    abridge: Abridge[Outcome],
    review: Review | None = None,
) -> Answer:
    """The answer to the write: to this one, or the kept one of the write that came first with `key`."""
    raw = await read_bytes(request)
    sent, scope = await load_body(raw), request.scope
    asked = (scope["method"].encode(), scope["path"].encode(), scope["query_string"], raw)
    answer = await idempotency.answer_once(
        idempotency.identify(caller, key, asked), lambda keep: write(sent, keep), render, abridge
    )
    if review is None or not answer.is_replayed:
        return answer
    kept = orjson.loads(answer.body)
    shown = await review(sent, kept)
    if shown == kept:
        return answer
    # The kept tag is that of a document as it was.
    headers = {"etag": version_tag(shown["version"])} if is_reference(kept) and "version" in shown else {}
    return replace(answer, body=write_json(shown).decode(), headers=headers)


def keep_small(refer: Refer[Outcome]) -> Abridge[Outcome]:
    """Keeps an answer as it is if it is small enough, else the ids and versions that `refer` returns."""

    def abridge(outcome: Outcome, answer: Answer) -> Answer:
        if len(answer.body.encode()) <= MAX_WHOLE_BYTES:
            return answer
        return replace(answer, body=write_json(refer(outcome)).decode())

    return abridge


def is_reference(document: Mapping[str, Any]) -> bool:
    """True for a document that was kept as `{id, version}`. One with its `id` alone was not shown to its writer."""
    return "version" in document and "data" not in document


def _refuse_guest(caller: ProjectCaller) -> None:
    """Raises Invalid for a guest: whoever came with the same key would be shown what another one wrote."""
    if not isinstance(caller, SecretKeyCaller | UserCaller):
        msg = "Only users and servers have keys of their own: sign in, or send this without Idempotency-Key"
        raise Invalid.one(LOC, msg, type_="extra_forbidden")


def replayed_headers(answer: Answer) -> dict[str, str]:
    return {**answer.headers, "idempotency-replayed": "true"} if answer.is_replayed else dict(answer.headers)


def _answer(response: Response) -> Answer:
    headers = {name: value for name, value in response.headers.items() if name not in OF_EACH}
    return Answer(response.status_code, bytes(response.body).decode(), headers)


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, replayed_headers(answer), "application/json")
