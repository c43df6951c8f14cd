"""THREATS rows N19 and N27, on the wire: headers and trailers in quantity, and trailers that would be headers."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from faults.processes import Service, make_key, running_service
from faults.restarts import UNLIMITED
from service.bounds import MAX_HEADER_BYTES, MAX_HEADERS

PREFIX = "f_headers_"
REPETITIONS = 50
MEGABYTE = 1_000_000
# The largest flood that earlier versions accepted for ever was 23 MB of headers, and 370 MB of trailers.
FLAT_BYTES = 25 * MEGABYTE
HEAD = b"GET /health/live HTTP/1.1\r\nhost: x\r\n"
CHUNKED = b"POST /auth-collections/login HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
MANY_HEADERS = HEAD + b"a:b\r\n" * 200_000 + b"\r\n"
MANY_TRAILERS = CHUNKED + b"\r\n2\r\n{}\r\n0\r\n" + b"a:b\r\n" * 4_000_000 + b"\r\n"


@pytest.fixture(scope="module")
def service(mongodb_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("headers")
    with running_service(mongodb_uri, folder, DATABASE_PREFIX=PREFIX, TRUSTED_PROXIES="127.0.0.1") as running:
        yield running


async def _send(service: Service, request: bytes) -> tuple[int, dict[str, object]]:
    """The status and the JSON of the answer to `request`, of which the server may not want to read all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    answer = asyncio.create_task(reader.readuntil(b"}"))
    with suppress(ConnectionError):
        for begin in range(0, len(request), MEGABYTE):
            if answer.done():
                break
            writer.write(request[begin : begin + MEGABYTE])
            await writer.drain()
    head, _, body = (await answer).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split(b" ")[1]), json.loads(body)


@pytest.mark.parametrize("request_", [MANY_HEADERS, MANY_TRAILERS], ids=["headers", "trailers"])
async def test_n19_a_flood_of_headers_or_trailers_is_refused_and_leaves_nothing(
    service: Service, request_: bytes
) -> None:
    refusal = (431, {"detail": "The headers are too large", "code": "headers_too_large"})
    assert await _send(service, request_) == refusal
    before = service.memory()
    for _ in range(REPETITIONS):
        assert await _send(service, request_) == refusal
    assert service.memory() - before < FLAT_BYTES


async def test_n19_a_header_or_trailer_without_an_end_is_refused(service: Service, mongodb_uri: str) -> None:
    _, key = await make_key(mongodb_uri, PREFIX, **UNLIMITED)
    waiting = CHUNKED + b"content-type: application/json\r\nx-api-key: %s\r\n\r\n0\r\nx: " % key.encode()
    for begin in (HEAD + b"x: ", waiting):
        assert (await _send(service, begin + b"y" * 20 * MEGABYTE))[0] == 431


async def test_n19_what_is_within_the_bounds_is_answered(service: Service) -> None:
    others = b"".join(b"x-%d: y\r\n" % number for number in range(MAX_HEADERS - 1))
    assert (await _send(service, HEAD + others + b"\r\n"))[0] == 200
    assert (await _send(service, HEAD + others + b"one: more\r\n\r\n"))[0] == 431
    long = b"x: " + b"y" * (MAX_HEADER_BYTES - 100)
    assert (await _send(service, HEAD + long + b"\r\n\r\n"))[0] == 200
    assert (await _send(service, HEAD + long + b"z" * 100 + b"\r\n\r\n"))[0] == 431
    assert (await _send(service, b"GET /" + b"x" * MAX_HEADER_BYTES + b" HTTP/1.1\r\n\r\n"))[0] == 431


async def test_n19_a_body_of_many_small_chunks_is_no_flood(service: Service) -> None:
    """The framing of each byte is six times as long as the byte, and is no trailer."""
    body = b"".join(b"1\r\n \r\n" for _ in range(3 * MAX_HEADER_BYTES)) + b"0\r\nx-trailer: y\r\n\r\n"
    assert (await _send(service, CHUNKED + b"content-type: application/json\r\n\r\n" + body))[0] in {401, 422}


async def test_n27_a_trailer_is_no_credential(service: Service, mongodb_uri: str) -> None:
    _, key = await make_key(mongodb_uri, PREFIX, **UNLIMITED)
    body = b'{"email": "nobody@example.com", "password": "12345678"}'
    begin = CHUNKED + b"content-type: application/json\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    credential = b"x-api-key: %s\r\n" % key.encode()
    assert (await _send(service, begin + b"\r\n" + chunk + credential + b"\r\n"))[0] == 401
    assert (await _send(service, begin + credential + b"\r\n" + chunk + b"\r\n"))[0] == 404


async def test_n27_a_trailer_is_no_address_of_a_client(service: Service, mongodb_uri: str) -> None:
    _, key = await make_key(mongodb_uri, PREFIX, **UNLIMITED | {"LOGIN_LIMIT": "3"})
    body = b'{"email": "nobody@example.com", "password": "12345678"}'
    head = CHUNKED + b"content-type: application/json\r\nx-api-key: %s\r\nx-forwarded-for: 203.0.113.9\r\n\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    requests = [head % key.encode() + chunk + b"x-forwarded-for: 198.51.100.%d\r\n\r\n" % n for n in range(5)]
    assert [(await _send(service, request))[0] for request in requests] == [404, 404, 404, 429, 429]
