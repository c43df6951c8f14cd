"""Posts to real receivers on the loopback: the connection step, TLS, and receivers that misbehave."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from service.outbound.destinations import Destinations, UrlRefused
from service.outbound.names import Names
from service.outbound.posting import PostAnswer, Poster
from tests.outbound.conftest import LOOPBACK, answering, receiving

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
PATIENT = 60.0
Certificates = Callable[..., Path]


@asynccontextmanager
async def posting(
    destinations: Destinations = LOOPBACK,
    answers: list[list[str]] | None = None,
    *,
    closed: tuple[tuple[str, int], ...] = (),
    kept: float = 60.0,
    ca_file: Path | None = None,
) -> AsyncIterator[Poster]:
    """The resolver gives one of `answers` after the other for each look-up; the last one for ever."""
    left = answers if answers is not None else [["127.0.0.1"]]

    def look_up(host: str) -> list[str]:
        if not left[0]:
            raise OSError
        return left.pop(0) if len(left) > 1 else left[0]

    names = Names(look_up, kept=kept)
    poster = Poster(destinations, lambda: closed, names=names, ca_file=ca_file)
    try:
        yield poster
    finally:
        await poster.close()


async def post(poster: Poster, port: int, *, scheme: str = "http", seconds: float = PATIENT) -> PostAnswer:
    return await poster.post(f"{scheme}://receiver.test:{port}/hook", {"x-own": "1"}, b"{}", seconds=seconds)


async def test_a_post_has_the_name_as_host_and_keeps_its_connection() -> None:
    async with receiving(answering(OK)) as receiver, posting() as poster:
        first, second = await post(poster, receiver.port), await post(poster, receiver.port)
    assert (first.status, first.error, first.text, first.is_success, second.is_success) == (200, None, "ok", True, True)
    assert receiver.connections == 1
    head = receiver.heads[0].lower()
    assert head.startswith("post /hook http/1.1")
    assert f"host: receiver.test:{receiver.port}" in head
    assert "x-own: 1" in head


@pytest.mark.parametrize("second", [["10.0.0.1"], ["127.0.0.1"], ["169.254.169.254"]])
async def test_h8_a_name_that_answers_public_then_private_is_resolved_once(second: list[str]) -> None:
    """The first answer was good when the URL was saved; the next one, at the connection, is judged itself."""
    async with (
        receiving(answering(OK)) as receiver,
        posting(Destinations(), [["93.184.215.14"], second], kept=0.0) as poster,
    ):
        await poster.check(f"https://receiver.test:{receiver.port}/")
        answer = await post(poster, receiver.port, scheme="https")
    assert (answer.error, receiver.connections) == ("address_refused", 0)


async def test_h8_only_the_checked_address_is_connected() -> None:
    """A second look-up would lead elsewhere; none is made between the check and the connection."""
    async with receiving(answering(OK)) as receiver, posting(answers=[["127.0.0.1"], ["10.0.0.1"]], kept=0.0) as poster:
        assert (await post(poster, receiver.port)).is_success
        assert (await post(poster, receiver.port)).is_success
    assert receiver.connections == 1


async def test_h8_public_and_private_addresses_together_are_refused() -> None:
    mixed = [["93.184.215.14", "127.0.0.1"]]
    async with receiving(answering(OK)) as receiver, posting(Destinations(), mixed) as poster:
        answer = await post(poster, receiver.port, scheme="https")
        with pytest.raises(UrlRefused):
            await poster.check(f"https://receiver.test:{receiver.port}/")
    assert (answer.error, receiver.connections) == ("address_refused", 0)


@pytest.mark.parametrize("member", ["127.0.0.1", "127.0.0.9"])
async def test_h7_mongodb_itself_is_refused_within_an_opened_network(member: str) -> None:
    async with receiving(answering(OK)) as receiver, posting(closed=((member, receiver.port),)) as poster:
        answer = await post(poster, receiver.port)
    assert (answer.error, receiver.connections) == ("address_refused", 0)


async def test_a_name_without_an_address_is_accepted_when_saved_and_fails_when_sent() -> None:
    async with posting(answers=[[]]) as poster:
        await poster.check("https://receiver.test/")
        assert (await post(poster, 1_024)).error == "dns"


async def test_an_address_after_one_that_refuses_is_tried() -> None:
    async with receiving(answering(OK)) as receiver, posting(answers=[["127.0.0.2", "127.0.0.1"]]) as poster:
        assert (await post(poster, receiver.port)).is_success


async def test_h9_redirects_are_not_followed_and_proxies_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\nrefresh: 0; url=/x\r\ncontent-length: 0\r\n\r\n"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with receiving(answering(moved)) as receiver, posting() as poster:
        answer = await post(poster, receiver.port)
    assert (answer.status, answer.error, answer.is_success, receiver.connections) == (302, "redirect", False, 1)


@pytest.mark.parametrize(
    ("raw", "status", "error"),
    [
        (b"HTTP/1.1 500 Oh\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n", 500, None),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", None, "bad_response"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", None, "bad_response"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000, None, "bad_response"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 300 + OK, 200, None),
    ],
    ids=["500", "101", "garbage", "endless head", "300 x 1xx"],
)
async def test_h5_answers_that_are_none(raw: bytes, status: int | None, error: str | None) -> None:
    async with receiving(answering(raw)) as receiver, posting() as poster:
        answer = await post(poster, receiver.port)
    assert (answer.status, answer.error) == (status, error)
    assert answer.retry_after == ("9" if status == 500 else None)


async def test_h5_an_answer_without_an_end_is_read_to_its_bound() -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readexactly(2)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
        while sent < 1_000:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 1

    async with receiving(flood) as receiver, posting() as poster:
        answer = await post(poster, receiver.port)
    assert (answer.is_success, len(answer.text)) == (True, 1_024)
    assert sent < 500


async def test_h5_a_receiver_that_hangs_or_trickles_is_left_at_the_deadline() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while not reader.at_eof():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with receiving(hang) as silent, receiving(trickle) as slow, posting() as poster:
        answers = await asyncio.gather(*(post(poster, each.port, seconds=0.5) for each in (silent, slow)))
    assert [answer.error for answer in answers] == ["timeout", "timeout"]
    assert not any(answer.is_success for answer in answers)


async def test_a_connection_that_ends_before_the_answer_is_closed() -> None:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        raise OSError

    async with receiving(leave) as receiver, posting() as poster:
        assert (await post(poster, receiver.port)).error == "closed"
        port = receiver.port
    async with posting() as poster:
        assert (await post(poster, port)).error == "connect"


def serve_by(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_h10_a_good_certificate_of_the_added_authority_is_sent_to(certificates: Certificates) -> None:
    good = certificates("receiver.test")
    async with receiving(answering(OK), serve_by(good)) as receiver, posting(ca_file=good) as poster:
        assert (await post(poster, receiver.port, scheme="https")).is_success


@pytest.mark.parametrize("case", ["expired", "foreign", "self-signed", "plain"])
async def test_h10_a_bad_certificate_is_sent_nothing(certificates: Certificates, case: str) -> None:
    served = {"expired": ("receiver.test", -1), "foreign": ("other.test", 1), "self-signed": ("receiver.test", 2)}
    path = certificates(*served.get(case, ("receiver.test", 1)))
    trusted = certificates("receiver.test") if case == "self-signed" else path
    context = None if case == "plain" else serve_by(path)
    async with receiving(answering(OK), context) as receiver, posting(ca_file=trusted) as poster:
        answer = await post(poster, receiver.port, scheme="https", seconds=0.5 if case == "plain" else PATIENT)
    assert receiver.heads == []
    assert answer.error == ("timeout" if case == "plain" else "tls")


async def test_h10_tls_1_1_is_refused(certificates: Certificates) -> None:
    good = certificates("receiver.test")
    context = serve_by(good)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with receiving(answering(OK), context) as receiver, posting(ca_file=good) as poster:
        answer = await post(poster, receiver.port, scheme="https")
    assert (answer.error, receiver.heads) == ("tls", [])
