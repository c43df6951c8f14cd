"""Cross-origin requests (the Fetch standard's CORS protocol): only origins that a project lists, and never with cookies."""

from collections.abc import MutableMapping
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.bounds import MAX_ORIGIN_LOOKUPS
from service.domain.projects.lookup import Project, Projects
from service.errors import ServiceError
from service.services import Services

MAX_ORIGIN = 300
# No origin but its own reads the Admin API, whatever projects list.
OF_OPERATORS = "/admin/v1"
PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "GET, HEAD, QUERY, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, X-Api-Key, X-Request-ID, Range, If-Match, If-None-Match, "
    "Idempotency-Key, Last-Event-ID, X-Captcha-Token",
    "access-control-max-age": "600",
}
EXPOSED = (
    b"X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, ETag, Content-Disposition, Content-Range, "
    b"Idempotency-Replayed"
)


class Preflights:
    """Answers preflights, and leaves every other request to `app`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http" and scope["method"] == "OPTIONS" and (origin := _origin(scope)) is not None:
            app = await _preflight(scope, origin) if "access-control-request-method" in Headers(scope=scope) else app
        await app(scope, receive, send)


async def _preflight(scope: Scope, origin: str) -> Response:
    """That the origin may read the answer is marked here as everywhere."""
    is_listed = await _projects(scope).allow_origin(origin)
    return Response(status_code=204, headers=PREFLIGHT_HEADERS if is_listed else None)


class OriginMarks:
    """Marks answers as readable for the origins of the request's project."""

    def __init__(self) -> None:
        self._lookups = 0

    def wrap(self, scope: Scope, send: Send) -> Send:
        """`send`, which marks what a page asked for; whatever layer the answer comes from."""
        origin = _origin(scope)
        if origin is None:
            return send

        async def marking(message: Message) -> None:
            if message["type"] == "http.response.start":
                _mark(message, await self._allowed(scope, origin))
            await send(message)

        return marking

    async def _allowed(self, scope: Scope, origin: str) -> str | None:
        """The value of Access-Control-Allow-Origin. A refused credential names no project, yet its page may read that."""
        project = cast(Project | None, scope["state"].get("project"))
        if project is None:
            return origin if await self._is_listed(scope, origin) else None
        allowed = project.settings.cors_origins
        return "*" if "*" in allowed else origin if origin in allowed else None

    async def _is_listed(self, scope: Scope, origin: str) -> bool:
        """True if any project lists the origin. If the database cannot tell, an answer goes out without its marks.

        Requests over a limit come here too; the bound keeps most of them from the database.
        """
        if self._lookups >= MAX_ORIGIN_LOOKUPS:
            return False
        self._lookups += 1
        try:
            return await _projects(scope).allow_origin(origin)
        except ServiceError:
            return False
        finally:
            self._lookups -= 1


def _origin(scope: Scope) -> str | None:
    if scope["path"].startswith(OF_OPERATORS):
        return None
    value = dict(scope["headers"]).get(b"origin")
    return value.decode("latin-1") if value is not None and len(value) <= MAX_ORIGIN else None


def _mark(message: MutableMapping[str, Any], allowed: str | None) -> None:
    if any(name == b"access-control-allow-origin" for name, _ in message["headers"]):
        # Public metadata, which any page may read.
        return
    message["headers"].append((b"vary", b"Origin"))
    if allowed is not None:
        message["headers"] += [
            (b"access-control-allow-origin", allowed.encode("latin-1")),
            (b"access-control-expose-headers", EXPOSED),
        ]


def _projects(scope: Scope) -> Projects:
    return cast(Services, scope["app"].services).base.projects
