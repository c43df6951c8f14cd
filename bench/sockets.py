"""Thousands of WebSockets that cost their client little: what comes is counted and timed, and not read as JSON."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, cast

HANDSHAKE = (
    b"GET /realtime HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
NUMBER = b'"number":'
PATIENCE_SECONDS = 300.0
# As many at once as a worker admits in a quarter of a second.
AT_ONCE = 50
FOLLOWED_AT_ONCE = 100
AGAIN_SECONDS = 0.5


@dataclass(slots=True)
class Received:
    """The frames that arrived over all sockets, by type; for changes, the number in the document and the time of
    arrival.
    """

    frames: Counter[bytes] = field(default_factory=Counter)
    numbers: list[tuple[int, float]] = field(default_factory=list)
    closed: Counter[int] = field(default_factory=Counter)
    bytes: int = 0

    def clear(self) -> None:
        self.numbers.clear()
        self.frames.clear()
        self.bytes = 0


class LiveClient(asyncio.Protocol):
    """One socket. `accepted` is true if the service took it; the client reads nothing more until it is asked to."""

    __slots__ = ("_buffer", "_received", "_transport", "accepted")

    def __init__(self, received: Received) -> None:
        self._received = received
        self._buffer = b""
        self.accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(HANDSHAKE)

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.accepted.done():
            self.accepted.set_result(False)

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data if self._buffer else data
        if not self.accepted.done():
            head, _, data = data.partition(b"\r\n\r\n")
            self.accepted.set_result(head.startswith(b"HTTP/1.1 101"))
        self._received.bytes += len(data)
        self._buffer = data[self._read(data) :]

    def _read(self, data: bytes) -> int:
        """Reads the whole frames in `data`, which are not masked; returns where they end."""
        at, size = 0, len(data)
        while size - at >= 2:
            length, body = data[at + 1], at + 2
            if length == 126:
                length, body = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
            elif length == 127:
                length, body = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            if body + length > size or body > size:
                break
            self._take(data[at], data, body, body + length)
            at = body + length
        return at

    def _take(self, first: int, data: bytes, start: int, end: int) -> None:
        if first == 0x89:
            self._transport.write(b"\x8a" + bytes((0x80 | end - start,)) + b"\0\0\0\0" + data[start:end])
        elif first == 0x88:
            self._received.closed[int.from_bytes(data[start : start + 2], "big")] += 1
        elif first == 0x81:
            kind = data[start + 9 : data.find(b'"', start + 9, end)]
            self._received.frames[kind] += 1
            if kind == b"changes" and (found := data.find(NUMBER, start, end)) > 0:
                digits = data[found + len(NUMBER) : found + len(NUMBER) + 10]
                self._received.numbers.append((int(digits.split(b",")[0].split(b"}")[0]), perf_counter()))

    def say(self, message: Mapping[str, Any]) -> None:
        """A mask of zeros leaves a message as it is."""
        body = json.dumps(message).encode()
        size = bytes((0x80 | len(body),)) if len(body) < 126 else b"\xfe" + len(body).to_bytes(2, "big")
        self._transport.write(b"\x81" + size + b"\0\0\0\0" + body)

    def stop_reading(self, size: int) -> None:
        """The kernel takes so many bytes more, about."""
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        self._transport.pause_reading()

    def close(self) -> None:
        self._transport.abort()


async def open_sockets(
    port: int, received: Received, count: int, *, key: str | None, workers: int = 1
) -> list[LiveClient]:
    """So many that were accepted, and greeted with the key, if there is one; who is one too many in a second tries again."""
    found: list[LiveClient] = []
    places = asyncio.Semaphore(AT_ONCE * workers)
    wanted = received.frames[b"ready"] + count

    async def open_one() -> None:
        while True:
            async with places:
                _, client = await asyncio.get_running_loop().create_connection(
                    lambda: LiveClient(received), "127.0.0.1", port
                )
                if await client.accepted:
                    found.append(client)
                    if key is not None:
                        client.say({"type": "hello", "key": key})
                    return
            await asyncio.sleep(AGAIN_SECONDS)

    await asyncio.gather(*(open_one() for _ in range(count)))
    if key is not None:
        await wait_for(lambda: received.frames[b"ready"] >= wanted, received)
    return found


async def follow(clients: list[LiveClient], received: Received, queries: Iterable[Mapping[str, Any]]) -> None:
    """Subscribes each client to the query in its place, and returns when every snapshot is there."""
    wanted = received.frames[b"snapshot"]
    for place, (client, query) in enumerate(zip(clients, queries, strict=False), 1):
        client.say({"type": "subscribe", **query})
        wanted += 1
        if place % FOLLOWED_AT_ONCE == 0 or place == len(clients):
            await wait_for(partial(_has_snapshots, received, wanted), received)


def _has_snapshots(received: Received, wanted: int) -> bool:
    return received.frames[b"snapshot"] >= wanted


async def wait_for(condition: Callable[[], bool], received: Received) -> None:
    deadline = perf_counter() + PATIENCE_SECONDS
    while not condition():
        if perf_counter() > deadline or received.frames[b"closed"]:
            raise RuntimeError(f"not so in time: {received.frames}, closed {received.closed}")
        await asyncio.sleep(0.01)
