"""Reads and some writes sent as plain commands: the service does the driver's part itself."""

import asyncio
import gc
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import AutoReconnect, NetworkTimeout, NotPrimaryError, PyMongoError

from faults.waiting import waiting_for
from service.errors import DuplicateValue, Invalid, Unavailable
from service.storage.client import MAX_CONNECTIONS, ClientSession, Database, connect
from service.storage.records import Records
from service.storage.transactions import in_transaction

MEBIBYTE = 1024 * 1024


class Refusals:
    """`command` of the driver, which fails the first times that it is called: `are_late` after MongoDB has done it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *errors: PyMongoError, are_late: bool = False) -> None:
        self.calls = 0
        self._errors = list(errors)
        original = AsyncDatabase.command

        async def command(database: Any, *arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self._errors and not are_late:
                raise self._errors.pop(0)
            reply = await original(database, *arguments, **named)
            if self._errors:
                raise self._errors.pop(0)
            return reply

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
        for turns in (1, 4, 16, 64, 256):
            readers = [asyncio.create_task(records.find({"_id": 1})) for _ in range(MAX_CONNECTIONS + 30)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for _ in range(2):
                for reader in readers:
                    reader.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(*readers, return_exceptions=True)
            async with waiting_for("a connection for the next reader"):
                await records.find({"_id": 1})
    # Here, where its warning is expected, and not in whichever test comes next.
    gc.collect()


async def test_a_change_that_may_be_made_twice_is_tried_again(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = Refusals(monkeypatch, AutoReconnect("connection closed"))
    assert await records.update_again({"_id": "a"}, {"$set": {"n": 2}}) == {"_id": "a", "data": {"n": 1}, "n": 2}
    assert await records.update_again({"_id": "b"}, {"$set": {"n": 2}}) is None
    assert refusals.calls == 3


LOST = AutoReconnect("connection closed")
NEW: dict[str, Any] = {"_id": "b", "data": {"n": 2}}


@pytest.mark.parametrize("are_late", [False, True])
async def test_a_new_record_is_stored_once_whether_the_request_or_the_answer_was_lost(
    records: Records, monkeypatch: pytest.MonkeyPatch, mongo: MongoClient[Any], are_late: bool
) -> None:
    refusals = Refusals(monkeypatch, LOST, are_late=are_late)
    await records.insert_new(NEW)
    assert refusals.calls == (3 if are_late else 2), "where it is refused the second time, it is looked for"
    assert _stored(mongo, records) == [{"_id": "a", "data": {"n": 1}}, NEW]


@pytest.mark.parametrize("are_lost", [False, True])
async def test_a_new_record_is_refused_for_the_value_of_another_though_it_was_sent_twice(
    records: Records, monkeypatch: pytest.MonkeyPatch, mongo: MongoClient[Any], are_lost: bool
) -> None:
    await records.collection.create_index("data.n", unique=True)
    refusals = Refusals(monkeypatch, *([LOST] if are_lost else []))
    with pytest.raises(DuplicateValue) as refused:
        await records.insert_new({"_id": "b", "data": {"n": 1}})
    assert refused.value.fields == ("data.n",)
    assert refusals.calls == (3 if are_lost else 1)
    assert _stored(mongo, records) == [{"_id": "a", "data": {"n": 1}}]


async def test_an_id_that_is_taken_is_no_new_record(records: Records, mongo: MongoClient[Any]) -> None:
    with pytest.raises(DuplicateValue):
        await records.insert_new({"_id": "a", "data": {"n": 2}})
    assert _stored(mongo, records) == [{"_id": "a", "data": {"n": 1}}]


@pytest.mark.parametrize("errors", [[NetworkTimeout("timed out")], [LOST, LOST]])
async def test_a_new_record_whose_fate_nobody_knows_is_unavailable(
    records: Records, monkeypatch: pytest.MonkeyPatch, errors: list[PyMongoError]
) -> None:
    refusals = Refusals(monkeypatch, *errors)
    with pytest.raises(Unavailable):
        await records.insert_new(NEW)
    assert refusals.calls == len(errors)


@pytest.mark.parametrize(("code", "is_again"), [(11602, True), (189, True), (64, False)])
async def test_a_write_that_the_others_did_not_get_from_a_primary_that_stepped_down_is_sent_again(
    records: Records, monkeypatch: pytest.MonkeyPatch, code: int, is_again: bool
) -> None:
    """As MongoDB answers then: it has written, and does not know if that lasts. A deadline of its own (64) is no such case."""
    replies = [{"ok": 1, "n": 1, "writeConcernError": {"code": code, "errmsg": "stepped down"}}, {"ok": 1, "n": 1}]

    async def command(*_: Any, **__: Any) -> Any:
        return replies.pop(0)

    monkeypatch.setattr(AsyncDatabase, "command", command)
    if is_again:
        await records.insert_new(NEW)
    else:
        with pytest.raises(Unavailable):
            await records.insert_new(NEW)
    assert len(replies) == (0 if is_again else 1)


async def test_a_new_record_of_a_transaction_goes_with_it(records: Records, mongo: MongoClient[Any]) -> None:
    async def work(session: ClientSession) -> None:
        await Records(records.collection, session).insert_new(NEW)
        raise LookupError

    with pytest.raises(LookupError):
        await in_transaction(records.collection.database.client, work)
    assert _stored(mongo, records) == [{"_id": "a", "data": {"n": 1}}]


def _stored(mongo: MongoClient[Any], records: Records) -> list[Any]:
    return list(mongo[records.collection.database.name][records.collection.name].find(sort=[("_id", 1)]))
