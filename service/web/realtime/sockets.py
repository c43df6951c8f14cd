"""From a handshake to a session, and the answer to a plain request for the socket. Other requests are left alone."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, cast

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service.bounds import MAX_HANDSHAKES, MAX_SOCKETS
from service.domain.access.caller import ServiceCaller
from service.domain.realtime.connections import SocketSink
from service.errors import Busy, NotFound, ServiceError, Unauthorized, Unavailable, UpgradeRequired
from service.services import Services
from service.web.asgi.deadlines import STOPPING
from service.web.auth.authenticate import Credential
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import Query, endpoint
from service.web.realtime.session import SocketSession

PATH = "/realtime"
# The scope extension by which the server passes the socket to the application, which writes to it without a queue.
EXTENSION = "auth_collections.sink"
# The scope extension by which the server passes the start of an event stream: it takes the callback of a stop, and
# returns an outlet.
EVENTS_EXTENSION = "auth_collections.events"
NO_QUERY = "Credentials and all else go into the first message, never into the URL"


class Socket(SocketSink, Protocol):
    """The server's side of a socket: a sink that is first accepted or refused."""

    def accept(self) -> None: ...

    def refuse(self, status: int, body: bytes) -> None: ...


class OpenSockets:
    """Counts the sockets of a worker, streams of events among them."""

    def __init__(self) -> None:
        self._count = 0

    @property
    def is_full(self) -> bool:
        return self._count >= MAX_SOCKETS

    @contextmanager
    def count(self) -> Iterator[None]:
        """One more while the context lasts."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1


class SocketDispatch:
    """Serves the sockets of a worker, and hands all else to `app`."""

    def __init__(self, app: ASGIApp, sockets: OpenSockets) -> None:
        self.app = app
        self._sockets = sockets
        self._second = 0
        self._handshakes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = cast(Socket | None, scope.get("extensions", {}).get(EXTENSION))
        if scope["type"] != "websocket" or socket is None:
            await self.app(scope, receive, send)
            return
        await receive()
        if (refusal := self._find_refusal(scope)) is not None:
            socket.refuse(refusal.status, orjson.dumps(refusal.body()))
            return
        socket.accept()
        with self._sockets.count():
            await SocketSession(scope, receive, socket, cast(Services, scope["app"].services)).run()

    def _find_refusal(self, scope: Scope) -> ServiceError | None:
        if scope["path"] != PATH:
            return NotFound()
        if scope["query_string"]:
            return Unauthorized(NO_QUERY)
        if STOPPING in scope["state"]:
            return Unavailable("The service is stopping; try again")
        return Busy() if self._sockets.is_full or not self._take_handshake() else None

    def _take_handshake(self) -> bool:
        """Counts a handshake; False if this second has had as many as allowed."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._handshakes = second, 0
        self._handshakes += 1
        return self._handshakes <= MAX_HANDSHAKES


@endpoint(
    "GET /realtime",
    credential=Credential.NONE,
    query=Query.IGNORED,
    tag=Tag.DOCUMENTS,
    description="The credential is part of the first message. The messages are described on the page about realtime.",
    answer=Success("The connection is a WebSocket from here on", status=101),
    errors=(UpgradeRequired,),
)
async def open_socket(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Follow queries over a WebSocket."""
    raise UpgradeRequired
