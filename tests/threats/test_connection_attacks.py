"""THREATS rows B6 and B7, on the wire: bodies too large, and clients too slow, against a real server."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from faults.processes import Service, headers, make_key, running_service
from faults.restarts import UNLIMITED
from faults.waiting import waiting_for
from faults.wire import Connection
from service.bounds import MAX_HEADER_BYTES, MAX_IN_FLIGHT, MAX_JSON_BYTES
from service.server.timeouts import ConnectionTimeouts
from service.web.asgi.deadlines import Deadlines
from service.web.asgi.request_context import allow_body
from tests.threats.conftest import Victim, assert_refused

PREFIX = "f_wire_"
DEADLINES = Deadlines()
TIMEOUTS = ConnectionTimeouts()
IDLE_CONNECTIONS = 500
# Seconds a busy machine may be late by.
SLACK_SECONDS = 30.0
USERS = "/auth-collections/users?limit=1"


@pytest.fixture(scope="module")
def service(mongodb_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(mongodb_uri, tmp_path_factory.mktemp("wire"), DATABASE_PREFIX=PREFIX) as running:
        yield running


@pytest.fixture
async def key(mongodb_uri: str) -> str:
    return (await make_key(mongodb_uri, PREFIX, **UNLIMITED))[1]


def _login(key: str, *fields: str) -> bytes:
    lines = ["POST /auth-collections/login HTTP/1.1", "host: x", f"x-api-key: {key}", "content-type: application/json"]
    return "\r\n".join([*lines, *fields, "", ""]).encode()


async def _opened(
    service: Service, sent: bytes, *, address: str = "127.0.0.1"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port, local_addr=(address, 0))
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, object]]:
    """The status and the JSON of all that comes until the server closes."""
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """All bytes until the server closes. Later writes to it end the connection more roughly."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def _flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, piece: bytes) -> tuple[int, bytes]:
    """Sends `piece` until the server has closed, which must be soon; how many bytes, and how the answer begins."""
    answer = asyncio.create_task(reader.read(12))
    sent, started = 0, time.monotonic()
    with suppress(ConnectionError):
        while not writer.is_closing():
            assert time.monotonic() - started < TIMEOUTS.linger + SLACK_SECONDS
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
            await asyncio.sleep(0.005)
    return sent, await answer


async def test_b6_a_declared_length_too_large_is_refused_before_the_body(service: Service, key: str) -> None:
    reader, writer = await _opened(service, _login(key, f"content-length: {MAX_JSON_BYTES + 1}"))
    started = time.monotonic()
    status, body = await _answer(reader)
    writer.close()
    assert (status, body["code"]) == (413, "too_large")
    assert time.monotonic() - started < TIMEOUTS.linger + SLACK_SECONDS


async def test_b6_an_endless_body_is_refused_and_no_longer_read(service: Service, key: str) -> None:
    reader, writer = await _opened(service, _login(key, "transfer-encoding: chunked"))
    sent, answer = await _flood(reader, writer, b"10000\r\n" + b" " * 0x10000 + b"\r\n")
    assert sent > MAX_JSON_BYTES
    assert answer == b"HTTP/1.1 413"


async def test_b6_a_body_too_large_leaves_the_connection_to_be_read(victim: Victim) -> None:
    response = await victim.raw("/auth-collections/login", b" " * (MAX_JSON_BYTES + 1))
    assert_refused(response, 413)
    # The limit itself is judged by the parser.
    assert_refused(await victim.raw("/auth-collections/login", b" " * MAX_JSON_BYTES), 422)


async def test_b6_an_encoded_body_is_refused(victim: Victim) -> None:
    body = gzip.compress(b'{"email": "a@example.com", "password": "12345678"}')
    for encoding in ("gzip", "deflate", "br", "identity, gzip"):
        assert_refused(await victim.raw("/auth-collections/login", body, content_encoding=encoding), 415)


