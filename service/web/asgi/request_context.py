"""Around every request, in pure ASGI: its id, its log line, the headers that every answer carries, its place and its time."""

import asyncio
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, cast

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.bounds import MAX_IN_FLIGHT
from service.domain.traffic.tally import Ring, Tally
from service.errors import Busy, Unavailable
from service.observe.metrics import request_series
from service.observe.requests import REQUEST, RequestNotes
from service.web.asgi.cors import OriginMarks
from service.web.asgi.deadlines import EXEMPT, Deadlines
from service.web.auth.rate_limits import rate_limit_fields
from service.web.http.request_state import API_KEY, CALLER, CODE

log = structlog.get_logger()

OnError = Callable[[Request, Exception], Awaitable[Response]]

# An id is no secret, and the kernel's random numbers cost a system call for each request.
_ids = random.Random()  # noqa: S311
REQUEST_ID = re.compile(rb"[A-Za-z0-9_-]{8,64}")
# API answers hold personal data and tokens: no cache may keep them, unless the handler says otherwise.
# The key of the request's state for the time at which a lasting answer began, by `perf_counter`.
BEGUN = "begun"
# Routes that machines ask all the time, the console's files, and the stream that shows the requests themselves.
UNNOTED = frozenset(
    {
        "/health/live",
        "/health/ready",
        "/metrics",
        "/console",
        "/console/",
        "/console/a/{version}/{folder}/{name}",
        "/admin/v1/projects/{project_id}/live",
    }
)
DEFAULT_HEADERS = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}


class RequestContext:
    """Gives each request an id (the client's own, when it is well formed), and logs one line when it is answered.

    The line holds the route's pattern, never the path, the query, a header or a body: those carry codes and addresses.
    """

    def __init__(self, app: ASGIApp, on_error: OnError, otherwise: ASGIApp | None = None) -> None:
        """`otherwise` handles every scope but HTTP requests."""
        self.app = app
        self._otherwise = otherwise or app
        self.on_error = on_error
        self._marks = OriginMarks()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._otherwise(scope, receive, send)
            return
        headers = dict(scope["headers"])
        state = scope.setdefault("state", {})
        notes = RequestNotes(_request_id(headers))
        state["request_id"] = notes.id
        REQUEST.set(notes)
        started, status, size = time.perf_counter(), 0, 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, state)
            else:
                size += len(message.get("body", b""))
            await send(message)

        marked = self._marks.wrap(scope, send_with_headers) if b"origin" in headers else send_with_headers
        try:
            await self.app(scope, receive, marked)
        except Exception as error:
            # Once an answer has begun, only a broken connection can tell the client that it is not whole.
            if status:
                raise
            response = await self.on_error(Request(scope), error)
            await response(scope, receive, marked)
        finally:
            # A stream says when its answer began, for it lasts as long as its client likes.
            seconds, method, route = state.get(BEGUN, time.perf_counter()) - started, scope["method"], _route(scope)
            request_series(method, route, status).observe(seconds)
            if route not in UNNOTED:
                _count(scope, notes, method, route, status, seconds, size)
            more = _known(scope) | ({"slow": notes.slow} if notes.slow else {})
            if notes.refused_by is not None:
                more["refused_by"] = notes.refused_by
            log.info("request", method=method, route=route, status=status, ms=round(seconds * 1000, 2), **more)


def _count(scope: Scope, notes: RequestNotes, method: str, route: str, status: int, seconds: float, size: int) -> None:
    """Counts the request, and notes it for the log of requests, where there is one."""
    app, state, at = scope["app"], scope["state"], time.time()
    project = state.get("project")
    project_id = project.id if project is not None else None
    tally: Tally | None = app.tally
    if tally is not None:
        tally.count(at, project_id, route, status, seconds, size, is_stream=BEGUN in state)
    ring: Ring | None = app.ring
    if ring is not None:
        caller, key, code = state.get(CALLER), state.get(API_KEY), state.get(CODE)
        ring.note((at, method, route, status, seconds, size, project_id, caller, key, code, notes.refused_by, notes.id))


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"")
    return given.decode() if REQUEST_ID.fullmatch(given) else f"{_ids.getrandbits(64):016x}"


def _add_headers(message: MutableMapping[str, Any], state: Mapping[str, Any]) -> None:
    headers = message["headers"]
    present = {name for name, _ in headers}
    headers += [item for item in DEFAULT_HEADERS.items() if item[0] not in present]
    if quotas := state.get("quotas"):
        headers += rate_limit_fields(quotas)
    headers.append((b"x-request-id", state["request_id"].encode()))


