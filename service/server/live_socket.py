"""One WebSocket under uvicorn. The application writes to it without waiting, and sees the number of unsent bytes."""

import json
import random
import socket
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from service.bounds import MAX_UNSENT_BYTES
from service.web.realtime.sockets import EXTENSION

# Bytes the kernel takes before the client has read them: of thousands of clients that read nothing, this much each.
SEND_BUFFER_BYTES = 131_072
# A client that is closed as too slow is cut off within 35 seconds: 30 until then, and these.
CLOSE_SECONDS = 3.0
RESTART, KEEPALIVE = 1012, 1011
# Clients come back within this time, and not all at once.
RETRY_SECONDS = 20.0


class LiveSocket(WebSocketsSansIOProtocol):
    """uvicorn's socket with a way around its queue. `on_lost` is called when the connection has ended."""

    def __init__(self, *args: Any, on_lost: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.written = 0
        self._on_lost = on_lost

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES, low=MAX_UNSENT_BYTES // 4)
        limit_send_buffer(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_lost()

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            cast(dict[str, Any], self.scope["extensions"])[EXTENSION] = self

    async def run_asgi(self) -> None:
        """As uvicorn's; a client that takes nothing more is cut off, or its last bytes would stay in memory."""
        await super().run_asgi()
        if not self.disconnected and self.close_timer is None:
            self.close_timer = self.loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def handle_ping(self) -> None:
        """As uvicorn's; a client that reads nothing gets no pongs, which would pile up (RFC 6455 section 5.5.3)."""
        if self.waiting() <= MAX_UNSENT_BYTES:
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def keepalive_timeout(self) -> None:
        """As uvicorn's; the ping of a client that is behind may wait here, and realtime closes such a client."""
        self.pong_timer = None
        if self.waiting() > MAX_UNSENT_BYTES and self.ping_timeout is not None:
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            self.close(KEEPALIVE, "keepalive ping timeout")

    def accept(self) -> None:
        if self.handshake_complete or self.transport.is_closing():
            return
        self.handshake_complete = True
        self.conn.send_response(self.response)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.start_keepalive()

    def refuse(self, status: int, body: bytes) -> None:
        """An answer of HTTP in place of the socket."""
        if self.handshake_complete or self.transport.is_closing():
            return
        response = self.conn.reject(status, "")
        del response.headers["Content-Type"], response.headers["Content-Length"]
        response.headers.update({"Content-Type": "application/json", "Content-Length": str(len(body))})
        response.body = body
        self.handshake_complete = self.close_sent = True
        self.conn.send_response(response)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    def waiting(self) -> int:
        """Bytes that the kernel has not taken."""
        return self.transport.get_write_buffer_size() if not self.transport.is_closing() else 0

    async def room(self) -> None:
        """Returns when no more than MAX_UNSENT_BYTES wait; after a wait, when a quarter of them does."""
        await self.writable.wait()

    def write(self, frame: bytes, cursor: str | None = None) -> None:  # noqa: ARG002 - a client finds it in the frame
        """Sends a text of one frame. A frame for a client that is gone is dropped."""
        if self.close_sent or self.disconnected or self.transport.is_closing():
            return
        head = text_head(len(frame))
        self.written += len(head) + len(frame)
        self.transport.write(head + frame)

    def close(self, code: int, reason: str = "") -> None:
        """Sends the close frame, and waits a while for the client's; a client that does not read is cut off."""
        if self.close_sent or self.disconnected or self.transport.is_closing():
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.close_sent = True
        # The session may wait for room; it ends instead.
        self.writable.set()
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def close_idle(self) -> None:
        """A socket is never in the way of other connections, for it is never idle."""

    def end_when_answered(self) -> None:
        """The server calls this when it begins to stop. The socket goes on until it stops."""

    def shutdown(self) -> None:
        """The server calls this when it stops: closes with the seconds after which the client may come back."""
        self.stop_keepalive()
        if not self.handshake_complete:
            super().shutdown()
            return
        self.close(RESTART, json.dumps({"retry_after": round(random.uniform(0, RETRY_SECONDS), 1)}))  # noqa: S311
        self.transport.close()
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)


def limit_send_buffer(transport: Any) -> None:
    """Limits the bytes the kernel takes of one lasting connection, also if its client does not read."""
    if (connection := transport.get_extra_info("socket")) is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)


def text_head(size: int) -> bytes:
    """The head of a final, unmasked frame of text (RFC 6455 section 5.2)."""
    if size < 126:
        return bytes((0x81, size))
    if size < 65_536:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")
