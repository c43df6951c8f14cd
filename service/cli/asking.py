"""Asks the application in this process, as the command line: the same rows, checks and answers as over HTTP."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.types import Message, Scope

from service.app import assemble
from service.domain.audit.origin import find_origin
from service.domain.operators.operators import command_line
from service.services import Services
from service.web.auth.operators import COMMAND

HOST = b"localhost"


async def ask(
    services: Services,
    method: str,
    path: str,
    query: Mapping[str, str],
    body: bytes | None,
    write: Callable[[bytes], object],
) -> int:
    """Returns the status; the bytes of the answer are handed to `write` as they come."""
    app = assemble()
    app.services = services
    sent, status = [{"type": "http.request", "body": body or b"", "more_body": False}], 0

    async def receive() -> Message:
        return sent.pop() if sent else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            write(message.get("body", b""))

    await app(_scope(method, path, query, has_body=body is not None), receive, send)
    return status


def _scope(method: str, path: str, query: Mapping[str, str], *, has_body: bool) -> Scope:
    headers = [(b"host", HOST), *([(b"content-type", b"application/json")] if has_body else [])]
    caller: Any = command_line(find_origin().actor.name or "")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": quote(path, safe="/%").encode(),
        "query_string": urlencode(query).encode(),
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
        "state": {COMMAND: caller},
    }