def _known(scope: Scope) -> dict[str, Any]:
    """The request's id, and its project once a credential named it."""
    state = scope["state"]
    project = state.get("project")
    return {"request_id": state["request_id"]} | ({"project": project.id} if project else {})


def _route(scope: Scope) -> str:
    route = scope.get("route")
    return getattr(route, "path", "") or "unmatched"


class RequestDeadline:
    """The time of one request. `deadline` is that of what it waits for now: its client, while `is_reading`, or us."""

    __slots__ = (
        "_in_flight",
        "_limits",
        "cancelled",
        "deadline",
        "is_complete",
        "is_reading",
        "received",
        "seconds",
        "task",
        "waited",
    )

    def __init__(self, task: asyncio.Task[object], limits: Deadlines, in_flight: "set[RequestDeadline]") -> None:
        self.task = task
        self._limits = limits
        self._in_flight = in_flight
        in_flight.add(self)
        self.seconds = limits.answer
        self.deadline = time.monotonic() + limits.answer
        self.waited = 0.0
        self.received = 0
        self.cancelled = 0
        self.is_reading = self.is_complete = False

    def received_by(self, receive: Receive) -> Receive:
        """`receive`, with the client's time counted. After the body, or an answer, waiting for it to leave is free."""

        async def timed() -> Message:
            if self.is_complete:
                return await receive()
            started = time.monotonic()
            allowed = allow_body(self._limits, self.received)
            self.is_reading, self.deadline = True, started + allowed - self.waited
            message = await receive()
            if not self.is_complete:
                self._take(message, started)
            return message

        return timed

    def _take(self, message: Message, started: float) -> None:
        now = time.monotonic()
        self.is_reading, self.deadline = False, now + self.seconds
        self.waited += now - started
        self.received += len(message.get("body", b""))
        self.is_complete = not message.get("more_body", False)

    def answered_by(self, send: Send) -> Send:
        """`send`, after which the request is no longer late: how long an answer may take is the connection's matter."""

        async def timed(message: Message) -> None:
            self.is_complete, self.deadline = True, math.inf
            await send(message)

        return timed

    def leave(self) -> None:
        """The request is no longer among those in flight: it has ended, or what is left of it is counted elsewhere."""
        self._in_flight.discard(self)

    def cancel_if_late(self, now: float) -> None:
        """Ends the request where its time is over, and again what it does about that, so that its answer comes."""
        if now > self.deadline:
            self.deadline = now + self._limits.clean_up
            self.cancelled += 1
            self.task.cancel()

    def outcome(self) -> Exception:
        """The error for the client of a cancelled request. Also resets the task's cancellation, as the task goes on."""
        for _ in range(self.cancelled):
            self.task.uncancel()
        if not self.cancelled:
            # Only a server whose time to stop is over cancels a request.
            return Unavailable("The service is stopping; try again")
        if self.is_reading:
            # RFC 9110 section 15.5.9: the connection is of no further use.
            return HTTPException(408, "The request body came too slowly", {"connection": "close"})
        return Unavailable()


class DeadlineWatch:
    """Refuses the request that is one too many, and ends what takes too long: 408 where the client is slow, else 503.

    One timer looks at all requests, for one of each request's own would cost more than all else here. Raises Busy,
    Unavailable and HTTPException 408 for the middleware outside to answer.
    """

    def __init__(self, app: ASGIApp, limits: Deadlines) -> None:
        self.app = app
        self._limits = limits
        self._deadlines: set[RequestDeadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in EXEMPT:
            await self.app(scope, receive, send)
            return
        if len(self._deadlines) >= MAX_IN_FLIGHT:
            raise Busy
        deadline = self._begin(scope)
        try:
            await self.app(scope, deadline.received_by(receive), deadline.answered_by(send))
        except asyncio.CancelledError as cancelled:
            raise deadline.outcome() from cancelled
        finally:
            deadline.leave()

    def _begin(self, scope: Scope) -> RequestDeadline:
        task = cast("asyncio.Task[object]", asyncio.current_task())
        deadline = scope["state"]["deadline"] = RequestDeadline(task, self._limits, self._deadlines)
        if self._timer is None:
            self._cancel_late()
        return deadline

    def _cancel_late(self) -> None:
        now = time.monotonic()
        for deadline in self._deadlines:
            deadline.cancel_if_late(now)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._limits.look, self._cancel_late) if self._deadlines else None


def allow_body(limits: Deadlines, received: int) -> float:
    """Seconds a client may take for a body of which `received` bytes have come."""
    return limits.body + received / limits.least_rate


def extend_deadline(request: Request, seconds: float) -> None:
    """Gives a request more time than others have, from now on."""
    deadline: RequestDeadline = request.scope["state"]["deadline"]
    deadline.seconds, deadline.deadline = seconds, time.monotonic() + seconds
