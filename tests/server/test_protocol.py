"""THREATS row N19: what is left of a connection that has ended."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from starlette.responses import PlainTextResponse
from uvicorn import Config
from uvicorn.server import ServerState

from faults.waiting import until
from service.bounds import MAX_HEADERS
from service.server.connections import ConnectionRegister
from service.server.protocol import TimedConnection
from service.server.timeouts import ConnectionTimeouts

HEAD = b"POST / HTTP/1.1\r\nhost: x\r\n"
ENDS = {
    "answered": (HEAD + b"content-length: 0\r\n\r\n", b"200 OK"),
    "answered without its body": (HEAD + b"content-length: 9\r\n\r\n", b"200 OK"),
    "refused": (HEAD + b"a: b\r\n" * (MAX_HEADERS + 1) + b"\r\n", b"431 Request"),
}


@asynccontextmanager
async def serving(connect: Callable[[], TimedConnection]) -> AsyncIterator[int]:
    """Serves and yields the port. Cycles stay meanwhile, as they do in a server, in which the collector runs seldom."""
    server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
    gc.disable()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        gc.enable()
        server.close()


@pytest.mark.parametrize(("request_", "answer"), ENDS.values(), ids=ENDS.keys())
async def test_n19_a_connection_that_ended_waits_for_no_collector(request_: bytes, answer: bytes) -> None:
    config = Config(PlainTextResponse("ok"), log_config=None)
    config.load()
    register, made = ConnectionRegister(10), list[weakref.ref[TimedConnection]]()

    def connect() -> TimedConnection:
        connection = TimedConnection(config, ServerState(), {}, timeouts=ConnectionTimeouts(), register=register)
        made.append(weakref.ref(connection))
        return connection

    async with serving(connect) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_)
        assert answer in await reader.readuntil(b"\r\n")
        assert made[0]() is not None
        writer.close()
        await until(lambda: made[0]() is None)
