"""The service's replacements of the driver's functions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic
from urllib.parse import urlsplit

import pytest

from service.errors import Unavailable
from service.observe.metrics import CONNECTION_WAITS
from service.storage import client as clients
from service.storage.client import Client, connect, within
from service.storage.records import Records

SECONDS = 0.5


async def test_the_wait_for_a_connection_is_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever names the driver gives to what it reports: here every wait is a long one."""
    monkeypatch.setattr(clients, "LONG_WAIT_SECONDS", -1.0)
    before = _waits()
    await Records(client["calls"]["waits"]).find({"_id": "nobody"})
    assert _waits() > before


def _waits() -> float:
    samples = [sample for metric in CONNECTION_WAITS.collect() for sample in metric.samples]
    return next(float(sample.value) for sample in samples if sample.name.endswith("_total"))


class Line:
    """A connection to MongoDB that can go silent, as where a cable is cut: nothing comes, and nothing ends."""

    def __init__(self, uri: str) -> None:
        self._address = urlsplit(uri)
        self.is_cut = False

    def address_at(self, port: int) -> str:
        """The URI of this line, with the credentials of the real one."""
        user, at, _ = self._address.netloc.rpartition("@")
        return self._address._replace(netloc=f"{user}{at}127.0.0.1:{port}").geturl()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection(self._address.hostname, self._address.port)
        try:
            await asyncio.gather(self._copy(reader, forth), self._copy(back, writer))
        finally:
            forth.close()
            writer.close()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                if not self.is_cut:
                    target.write(data)
        target.close()


@pytest.fixture
async def line(mongodb_uri: str) -> Line:
    return Line(mongodb_uri)


@pytest.fixture
async def distant(line: Line) -> AsyncIterator[Client]:
    async with await asyncio.start_server(line.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(line.address_at(port)) as client:
            yield client


async def test_a_call_on_a_silent_connection_ends_in_its_time(distant: Client, line: Line) -> None:
    records = Records(distant["calls"]["silent"])
    assert await records.find({"_id": "nobody"}) is None
    line.is_cut = True
    started = monotonic()
    with pytest.raises(Unavailable), within(SECONDS):
        await records.find({"_id": "nobody"})
    assert monotonic() - started < 60 * SECONDS


async def test_after_silence_the_next_call_gets_another_connection(distant: Client, line: Line) -> None:
    records = Records(distant["calls"]["silent"])
    assert await records.find({"_id": "nobody"}) is None
    line.is_cut = True
    with pytest.raises(Unavailable), within(SECONDS):
        await records.find({"_id": "nobody"})
    line.is_cut = False
    assert await records.find({"_id": "nobody"}) is None


async def test_a_call_that_is_cancelled_leaves_no_reply_to_the_next(distant: Client) -> None:
    records = Records(distant["calls"]["many"])
    await records.put({"_id": "one"})
    for turns in range(12):
        task = asyncio.create_task(records.find({"_id": "one"}))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert await records.find({"_id": "another"}) is None
