"""One client connection under uvicorn, with the deadlines and the bounds that uvicorn has none of."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

import service.server.internals  # noqa: F401 - fails if this file does not fit the installed uvicorn
from service.bounds import MAX_HEADER_BYTES, MAX_HEADERS
from service.domain.steps import stop_steps
from service.fast.write_buffer import WriteBuffer
from service.server.answers import SendRate, StreamConnection, render_refusal
from service.server.connections import ConnectionRegister
from service.server.live_socket import LiveSocket, limit_send_buffer
from service.server.timeouts import ConnectionTimeouts
from service.web.asgi.deadlines import STOPPING
from service.web.realtime.sockets import EVENTS_EXTENSION, PATH


class TooManyHeaders(Exception):
    """Ends the parser's work; only the parser sees it."""


class TimedConnection(HttpToolsProtocol):
    """uvicorn's connection, closed when its client is too slow or sends too much that is neither a request nor its body."""

    def __init__(self, *args: Any, timeouts: ConnectionTimeouts, register: ConnectionRegister, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timeouts = timeouts
        self._register = register
        self._timer: asyncio.TimerHandle | None = None
        self._send_rate: SendRate | None = None
        self._reading_headers = False
        self._reading_body = False
        # Bytes of the headers, or of the trailers behind a body, which are thrown away.
        self._unread_bytes = 0
        self._header_bytes = 0
        self._header_count = 0
        self._refusal = 400
        self._refused = False
        self._upgraded = False
        self._task: asyncio.Task[Any] | None = None
        self._extensions: dict[str, Any] = {EVENTS_EXTENSION: self._begin_events}
        self._end_events: Callable[[], None] | None = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """As uvicorn's; the task is kept, to be cut short when the server stops."""
        cycle.scope["extensions"] = self._extensions
        self._task = self.loop.create_task(cycle.run_asgi(app))
        self._task.add_done_callback(self.tasks.discard)
        self.tasks.add(self._task)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        buffer = WriteBuffer(transport)
        super().connection_made(buffer)  # type: ignore[arg-type]
        limits = self._timeouts
        self._send_rate = SendRate(buffer, self._is_behind, window=limits.rate_window, rate=limits.least_rate)
        if self._register.admit(self, self.client[0] if self.client else None):
            self._start_timer(limits.headers, self._headers_are_late)
        else:
            buffer.write(render_refusal(503))
            self._close()

    def _should_upgrade_to_ws(self) -> bool:
        """Only there, and as RFC 6455 asks; elsewhere a request to upgrade is answered as any other."""
        is_there = self.url.partition(b"?")[0] == PATH.encode() and self.scope["method"] == "GET"
        return is_there and super()._should_upgrade_to_ws()

    def handle_websocket_upgrade(self) -> None:
        """As uvicorn's; the connection is a socket from here on, and none of the deadlines of requests are its own."""
        self._stop_timer()
        if self._send_rate is not None:
            self._send_rate.stop()
        self._upgraded = True
        self.connections.discard(self)
        register = self._register
        socket = LiveSocket(self.config, self.server_state, self.app_state, on_lost=lambda: register.forget(socket))
        register.hand_over(self, socket)
        headers = [part for name, value in self.scope["headers"] for part in (name, b": ", value, b"\r\n")]
        transport = self.transport.beneath  # type: ignore[attr-defined]
        socket.connection_made(transport)
        socket.data_received(b"".join([b"GET ", self.url, b" HTTP/1.1\r\n", *headers, b"\r\n"]))
        transport.set_protocol(socket)
        # References back to this object would keep a parser and buffers in memory for as long as the socket is open.
        self._extensions.clear()
        self.parser = self.app = self.cycle = self.scope = self.headers = self._send_rate = None  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        """Drops all references back to this object: a cycle stays in memory until the collector runs, which is seldom."""
        self._stop_timer()
        if self._send_rate is not None:
            self._send_rate.stop()
        self._register.forget(self)
        self._stop_steps()
        super().connection_lost(exc)
        self.pipeline.clear()
        self._extensions.clear()
        self._send_rate = self._task = self._end_events = None
        self.app = self.cycle = self.scope = self.headers = None  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._upgraded or self._refused or self.transport.is_closing():
            return
        if self._unread_bytes > MAX_HEADER_BYTES and (self._reading_headers or self._reading_body):
            self._refuse(431)
        elif self._timer is None and (self._reading_headers or self._idle()):
            # Any byte ends uvicorn's own timer, also one that begins no request. Headers that come whole need none.
            self._start_timer(self._timeouts.headers, self._headers_are_late)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more. Returns True if it may still read: its last request is whole and not answered.

        An event-stream client has left; otherwise the server would notice only at its next write. In all cases the
        transport closes by itself, so written bytes go out first. Most such clients have left, so long work for them is
        stopped.
        """
        self.transport.flush()  # type: ignore[attr-defined]
        self._stop_steps()
        is_whole = self.cycle is not None and not self.cycle.response_complete and not self._reading_body
        waits = is_whole and self._end_events is None
        if waits:
            self.cycle.keep_alive = False
        return waits

    def _stop_steps(self) -> None:
        if self._task is not None:
            stop_steps(self._task)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading_headers = True
        self._header_bytes = self._header_count = 0

    def on_url(self, url: bytes) -> None:
        self._count_header_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A trailer is counted and dropped: it came after every check of the headers, a proxy's included."""
        self._header_count += 1
        self._count_header_bytes(len(name) + len(value))
        if not self._reading_body:
            super().on_header(name, value)

    def _count_header_bytes(self, more: int) -> None:
        self._header_bytes += more
        if self._header_bytes > MAX_HEADER_BYTES or self._header_count > MAX_HEADERS:
            self._refusal = 431
            raise TooManyHeaders

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._register.mark_busy(self)
        self._reading_headers, self._reading_body = False, True
        self._unread_bytes = self._header_bytes = self._header_count = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading_body = False
        self._unread_bytes = 0
        if STOPPING in self.app_state:
            self.end_with_this_request()
        if self.cycle is not None and self.cycle.response_complete:
            self._stop_timer()
            self._register.mark_idle(self)
        super().on_message_complete()

    def _begin_events(self, end: Callable[[], None]) -> StreamConnection:
        """The answer lasts until its client leaves, or until the server stops, which calls `end`."""
        self._end_events = end
        limit_send_buffer(self.transport)
        return StreamConnection(self.transport, self.flow)  # type: ignore[arg-type]

    def on_response_complete(self) -> None:
        self._end_events = None
        super().on_response_complete()
        if self.cycle is None:
            # The connection went while a request before its last one was answered.
            return
        if self._idle():
            self._register.mark_idle(self)
        elif self._reading_body and self.cycle.response_complete:
            # Not for the body of a pipelined request that is still to be answered.
            self._start_timer(self._timeouts.linger, self._close)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._send_rate is not None:
            self._send_rate.start()

    def _is_behind(self) -> bool:
        return self.flow.write_paused

    def end_with_this_request(self) -> None:
        """Not while its body comes: uvicorn closes with the answer, and what the client still sends would reset it."""
        if self._reading_body or self.cycle is None:
            return
        if self.cycle.response_complete:
            self._close()
        else:
            self.cycle.keep_alive = False

    def end_when_answered(self) -> None:
        """The server calls this when it begins to stop: an idle connection may send one more request until it stops."""
        if not self._idle():
            self.end_with_this_request()

    def shutdown(self) -> None:
        """The server calls this when it takes no more connections: requests that were read are answered, within their
        time.
        """
        if self._idle():
            # A request may have arrived that is still unread.
            self.loop.call_later(self._timeouts.last_look, self.close_idle)
        else:
            self.end_with_this_request()
        if self._end_events is not None:
            self._end_events()
        if patience := self.config.timeout_graceful_shutdown:
            self.loop.call_later(max(patience - self._timeouts.cut_short, patience / 2), self._cut_short)

    def _cut_short(self) -> None:
        """The application turns this into a 503. uvicorn's own cancelling comes too late for one: it waits for nothing."""
        if self._task:
            self._task.cancel()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's sentence is replaced by our JSON
        self._refuse(self._refusal)

    def close_idle(self) -> None:
        if self._idle():
            self._close()

    def _idle(self) -> bool:
        return not self._reading_body and (self.cycle is None or self.cycle.response_complete)

    def _headers_are_late(self) -> None:
        if self._reading_headers:
            self._refuse(408)
        else:
            self._close()

    def _refuse(self, status: int) -> None:
        """Refuses input that is no request, or a request whose body ends badly; an answer that has begun stays."""
        if self._idle():
            self._write_refusal(status)
        elif not self._reading_body:
            # A pipelined request must not cut off the answer to the one before it.
            self.cycle.keep_alive = False
        elif self.cycle.response_complete:
            # The rest is thrown away, until the time for that ends.
            self._refused = True
        elif self.cycle.response_started:
            self._close()
        else:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._write_refusal(status)

    def _write_refusal(self, status: int) -> None:
        """Writes the refusal. Later input is thrown away, so that the client can read the refusal."""
        self._refused = True
        self.transport.write(render_refusal(status))
        self.transport.flush()  # type: ignore[attr-defined]
        self.transport.write_eof()
        self._start_timer(self._timeouts.linger, self._close)

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def _start_timer(self, seconds: float, then: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, then)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
