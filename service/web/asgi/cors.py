"""Cross-origin requests (the Fetch standard's CORS protocol): only origins that a project lists, and never with cookies."""

from collections.abc import MutableMapping
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.domain.projects.lookup import Project
from service.services import Services

MAX_ORIGIN = 300
PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, X-Api-Key, X-Request-ID, Range, If-None-Match",
    "access-control-max-age": "600",
}
EXPOSED = b"X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, ETag, Content-Disposition, Content-Range"


class Cors:
    """Answers preflights, and marks answers as readable for the origins of the request's project."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = _origin(scope) if scope["type"] == "http" else None
        if origin is None:
            await self.app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and "access-control-request-method" in Headers(scope=scope):
            await (await _preflight(scope, origin))(scope, receive, send)
        else:
            await self.app(scope, receive, _marking(scope, origin, send))


def _origin(scope: Scope) -> str | None:
    value = dict(scope["headers"]).get(b"origin")
    return value.decode("latin-1") if value is not None and len(value) <= MAX_ORIGIN else None


async def _preflight(scope: Scope, origin: str) -> Response:
    headers = {"vary": "Origin"}
    if await _projects(scope).allow_origin(origin):
        headers |= {"access-control-allow-origin": origin, **PREFLIGHT_HEADERS}
    return Response(status_code=204, headers=headers)


def _marking(scope: Scope, origin: str, send: Send) -> Send:
    async def marking(message: Message) -> None:
        if message["type"] == "http.response.start":
            _mark(message, await _allowed(scope, origin))
        await send(message)

    return marking


async def _allowed(scope: Scope, origin: str) -> str | None:
    """The value of Access-Control-Allow-Origin. A refused credential names no project, yet its page may read the refusal."""
    project = cast(Project | None, scope["state"].get("project"))
    if project is None:
        return origin if await _projects(scope).allow_origin(origin) else None
    allowed = project.settings.cors_origins
    return "*" if "*" in allowed else origin if origin in allowed else None


def _mark(message: MutableMapping[str, Any], allowed: str | None) -> None:
    message["headers"].append((b"vary", b"Origin"))
    if allowed is not None:
        message["headers"] += [
            (b"access-control-allow-origin", allowed.encode("latin-1")),
            (b"access-control-expose-headers", EXPOSED),
        ]


def _projects(scope: Scope) -> Any:
    return cast(Services, scope["app"].services).projects
