"""Reads that are sent as plain commands: what the driver's cursors would have seen to is seen to here."""

import asyncio
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import AutoReconnect, NetworkTimeout, NotPrimaryError, PyMongoError

from service.errors import Invalid, Unavailable
from service.storage.client import MAX_CONNECTIONS, Database, connect
from service.storage.records import Records

MEBIBYTE = 1024 * 1024


class Refusals:
    """`command` of the driver, which fails the first times that it is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *errors: PyMongoError) -> None:
        self.calls = 0
        self._errors = list(errors)
        original = AsyncDatabase.command

        async def command(database: Any, *arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self._errors:
                raise self._errors.pop(0)
            return await original(database, *arguments, **named)

        monkeypatch.setattr(AsyncDatabase, "command", command)


def in_order(limit: int) -> dict[str, Any]:
    return {"find": "things", "sort": {"_id": 1}, "limit": limit, "batchSize": limit + 1}


@pytest.fixture
async def records(database: Database) -> Records:
    records = Records(database["things"])
    await records.insert({"_id": "a", "data": {"n": 1}})
    return records


@pytest.mark.parametrize(
    "error", [AutoReconnect("connection closed"), NotPrimaryError("stepped down", {"code": 10107})]
)
async def test_a_read_is_tried_again_after_a_lost_connection(
    records: Records, monkeypatch: pytest.MonkeyPatch, error: PyMongoError
) -> None:
    refusals = Refusals(monkeypatch, error)
    assert await records.find({"_id": "a"}) == {"_id": "a", "data": {"n": 1}}
    assert refusals.calls == 2


async def test_a_page_is_tried_again_after_a_lost_connection(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = Refusals(monkeypatch, AutoReconnect("connection closed"))
    assert await records.page(in_order(5) | {"projection": {"_id": 1}}, seconds=5) == [{"_id": "a"}]
    assert refusals.calls == 2


async def test_a_read_is_tried_twice_at_most(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = Refusals(monkeypatch, *(AutoReconnect("connection closed") for _ in range(5)))
    with pytest.raises(Unavailable):
        await records.find({"_id": "a"})
    assert refusals.calls == 2


async def test_a_read_whose_time_is_over_is_not_tried_again(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = Refusals(monkeypatch, NetworkTimeout("timed out"))
    with pytest.raises(Unavailable):
        await records.find({"_id": "a"})
    assert refusals.calls == 1


async def test_a_page_that_one_reply_does_not_hold_is_refused(records: Records, mongo: MongoClient[Any]) -> None:
    for number in range(18):
        await records.insert({"_id": f"large{number}", "data": {"text": "x" * MEBIBYTE}})
    with mongo[records.collection.database.name][records.collection.name].find(batch_size=2) as left_open:
        next(left_open)
        assert _open_cursors(mongo, records) == 1
    with pytest.raises(Invalid) as refused:
        await records.page(in_order(19), seconds=5)
    assert refused.value.violations[0].loc == ("query", "limit")
    assert "ask for fewer" in refused.value.violations[0].msg
    assert _open_cursors(mongo, records) == 0
    assert len(await records.page(in_order(10), seconds=5)) == 10


def _open_cursors(mongo: MongoClient[Any], records: Records) -> int:
    """Those of this collection; other tests have some in theirs."""
    of_records = {"type": "idleCursor", "ns": records.collection.full_name}
    stages: list[dict[str, Any]] = [{"$currentOp": {"idleCursors": True, "allUsers": True}}, {"$match": of_records}]
    return len(mongo.admin.aggregate(stages).to_list())


# A connection that is cancelled while the driver makes it is left to the garbage collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning")
async def test_readers_who_are_cancelled_twice_leave_the_connections_to_others(mongodb_uri: str) -> None:
    """As whoever is late and cleans up too slowly is. More of them than connections, so that some wait for one."""
    async with connect(mongodb_uri) as client:
        records = Records(client["nothing"]["things"])
        for _ in range(5):
            readers = [asyncio.create_task(records.find({"_id": 1})) for _ in range(MAX_CONNECTIONS + 30)]
            await asyncio.sleep(0.004)
            for _ in range(2):
                for reader in readers:
                    reader.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(*readers, return_exceptions=True)
            async with asyncio.timeout(30):
                await records.find({"_id": 1})


async def test_a_change_that_may_be_made_twice_is_tried_again(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = Refusals(monkeypatch, AutoReconnect("connection closed"))
    assert await records.update_again({"_id": "a"}, {"$set": {"n": 2}}) == {"_id": "a", "data": {"n": 1}, "n": 2}
    assert await records.update_again({"_id": "b"}, {"$set": {"n": 2}}) is None
    assert refusals.calls == 3
