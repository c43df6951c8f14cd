"""A server in this process, and clients that follow queries of it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from faults.waiting import PATIENCE_SECONDS, waiting_for
from service.app import Application
from service.server.connections import ConnectionRegister
from service.server.draining import DrainingServer, ServerConfig
from service.server.protocol import TimedConnection
from service.server.run import UVICORN_OPTIONS
from service.server.timeouts import ConnectionTimeouts

SECONDS = PATIENCE_SECONDS

Frame = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A server that listens at `address`, a host and a port."""

    address: str
    server: DrainingServer


@asynccontextmanager
async def serving(app: Application) -> AsyncIterator[Served]:
    """The application under the server that it always runs under."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        register = ConnectionRegister(1_000)
        config = ServerConfig(
            app,
            http=partial(TimedConnection, timeouts=ConnectionTimeouts(), register=register),  # type: ignore[arg-type]
            lifespan="off",
            timeout_graceful_shutdown=30,
            **UVICORN_OPTIONS,
        )
        server = DrainingServer(config)
        config.load()
        # Signals are of the process of the tests.
        task = asyncio.create_task(server._serve([listener]))  # noqa: SLF001
        while not server.started:  # noqa: ASYNC110 - a flag of uvicorn's
            await asyncio.sleep(0.01)
        try:
            yield Served(f"127.0.0.1:{listener.getsockname()[1]}", server)
        finally:
            server.should_exit = True
            await task


class Live:
    """One socket. Frames are asked for by what they are, one after the other."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def next(self) -> Frame:
        """The next frame but ticks."""
        async with waiting_for("the next frame"):
            while True:
                frame: Frame = json.loads(await self.connection.recv())
                if frame["type"] != "tick":
                    return frame

    async def expect(self, type_: str, id_: str | None = None) -> Frame:
        frame = await self.next()
        assert frame["type"] == type_, frame
        assert id_ is None or frame["id"] == id_, frame
        return frame

    async def hello(self, **credential: str) -> Frame:
        await self.send(type="hello", **credential)
        return await self.expect("ready")

    async def subscribe(self, collection: str, id_: str = "m", **options: Any) -> Frame:
        """The snapshot."""
        await self.send(type="subscribe", id=id_, collection=collection, **options)
        return await self.expect("snapshot", id_)

    async def refused(self, collection: str, id_: str = "m", **options: Any) -> Frame:
        await self.send(type="subscribe", id=id_, collection=collection, **options)
        return await self.expect("closed", id_)

    async def change(self, id_: str = "m") -> Frame:
        """The one change of the next frame."""
        frame = await self.expect("changes", id_)
        (change,) = frame["changes"]
        assert isinstance(change, dict)
        return change

    async def nothing(self) -> None:
        """Nothing came until now: what is asked for last is answered next."""
        await self.send(type="ping")
        await self.expect("pong")

    async def closed(self) -> tuple[int, str]:
        """The code and the reason of the end, whatever comes before it."""
        try:
            async with waiting_for("the end of the socket"):
                while True:
                    await self.connection.recv()
        except ConnectionClosed as end:
            return (end.rcvd.code, end.rcvd.reason) if end.rcvd is not None else (0, "")


@asynccontextmanager
async def opened(address: str, **headers: str) -> AsyncIterator[Live]:
    async with connect(
        f"ws://{address}/realtime", additional_headers=headers, compression=None, max_size=None
    ) as connection:
        yield Live(connection)


class Deaf:
    """A client that says hello, and then sends what it likes and reads nothing. The kernel takes little for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def say(self, **message: Any) -> None:
        await self.send(TEXT, json.dumps(message).encode())

    async def send(self, opcode: int, payload: bytes, *, times: int = 1) -> None:
        """Whole frames, masked with zeros (RFC 6455 section 5.2)."""
        size = len(payload)
        length = bytes((128 | size,)) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self._writer.write((bytes((0x80 | opcode,)) + length + bytes(4) + payload) * times)
        await self._writer.drain()

    async def gone(self) -> None:
        """Reads what there is, until the connection has ended."""
        with suppress(ConnectionError):
            while await self.reader.read(1_048_576):
                pass


TEXT, PING = 1, 9
HANDSHAKE = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: {}==\r\n"


@asynccontextmanager
async def requested(address: str, path: str, headers: str) -> AsyncIterator[Deaf]:
    """A GET whose answer is read up to the end of its headers, and no further."""
    host, _, port = address.partition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=connection, limit=4_096)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        yield Deaf(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def deaf(address: str, **credential: str) -> AsyncIterator[Deaf]:
    async with requested(address, "/realtime", HANDSHAKE.format("A" * 22)) as client:
        await client.say(type="hello", **credential)
        yield client
