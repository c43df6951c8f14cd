"""One request to an ASGI application in this process: no socket, no HTTP parser, nothing but the application's own work."""

from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp


async def call(app: ASGIApp, path: str, query: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """The status and the body of a GET."""
    status, body = 0, bytearray()

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        body.extend(message.get("body", b""))

    await app(_scope(path, query, headers), receive, send)
    return status, bytes(body)


def _scope(path: str, query: str, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
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
