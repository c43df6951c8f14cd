"""One request and its answer on the bare ASGI interface, as a server would make it of any bytes that are HTTP."""

import asyncio
import json
import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

from tests.fuzz.drafts import Draft

BOUNDARY = b"fuzz-boundary"


@dataclass(frozen=True)
class Case:
    """One request. The body comes in `pieces`, and after them the client leaves if it `leaves`."""

    endpoint: tuple[str, str]
    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    pieces: list[bytes]
    leaves: bool


@dataclass(frozen=True)
class Answer:
    """`status` is 0 where there was none."""

    status: int
    headers: dict[str, str]
    body: bytes


def finished(draft: Draft, chance: random.Random | None = None) -> Case:
    """The draft as bytes; with chance the bytes may be spoiled, or come in pieces, or not all."""
    body, content_type = _body(draft)
    headers = [(name.encode(), value) for name, value in draft.headers]
    if content_type and not any(name == b"content-type" for name, _ in headers):
        headers.append((b"content-type", content_type))
    pieces, leaves = [body], False
    if chance and body:
        pieces = _pieces(_spoiled(body, chance), chance)
        leaves = chance.random() < 0.03
    if len(pieces) == 1:
        headers.append((b"content-length", str(len(pieces[0])).encode()))
    query = draft.query.encode("ascii", "replace")
    return Case(draft.endpoint, draft.method, draft.path, query, headers, pieces, leaves)


def _body(draft: Draft) -> tuple[bytes, bytes]:
    if draft.content is ... and draft.parts is None:
        return b"", b""
    data = b"" if draft.content is ... else json.dumps(draft.content).encode()
    if draft.parts is None:
        return data, b"application/json"
    lines = [b'--%s\r\nContent-Disposition: form-data; name="data"\r\n\r\n%s\r\n' % (BOUNDARY, data)]
    for name, file_name, content in draft.parts:
        label = b'name="%s"' % name.encode("utf-8", "surrogatepass")
        if file_name is not None:
            label += b'; filename="%s"' % file_name.encode("utf-8", "surrogatepass")
        lines.append(b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (BOUNDARY, label, content))
    return b"".join(lines) + b"--%s--\r\n" % BOUNDARY, b"multipart/form-data; boundary=" + BOUNDARY


def _spoiled(body: bytes, chance: random.Random) -> bytes:
    where, kind = chance.randrange(len(body)), chance.randrange(40)
    changes = {
        0: body[:where],
        1: body[:where] + chance.randbytes(3) + body[where + 3 :],
        2: b"\xef\xbb\xbf" + body,
        3: body.decode("latin-1").encode("utf-16"),
        4: body + body,
        5: b"[" * 100_000,
        6: body[:where] + b"\r\n--" + BOUNDARY + b"\r\n" + body[where:],
        7: body + b" " * 1_048_577 if chance.random() < 0.1 else body,
    }
    return changes.get(kind, body)


def _pieces(body: bytes, chance: random.Random) -> list[bytes]:
    if chance.random() < 0.7:
        return [body]
    cuts = sorted(chance.randrange(len(body) + 1) for _ in range(3))
    return [body[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(body)], strict=True)]


async def exchange(app: ASGIApp, case: Case) -> Answer:
    """Raises what the application raises, and AssertionError where it breaks the ASGI protocol."""
    coming: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in case.pieces]
    if not case.leaves:
        coming[-1]["more_body"] = False
    sent: list[Message] = []

    async def receive() -> Message:
        if coming:
            return coming.pop(0)
        if not case.leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(_scope(case), receive, send)
    if not sent:
        return Answer(0, {}, b"")
    start, *rest = sent
    assert start["type"] == "http.response.start", case
    assert [message.get("more_body", False) for message in rest][-1] is False, case
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], headers, b"".join(message.get("body", b"") for message in rest))


def _scope(case: Case) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": case.method,
        "scheme": "http",
        "path": unquote(case.path),
        "raw_path": case.path.encode(),
        "query_string": case.query,
        "root_path": "",
        "headers": [(b"host", b"service.test"), *case.headers],
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 80),
    }
