"""Answers as a connection sees them: its own refusals, their least rate, and streams of events with what waits in them."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl

from service.fast.write_buffer import WriteBuffer


class SendRate:
    """Judges, window by window, a client that has fallen behind; one that takes too little loses its connection.

    The first window begins when the client falls behind: before that, the kernel takes megabytes at once for anybody.
    """

    def __init__(self, transport: WriteBuffer, is_behind: Callable[[], bool], *, window: float, rate: int) -> None:
        self._transport = transport
        self._is_behind = is_behind
        self._window = window
        self._least_bytes = window * rate
        self._taken = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The client has fallen behind. A window under way goes on."""
        if self._timer is None:
            self._taken = self._transport.taken()
            self._timer = asyncio.get_running_loop().call_later(self._window, self._judge)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _judge(self) -> None:
        self._timer = None
        if not self._is_behind():
            return
        if self._transport.taken() - self._taken < self._least_bytes:
            self._transport.reset()
        else:
            self.start()


REFUSALS = {
    400: (b"Bad Request", b'{"detail":"The request is not HTTP/1.1","code":"bad_request"}'),
    408: (b"Request Timeout", b'{"detail":"The request headers came too slowly","code":"request_timeout"}'),
    431: (b"Request Header Fields Too Large", b'{"detail":"The headers are too large","code":"headers_too_large"}'),
    503: (b"Service Unavailable", b'{"detail":"Too many connections; try again","code":"busy"}'),
}


def render_refusal(status: int) -> bytes:
    """A whole answer, after which the connection ends."""
    reason, body = REFUSALS[status]
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\n" % (status, reason)
    retry = b"retry-after: 1\r\n" if status == 503 else b""
    return head + retry + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body


class StreamConnection:
    """The bytes of an answer that its client has yet to read."""

    __slots__ = ("_buffer", "_flow")

    def __init__(self, buffer: WriteBuffer, flow: FlowControl) -> None:
        self._buffer = buffer
        self._flow = flow

    def waiting(self) -> int:
        return 0 if self._buffer.is_closing() else self._buffer.waiting()

    async def room(self) -> None:
        """Returns when the connection takes more."""
        await self._flow.drain()

    def cut(self) -> None:
        """Ends the connection at once; what waits is lost."""
        if not self._buffer.is_closing():
            self._buffer.reset()
