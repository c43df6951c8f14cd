"""A connection's transport that sends the writes of one turn of the event loop in one system call.

uvicorn writes the head of an answer and its body one after the other, and each write would be a packet of its own: that
costs the service a tenth of a request (docs/performance.md), and the client a second wake-up.
"""

import asyncio
import socket
import struct
from typing import Any

from service.fast import uses

# SO_LINGER on, of 0 seconds (socket(7)): a closed connection is reset.
NO_LINGER = struct.pack("ii", 1, 0)
# Larger writes are not kept waiting: they fill packets by themselves, and the writer must feel the back pressure.
MANY_BYTES = 65_536 if uses("transport") else 0


class WriteBuffer:
    """Everything but writing and closing is the transport's own."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._call_soon = asyncio.get_running_loop().call_soon
        self._waiting: list[bytes] = []
        self._size = 0
        self._written = 0
        self.is_closing = transport.is_closing

    @property
    def beneath(self) -> asyncio.Transport:
        """The transport itself, for a writer of whole frames."""
        self.flush()
        return self._transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._call_soon(self.flush)
        self._waiting.append(data)
        self._size += len(data)
        self._written += len(data)
        if self._size >= MANY_BYTES:
            self.flush()

    def taken(self) -> int:
        """Bytes the kernel has taken so far: those that the client read, and those in buffers between."""
        return self._written - self.waiting()

    def waiting(self) -> int:
        """The bytes that the kernel has not taken."""
        return self._size + self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Closes once everything is sent."""
        self.flush()
        self._transport.close()

    def reset(self) -> None:
        """Ends the connection at once, with the bytes the kernel would still send to a slow client."""
        if (connection := self._transport.get_extra_info("socket")) is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self._transport.abort()

    def flush(self) -> None:
        """Writes the waiting bytes, unless the connection was lost meanwhile, which the server reports to the
        application.
        """
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting and not self.is_closing():
            self._transport.writelines(waiting)
