"""Many requests over few connections: a plain HTTP/1.1 client that costs little beside the server it loads."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter

from bench.processes import Server

CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent; `body` is JSON."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def encoded(self) -> bytes:
        headers = [("host", "127.0.0.1"), *self.headers]
        if self.body:
            headers += [("content-type", "application/json"), ("content-length", str(len(self.body)))]
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


# The same again and again, several in turn, or each once: then every call goes on where the one before it ended.
Requests = Request | Sequence[Request] | Iterator[Request]


async def send_many(server: Server, request: Requests, count: int, *, connections: int = CONNECTIONS) -> list[float]:
    """The milliseconds that each answer took.

    Raises RuntimeError for an answer that is not a success.
    """
    if isinstance(request, Iterator):
        left = iter([each.encoded() for each in islice(request, count)])
    else:
        requests = [request] if isinstance(request, Request) else request
        left = islice(cycle([each.encoded() for each in requests]), count)
    found = await asyncio.gather(*(_converse(server, left) for _ in range(connections)))
    return [milliseconds for times in found for milliseconds in times]


async def _converse(server: Server, left: Iterator[bytes]) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    times = []
    try:
        for encoded in left:
            started = perf_counter()
            writer.write(encoded)
            await _read_answer(reader)
            times.append((perf_counter() - started) * 1000)
    finally:
        writer.close()
    return times


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    body = await reader.readexactly(int(length))
    if not head.startswith(b"HTTP/1.1 2"):
        raise RuntimeError(f"{head.splitlines()[0]!r}: {body[:200]!r}")
