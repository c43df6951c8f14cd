"""A proxy between a client and the service that loses, delays and replaces answers, as a network does."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

CONTROL = "/__control/"
ALLOWED = (
    "access-control-allow-origin: *\r\n"
    "access-control-expose-headers: Retry-After, X-Request-ID, ETag\r\n"
    "access-control-allow-headers: *\r\n"
)
PAGE = "<html><body>A gateway wrote this page.</body></html>"
REASONS = {"unavailable": 503, "busy": 503, "rate_limit_exceeded": 429}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Ask = Callable[[dict[str, str]], dict[str, Any]]


@dataclass
class Proxy:
    """`asked` has what clients ask of the harness by its name: `mail`, `totp`. `passed` has all paths that went on."""

    port: int
    asked: dict[str, Ask] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    requests: int = 0
    passed: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    # Open WebSockets, which `cut` resets.
    sockets: set[asyncio.StreamWriter] = field(default_factory=set)
    # A loop holds its tasks weakly.
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection carries one request."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.decode("latin-1").split(" ", 2)
            if target.startswith(CONTROL):
                await self._control(method, urlsplit(target), head, (reader, writer))
            else:
                await self._pass(method, target, head, (reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _control(self, method: str, url: Any, head: bytes, streams: Streams) -> None:
        reader, writer = streams
        name, query = url.path.removeprefix(CONTROL), {key: value[0] for key, value in parse_qs(url.query).items()}
        answer: dict[str, Any] = {}
        if name == "begin" and method == "POST":
            begun = json.loads(await reader.readexactly(_length(head)))
            self.faults, self.requests = list(begun["faults"]), 0
        elif name == "requests":
            answer = {"requests": self.requests}
        elif name == "cut":
            answer = {"sockets": len(self.sockets)}
            for socket in self.sockets:
                socket.transport.abort()
        elif name in self.asked:
            answer = await asyncio.to_thread(self.asked[name], query)
        writer.write(_answer(200, json.dumps(answer)))
        await writer.drain()

    async def _pass(self, method: str, target: str, head: bytes, streams: Streams) -> None:
        is_request = method != "OPTIONS" and b"upgrade: websocket" not in head.lower()
        fault = self.faults.pop(0) if is_request and self.faults else "ok"
        kind, _, value = fault.partition(":")
        own = _own_answer(kind, value)
        if own is not None:
            await _drain_body(head, streams[0])
            streams[1].write(own)
            await streams[1].drain()
            return
        if is_request:
            self.requests += 1
            self.passed.append(f"{method} {target}")
            self.heads.append(head.decode("latin-1"))
        await self._relay(head, streams, kind, float(value or 0))

    async def _relay(self, head: bytes, streams: Streams, kind: str, seconds: float) -> None:
        reader, writer = streams
        there, back = await asyncio.open_connection("127.0.0.1", self.port)
        is_socket = b"upgrade: websocket" in head.lower()
        back.write(head if is_socket else _closing(head))
        if is_socket:
            self.sockets.add(writer)
        sending = asyncio.ensure_future(_copy(reader, back))
        try:
            if kind in {"lost_answer", "slow", "cut"}:
                answer = await there.read()
                await asyncio.sleep(seconds)
                if kind == "lost_answer":
                    writer.transport.abort()
                elif kind == "cut":
                    # Node takes a chunked body without its last chunk for whole where the answer closes the connection.
                    answer = answer.replace(b"connection: close\r\n", b"", 1)
                    start = answer.find(b"\r\n\r\n") + 4
                    writer.write(answer[: (start + len(answer)) // 2])
                    await writer.drain()
                    # The end of the body is missing: the connection is reset.
                    writer.transport.abort()
                else:
                    writer.write(answer)
                    await writer.drain()
                return
            await _copy(there, writer)
        finally:
            self.sockets.discard(writer)
            sending.cancel()
            back.close()


def _closing(head: bytes) -> bytes:
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([lines[0], b"connection: close", *lines[1:]])


def _length(head: bytes) -> int:
    found = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(found[0].split(b":")[1]) if found else 0


async def _drain_body(head: bytes, reader: asyncio.StreamReader) -> None:
    if length := _length(head):
        await reader.readexactly(length)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()


def _own_answer(kind: str, value: str) -> bytes | None:
    match kind:
        case "refuse_503":
            return _refusal("unavailable")
        case "busy":
            return _refusal("busy", "retry-after: 0\r\n")
        case "refuse_429":
            return _refusal("rate_limit_exceeded", f"retry-after: {value}\r\n")
        case "html_502":
            return _answer(502, PAGE, "content-type: text/html\r\n")
        case "html_200":
            return _answer(200, PAGE, "content-type: text/html\r\n")
        case "redirect":
            return _answer(302, "", "location: http://127.0.0.1:9/elsewhere\r\n")
    return None


def _refusal(code: str, more: str = "") -> bytes:
    return _answer(REASONS[code], json.dumps({"detail": f"The proxy says {code}", "code": code}), more)


def _answer(status: int, body: str, more: str = "") -> bytes:
    kind = "" if "content-type" in more else "content-type: application/json\r\n"
    sized = f"content-length: {len(body.encode())}\r\nconnection: close\r\n"
    return f"HTTP/1.1 {status} Said\r\n{ALLOWED}{kind}{more}{sized}\r\n{body}".encode()


@contextmanager
def proxying(port: int, **asked: Ask) -> Iterator[tuple[Proxy, str]]:
    """The proxy before the service at `port`, and its address."""
    proxy, loop, started = Proxy(port, asked), asyncio.new_event_loop(), threading.Event()
    addresses: list[str] = []

    async def begin() -> asyncio.Server:
        server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
        addresses.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        started.set()
        return server

    def run() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(begin())
        loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        # Transports close in the loop's next turn.
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    try:
        yield proxy, addresses[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