async def test_b7_whoever_is_slow_is_closed_at_the_deadline(service: Service, key: str) -> None:
    """500 idle connections, slow headers and slow bodies at once, while good requests are served promptly."""
    started = time.monotonic()
    # One address may have 200.
    idle = [await _opened(service, b"", address=f"127.0.1.{n % 5}") for n in range(IDLE_CONNECTIONS)]
    slow_headers = await _opened(service, b"GET /health/live HTTP/1.1\r\nhost: ")
    only_newlines = await _opened(service, b"\r\n")
    slow_body = await _opened(service, _login(key, "content-length: 100"))
    dripping = asyncio.create_task(_drip([slow_headers[1], only_newlines[1], slow_body[1]]))
    good = Connection(service.port)
    slowest = 0.0
    while time.monotonic() - started < TIMEOUTS.headers - 1:
        asked = time.monotonic()
        assert (await good.request("GET", USERS, headers=headers(key)))[0] == 200
        slowest = max(slowest, time.monotonic() - asked)
        await asyncio.sleep(0.3)
    answers = [await _answer(slow_headers[0]), await _answer(slow_body[0])]
    assert {await _rest(reader) for reader, _ in [*idle, only_newlines]} == {b""}
    took = time.monotonic() - started
    dripping.cancel()
    good.close()
    for _, writer in [*idle, slow_headers, only_newlines, slow_body]:
        writer.close()
    assert [(status, body["code"]) for status, body in answers] == [(408, "request_timeout")] * 2
    assert took < max(TIMEOUTS.headers, DEADLINES.body) + SLACK_SECONDS
    # None of them waited for a deadline to make room.
    assert slowest < TIMEOUTS.headers / 2


async def _drip(writers: list[asyncio.StreamWriter]) -> None:
    """One byte a second, which no timeout for silence would notice."""
    while True:
        await asyncio.sleep(1)
        for writer, byte in zip(writers, (b"x", b"\r\n", b" "), strict=True):
            if not writer.is_closing():
                writer.write(byte)


async def test_b7_endless_headers_are_refused(service: Service) -> None:
    reader, writer = await _opened(service, b"GET /health/live HTTP/1.1\r\nx: ")
    sent, answer = await _flood(reader, writer, b"y" * 0x10000)
    assert sent > MAX_HEADER_BYTES
    assert answer == b"HTTP/1.1 431"


async def test_b7_what_is_not_http_is_answered_in_json(service: Service) -> None:
    reader, writer = await _opened(service, b"EHLO example.com\r\n\r\n")
    status, body = await _answer(reader)
    writer.close()
    assert (status, body) == (400, {"detail": "The request is not HTTP/1.1", "code": "bad_request"})


async def test_b7_more_requests_than_may_be_in_flight_are_refused_at_once(victim: Victim) -> None:
    released, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def slow() -> AsyncIterator[bytes]:
        begun.release()
        await released.wait()
        yield b"{}"

    waiting = [asyncio.create_task(victim.raw("/auth-collections/login", slow())) for _ in range(MAX_IN_FLIGHT)]
    # Every one of them has its place before the next asks.
    for _ in waiting:
        await begun.acquire()
    # That it is answered says that it waits for none of them.
    async with waiting_for("the refusal"):
        refused = await victim.as_user("GET")
    alive = await victim.api.http.get("/health/live")
    released.set()
    answers = await asyncio.gather(*waiting)
    assert_refused(refused, 503)
    assert refused.json()["code"] == "busy"
    assert refused.headers["retry-after"] == "1"
    assert alive.status_code == 200
    assert {answer.status_code for answer in answers} == {422}


@pytest.mark.parametrize(
    ("received", "seconds"),
    [
        (0, DEADLINES.body),
        (DEADLINES.least_rate, DEADLINES.body + 1),
        (DEADLINES.least_rate * 3200, DEADLINES.body + 3200),
    ],
)
def test_b7_a_body_may_take_as_long_as_the_slowest_rate_would(received: int, seconds: float) -> None:
    assert allow_body(DEADLINES, received) == seconds
