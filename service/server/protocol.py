"""One client connection under uvicorn, with the deadlines and the bound that uvicorn has none of."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.bounds import MAX_HEADER_BYTES
from service.server.write_buffer import WriteBuffer

# From the connection, or the first byte of a later request, to the end of its headers.
HEADER_SECONDS = 10.0
# After an answer that did not wait for the body, the rest is read and thrown away for this long, so that the client can
# read the answer before the connection goes (RFC 9112 section 9.6).
LINGER_SECONDS = 2.0
# A client that reads nothing of a waiting answer for this long is gone.
WRITE_SECONDS = 60.0
# When the server stops, an idle connection may send one more request in this time; it is answered, then closed.
DRAIN_SECONDS = 1.0
# So long before the server's patience ends, what still runs is cut short: time to undo it, and for its client to be told.
CUT_SHORT_SECONDS = 5.0

REFUSALS = {
    400: (b"Bad Request", b'{"detail":"The request is not HTTP/1.1","code":"bad_request"}'),
    408: (b"Request Timeout", b'{"detail":"The request headers came too slowly","code":"request_timeout"}'),
    431: (b"Request Header Fields Too Large", b'{"detail":"The headers are too large","code":"headers_too_large"}'),
}


class TimedConnection(HttpToolsProtocol):
    """uvicorn's connection, closed when its client is too slow: with headers, with a body nobody waits for, in reading."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._reading_headers = False
        self._reading_body = False
        self._header_bytes = 0
        self._draining = False
        self._application, self.app = self.app, self._run
        self._task: asyncio.Task[Any] | None = None

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._task = asyncio.current_task()
        await self._application(scope, receive, send)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(WriteBuffer(transport))  # type: ignore[arg-type]
        self._start_timer(HEADER_SECONDS, self._headers_are_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if not self._reading_body:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._reading_headers and self._header_bytes > MAX_HEADER_BYTES:
            self._refuse(431)
        elif self._timer is None and (self._reading_headers or self._idle()):
            # Any byte ends uvicorn's own timer, also one that begins no request. Headers that come whole need none.
            self._start_timer(HEADER_SECONDS, self._headers_are_late)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more. Whether it may still read: it may, when its last request is whole and not answered.

        Otherwise the transport closes by itself, so what is written goes out first.
        """
        self.transport.flush()  # type: ignore[attr-defined]
        waits = self.cycle is not None and not self.cycle.response_complete and not self._reading_body
        if waits:
            self.cycle.keep_alive = False
        return waits

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading_headers = True

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._reading_headers, self._reading_body, self._header_bytes = False, True, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._reading_body = False
        if self._draining:
            self._end_with_this_request()
        if self.cycle.response_complete:
            self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Not for the body of a pipelined request that is still to be answered.
        if self._reading_body and self.cycle.response_complete:
            self._start_timer(LINGER_SECONDS, self._close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def shutdown(self) -> None:
        """What the server calls when it stops: like uvicorn's, but whatever is already on its way is answered."""
        self._draining = True
        if self._idle():
            self.loop.call_later(DRAIN_SECONDS, self._close_idle)
        elif not self._reading_body:
            self._end_with_this_request()
        if patience := self.config.timeout_graceful_shutdown:
            self.loop.call_later(patience - CUT_SHORT_SECONDS, self._cut_short)

    def _end_with_this_request(self) -> None:
        """Not while its body comes: uvicorn closes with the answer, and what the client still sends would reset it."""
        if self.cycle.response_complete:
            self._close()
        else:
            self.cycle.keep_alive = False

    def _cut_short(self) -> None:
        """The application turns this into a 503. uvicorn's own cancelling comes too late for one: it waits for nothing."""
        if self._task:
            self._task.cancel()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's sentence is replaced by our JSON
        self._refuse(400)

    def _idle(self) -> bool:
        return not self._reading_body and (self.cycle is None or self.cycle.response_complete)

    def _close_idle(self) -> None:
        if self._idle():
            self._close()

    def _headers_are_late(self) -> None:
        if not self._reading_headers:
            self._close()
        elif self._idle():
            self._refuse(408)
        else:
            # A pipelined request must not cut off the answer to the one before it.
            self.cycle.keep_alive = False

    def _refuse(self, status: int) -> None:
        """Answers a request that has no end of its headers, which the application therefore never sees."""
        reason, body = REFUSALS[status]
        head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\n" % (status, reason)
        self.transport.write(head + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        self._close()

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

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
