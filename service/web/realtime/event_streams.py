"""Live lists over plain HTTP: the frames of a socket as server-sent events (HTML section 9.2).

An event has the frame's type for its name, the frame for its data, and the cursor for its id, so that a client that
comes back with `Last-Event-ID` gets the events it missed.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.domain.access.caller import OperatorCaller, ProjectCaller, UserCaller
from service.domain.realtime.connections import TOO_SLOW, USERS, Connection
from service.domain.realtime.subscriptions import frame
from service.errors import (
    Busy,
    Invalid,
    InvalidApiKey,
    InvalidToken,
    ListNotLive,
    NotLive,
    OperatorRequired,
    ServiceError,
    Unavailable,
)
from service.query.nodes import Count, ListQuery
from service.query.parse import parse_pairs, parse_query
from service.services import Services
from service.web.asgi.deadlines import is_stopping
from service.web.asgi.request_context import BEGUN, RequestDeadline
from service.web.asgi.streaming import wait_for_departure
from service.web.auth.headers import bearer, headers_of
from service.web.http.violations import list_violations
from service.web.realtime.greeting import UNAUTHENTIC, expiry
from service.web.realtime.sockets import EVENTS_EXTENSION, OpenSockets

# The id of the one subscription of a stream.
LIST = "list"
HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
# Parameters of a list that a live list does not take.
NOT_LIVE = ("populate", "offset", "cursor", "count", "fields", "with_counts")
RETRY_MS = 20_000


async def follow_documents(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Follow a list of documents."""
    return await _follow(request, caller, services, request.path_params["name"])


