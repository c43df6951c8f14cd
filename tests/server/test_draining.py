"""A stop in two steps: not ready, yet accepting; then closed, with what was read answered."""

import asyncio
import signal
import time
from pathlib import Path

import httpx2
import pytest

from faults.processes import Service, make_key, running_service

PREFIX = "f_drain_"
# On a busy machine all that happens within it takes some of them.
DRAIN_SECONDS = 6.0


async def _await_not_ready(service: Service) -> float:
    """The seconds until each of 20 answers in a row, which any worker may give, says that the service stops."""
    started = time.monotonic()
    async with httpx2.AsyncClient(base_url=service.url) as client:
        while {(await client.get("/health/ready")).status_code for _ in range(20)} != {503}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return time.monotonic() - started


@pytest.mark.parametrize("workers", [1, 2])
async def test_whoever_asks_during_the_drain_time_is_told_and_served(
    mongodb_uri: str, tmp_path: Path, workers: int
) -> None:
    seconds = str(DRAIN_SECONDS)
    with running_service(
        mongodb_uri, tmp_path, workers=workers, DATABASE_PREFIX=PREFIX, DRAIN_SECONDS=seconds
    ) as service:
        started = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert await _await_not_ready(service) < DRAIN_SECONDS
        async with httpx2.AsyncClient(base_url=service.url) as client:
            answers = [await client.get("/health/live") for _ in range(5)]
        assert {(answer.status_code, answer.headers["connection"]) for answer in answers} == {(200, "close")}
        assert time.monotonic() - started < DRAIN_SECONDS
        service.process.wait(30)
        assert time.monotonic() - started > DRAIN_SECONDS
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"{service.url}/health/live")


async def test_what_was_read_is_answered_though_nothing_is_drained(mongodb_uri: str, tmp_path: Path) -> None:
    """The request waits for its body when the server stops."""
    with running_service(mongodb_uri, tmp_path, DATABASE_PREFIX=PREFIX, DRAIN_SECONDS="0") as service:
        _, key = await make_key(mongodb_uri, PREFIX)
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        head = "POST /auth-collections/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}x-api-key: {key}\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n".encode())
        # The service asks for the body when it waits for it.
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        service.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.5)
        writer.write(b"{}")
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 422")
