"""One request to an ASGI application in this process: no socket, no HTTP parser, nothing but the application's own work."""

from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp


async def call(app: ASGIApp, path: str, query: str, headers: dict[str, str], *, body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body that answer a GET, or with a `body` of JSON a POST."""
    status, answer = 0, bytearray()

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        answer.extend(message.get("body", b""))

    await app(_scope("POST" if body else "GET", path, query, headers), receive, send)
    return status, bytes(answer)


def _scope(method: str, path: str, query: str, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