async def follow_users(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Follow a list of users."""
    return await _follow(request, caller, services, USERS)


async def _follow(request: Request, caller: ProjectCaller, services: Services, name: str) -> Response:
    """A refusal before the first frame is an HTTP answer, as of the list."""
    sockets: OpenSockets = request.app.sockets
    if is_stopping(request):
        raise Unavailable("The service is stopping; try again")
    if sockets.is_full:
        raise Busy
    sink = EventSink(caller)
    with ExitStack() as stack:
        stack.enter_context(sockets.count())
        connection = _connect(request, sink, caller)
        await services.realtime.join(connection)
        stack.callback(services.realtime.leave, connection)
        after = request.headers.get("last-event-id")
        parse = make_parse(request.scope["query_string"])
        await services.realtime.subscribe(
            connection,
            LIST,
            name,
            parse=parse,
            render=sink.refuse,
            where_bytes=len(request.scope["query_string"]),
            after=after,
        )
        await sink.wait()
        if sink.refusal is not None:
            raise sink.refusal
        connection.was_warned = False
        return EventStream(sink, stack.pop_all())


def _connect(request: Request, sink: "EventSink", caller: ProjectCaller) -> Connection:
    if isinstance(caller, UserCaller):
        token = bearer(request)
        return Connection(sink, caller, token, expiry(token))
    if isinstance(caller, OperatorCaller):
        return Connection(sink, caller, f"{caller.admin.credential} {caller.project.id}", None)
    return Connection(sink, caller, headers_of(request, b"x-api-key")[0], None)


def make_parse(query_string: bytes) -> Callable[[], ListQuery]:
    """Returns a function that reads the query of a live list. It raises Invalid, NotLive."""

    def parse() -> ListQuery:
        query = parse_query(query_string)
        names = {name for name, _ in parse_pairs(query_string)}
        if refused := [name for name in NOT_LIVE if name in names]:
            raise NotLive(f"A list that is followed takes no {refused[0]}")
        return replace(query, count=Count.NONE)

    return parse


class Outlet(Protocol):
    """The server's side of a stream: what it has taken and the client has not."""

    def waiting(self) -> int: ...

    async def room(self) -> None: ...

    def cut(self) -> None: ...


def _refusal(caller: ProjectCaller) -> ServiceError:
    """The error of a credential that is no longer good."""
    if isinstance(caller, OperatorCaller):
        return OperatorRequired()
    return InvalidToken() if isinstance(caller, UserCaller) else InvalidApiKey()


class EventSink:
    """The frames that wait to be sent to one client."""

    def __init__(self, caller: ProjectCaller) -> None:
        self.written = 0
        # The error that refused the stream before its first frame.
        self.refusal: ServiceError | None = None
        self._caller = caller
        self._events: deque[bytes] = deque()
        self._waiting = 0
        self._is_over = False
        self._has_more = asyncio.Event()
        self._is_handed_over = asyncio.Event()
        self._is_handed_over.set()
        # None until the answer begins.
        self.outlet: Outlet | None = None

    def waiting(self) -> int:
        return self._waiting + (self.outlet.waiting() if self.outlet is not None else 0)

    async def room(self) -> None:
        await self._is_handed_over.wait()
        if self.outlet is not None:
            await self.outlet.room()

    def write(self, frame: bytes, cursor: str | None = None) -> None:
        if self._is_over or self.refusal is not None:
            return
        event = write_event(frame, cursor)
        self.push(event)
        # There is one subscription, and nothing after its end.
        self._is_over = event.startswith(b"event: closed\n")

    def push(self, event: bytes) -> None:
        """Sends an event as it is."""
        self.written += len(event)
        self._waiting += len(event)
        self._events.append(event)
        self._is_handed_over.clear()
        self._has_more.set()

    def refuse(self, error: ServiceError) -> dict[str, Any]:
        """The last event of the subscription, unless the refusal is the HTTP answer itself."""
        error = ListNotLive(error.detail) if isinstance(error, NotLive) else error
        if not self.written:
            self.refusal = error
            self._has_more.set()
        return list_violations(error) if isinstance(error, Invalid) else error.body()

    def close(self, code: int, reason: str = "") -> None:  # noqa: ARG002 - it is for sockets
        """Ends the stream; a client that must come back with another credential gets the reason.

        A client that does not read is cut off: nothing reaches it.
        """
        if code == TOO_SLOW and self.outlet is not None:
            self.outlet.cut()
        error: ServiceError = Unavailable()
        if code == UNAUTHENTIC:
            error = _refusal(self._caller)
            self.write(frame("closed", id=LIST, **self.refuse(error)))
        self.refusal = self.refusal if self.written else error
        self.end()

    def stop(self) -> None:
        """The server stops: the client comes back within some seconds, and not with all others at once."""
        self._events.append(b"retry: %d\n\n" % random.randrange(RETRY_MS))  # noqa: S311
        self.end()

    def end(self) -> None:
        self._is_over = True
        self._has_more.set()

    async def wait(self) -> None:
        """Until something is to be sent, or nothing will be."""
        await self._has_more.wait()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The written events, as far as they have come; the next piece is asked for when this one was sent."""
        while self._events or not self._is_over:
            await self._has_more.wait()
            self._has_more.clear()
            while self._events:
                piece = b"".join(self._events)
                self._events.clear()
                yield piece
                self._waiting = sum(map(len, self._events))
            self._is_handed_over.set()


def write_event(frame: bytes, cursor: str | None) -> bytes:
    """A frame, which is JSON on one line and begins with its type."""
    type_ = frame[9 : frame.index(b'"', 9)]
    id_ = b"id: %s\n" % cursor.encode() if cursor is not None else b""
    return b"event: %s\n%sdata: %s\n\n" % (type_, id_, frame)


class EventStream(Response):
    """The events of `sink` until its end, or until the client leaves. `stack` holds what is given back then."""

    def __init__(self, sink: EventSink, stack: ExitStack) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._sink = sink
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._stack:
            deadline: RequestDeadline = scope["state"]["deadline"]
            deadline.leave()
            scope["state"][BEGUN] = time.perf_counter()
            if (begin := scope.get("extensions", {}).get(EVENTS_EXTENSION)) is not None:
                self._sink.outlet = begin(self._sink.stop)
            await self._send(receive, send)

    async def _send(self, receive: Receive, send: Send) -> None:
        departure = asyncio.ensure_future(wait_for_departure(receive))
        departure.add_done_callback(lambda _: self._sink.end())
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in self._sink.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            departure.cancel()
