"""Around every request, in pure ASGI: its id, its log line, and the headers every answer carries, CORS included."""

import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.observe.metrics import observe_request
from service.web.asgi.cors import OriginMarks
from service.web.auth.rate_limits import rate_limit_fields

log = structlog.get_logger()

OnError = Callable[[Request, Exception], Awaitable[Response]]

# An id is no secret, and the kernel's random numbers cost a system call for each request.
_ids = random.Random()  # noqa: S311
REQUEST_ID = re.compile(rb"[A-Za-z0-9_-]{8,64}")
# API answers hold personal data and tokens: no cache may keep them, unless the handler says otherwise.
DEFAULT_HEADERS = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}


class RequestContext:
    """Gives each request an id (the client's own, when it is well formed), and logs one line when it is answered.

    The line holds the route's pattern, never the path, the query, a header or a body: those carry codes and addresses.
    """

    def __init__(self, app: ASGIApp, on_error: OnError) -> None:
        self.app = app
        self.on_error = on_error
        self._marks = OriginMarks()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, scope["state"])
            await send(message)

        marked = self._marks.wrap(scope, send_with_headers)
        try:
            await self.app(scope, receive, marked)
        except Exception as error:
            # Once an answer has begun, only a broken connection can tell the client that it is not whole.
            if status:
                raise
            response = await self.on_error(Request(scope), error)
            await response(scope, receive, marked)
        finally:
            seconds, method, route = time.perf_counter() - started, scope["method"], _route(scope)
            observe_request(method, route, status, seconds)
            log.info("request", method=method, route=route, status=status, ms=round(seconds * 1000, 2), **_known(scope))


def _request_id(scope: Scope) -> str:
    given = dict(scope["headers"]).get(b"x-request-id", b"")
    return given.decode() if REQUEST_ID.fullmatch(given) else f"{_ids.getrandbits(64):016x}"


def _add_headers(message: MutableMapping[str, Any], state: Mapping[str, Any]) -> None:
    headers = message["headers"]
    present = {name for name, _ in headers}
    headers += [item for item in DEFAULT_HEADERS.items() if item[0] not in present]
    if quotas := state.get("quotas"):
        headers += rate_limit_fields(quotas)
    headers.append((b"x-request-id", state["request_id"].encode()))


def _known(scope: Scope) -> dict[str, str]:
    """The request's id, and its project once a credential named it."""
    state = scope["state"]
    project = state.get("project")
    return {"request_id": state["request_id"]} | ({"project": project.id} if project else {})


def _route(scope: Scope) -> str:
    route = scope.get("route")
    return getattr(route, "path", "") or "unmatched"
