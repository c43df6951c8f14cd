"""Storage calls inside transactions: those of outside, together or not at all, also where the body runs twice."""

import asyncio

import pytest
from pymongo import MongoClient, timeout
from pymongo.errors import OperationFailure

from service.errors import DuplicateValue, ServiceError, Unavailable
from service.storage.client import ClientSession, Database, Document, within
from service.storage.databases import ProjectDatabase
from service.storage.transactions import RETRY_COMMIT


@pytest.fixture
async def project(database: Database) -> ProjectDatabase:
    await database["users"].insert_one({"_id": "ann", "data": {"coins": 10}})
    await database.create_collection("c_things")
    return ProjectDatabase(database)


def spend(coins: int) -> Document:
    return {"$inc": {"data.coins": -coins}}


async def test_every_call_of_records_is_part_of_the_transaction(project: ProjectDatabase) -> None:
    """A write is seen inside by each call, by no reader outside, and is gone when the body fails."""
    seen: list[object] = []

    async def work(bound: ProjectDatabase) -> None:
        users, things = bound.records("users"), bound.records("c_things")
        await things.insert({"_id": "1"})
        await things.insert_many([{"_id": "2"}, {"_id": "3"}])
        assert await things.insert_each([{"_id": "4"}]) == {}
        assert await users.update({"_id": "ann"}, spend(1)) == {"_id": "ann", "data": {"coins": 9}}
        assert await users.update({"_id": "ann"}, spend(1)) == {"_id": "ann", "data": {"coins": 8}}
        assert await users.update_one({"_id": "ann"}, spend(1))
        assert await things.delete({"_id": "2"})
        assert await users.find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 7}}
        rows = [{"_id": "1"}, {"_id": "3"}, {"_id": "4"}]
        assert await things.aggregate([{"$sort": {"_id": 1}}], size=10) == rows
        assert await things.page({"find": "c_things", "sort": {"_id": 1}}, seconds=5) == rows
        assert await things.count_all() == 3
        seen.append(await project.records("c_things").aggregate([], size=10))
        seen.append(await project.records("users").find({"_id": "ann"}))
        raise LookupError

    with pytest.raises(LookupError):
        await project.in_transaction(work)
    assert seen == [[], {"_id": "ann", "data": {"coins": 10}}]
    assert await project.records("c_things").aggregate([], size=10) == []
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 10}}


async def test_a_body_that_meets_another_writer_runs_again_and_counts_once(project: ProjectDatabase) -> None:
    """The conflict reaches the loop as our own error; the second run begins with what the other wrote."""
    runs = 0

    async def work(bound: ProjectDatabase) -> int:
        nonlocal runs
        runs += 1
        before = await bound.records("users").find({"_id": "ann"})
        assert before is not None
        if runs == 1:
            await project.records("users").update({"_id": "ann"}, spend(5))
        await bound.records("c_things").insert({"_id": "bought"})
        await bound.records("users").update({"_id": "ann"}, spend(1))
        return int(before["data"]["coins"])

    assert await project.in_transaction(work) == 5
    assert runs == 2
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 4}}
    assert await project.records("c_things").aggregate([], size=10) == [{"_id": "bought"}]


async def test_fifty_transactions_on_one_record_all_happen(project: ProjectDatabase) -> None:
    async def work(bound: ProjectDatabase) -> None:
        found = await bound.records("users").find({"_id": "ann"})
        assert found is not None
        await bound.records("users").update({"_id": "ann"}, {"$set": {"data.coins": found["data"]["coins"] + 1}})

    await asyncio.gather(*(project.in_transaction(work) for _ in range(50)))
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 60}}


@pytest.mark.parametrize("call", ["insert", "insert_many", "insert_each"])
async def test_a_refused_value_ends_the_transaction_at_once(project: ProjectDatabase, call: str) -> None:
    runs = 0

    async def work(bound: ProjectDatabase) -> None:
        nonlocal runs
        runs += 1
        await bound.records("c_things").insert({"_id": "1"})
        record = {"_id": "ann"}
        await getattr(bound.records("users"), call)(record if call == "insert" else [record])

    with pytest.raises(DuplicateValue):
        await project.in_transaction(work)
    assert runs == 1
    assert await project.records("c_things").aggregate([], size=10) == []


async def test_a_transaction_within_one_is_a_part_of_it(project: ProjectDatabase) -> None:
    async def inner(bound: ProjectDatabase) -> None:
        await bound.records("users").update({"_id": "ann"}, spend(1))

    async def outer(bound: ProjectDatabase) -> None:
        await bound.in_transaction(inner)
        raise LookupError

    with pytest.raises(LookupError):
        await project.in_transaction(outer)
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 10}}


async def test_a_commit_whose_end_is_unknown_is_repeated_and_the_body_is_not(
    project: ProjectDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, commits = 0, 0
    commit = ClientSession.commit_transaction

    async def commit_and_forget(session: ClientSession) -> None:
        nonlocal commits
        commits += 1
        await commit(session)
        if commits == 1:
            raise OperationFailure("lost", 91, {"errorLabels": [RETRY_COMMIT]})

    async def work(bound: ProjectDatabase) -> None:
        nonlocal runs
        runs += 1
        await bound.records("users").update({"_id": "ann"}, spend(1))

    monkeypatch.setattr(ClientSession, "commit_transaction", commit_and_forget)
    await project.in_transaction(work)
    assert (runs, commits) == (1, 2)
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 9}}


async def test_a_conflict_that_does_not_end_is_given_up_at_the_deadline(project: ProjectDatabase) -> None:
    """Another transaction holds the record; the time of an enclosing `within` is the shorter one."""

    async def work(bound: ProjectDatabase) -> None:
        await bound.records("users").update({"_id": "ann"}, spend(1))

    async def hold(bound: ProjectDatabase) -> None:
        await work(bound)
        with within(0.3), pytest.raises(Unavailable):
            await project.in_transaction(work)

    await project.in_transaction(hold)
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 9}}


async def test_a_cancelled_body_locks_nothing(project: ProjectDatabase) -> None:
    reached = asyncio.Event()

    async def work(bound: ProjectDatabase) -> None:
        await bound.records("users").update({"_id": "ann"}, spend(1))
        reached.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(project.in_transaction(work))
    await reached.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    with within(2):
        await project.records("users").update({"_id": "ann"}, spend(2))
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 8}}


@pytest.mark.parametrize("ends", ["its time is over", "cancelled", "cancelled twice"])
async def test_what_a_transaction_has_locked_is_free_however_it_ends(
    project: ProjectDatabase, mongo: MongoClient[Document], ends: str
) -> None:
    """Else the record stays locked until MongoDB gives the transaction up, after a minute."""
    locked = asyncio.Event()

    async def work(bound: ProjectDatabase) -> None:
        await bound.records("users").update({"_id": "ann"}, spend(1))
        locked.set()
        await asyncio.sleep(60)
        await bound.records("users").find({"_id": "ann"})

    async def late() -> None:
        with within(1.0):
            await project.in_transaction(work)

    task = asyncio.ensure_future(late() if ends == "its time is over" else project.in_transaction(work))
    await locked.wait()
    if ends != "its time is over":
        task.cancel()
    if ends == "cancelled twice":
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises((ServiceError, asyncio.CancelledError)):
        await task
    # Another client: the same one might end the transaction by using its session again.
    users = mongo[project.database.name]["users"]
    with timeout(20):
        assert (await asyncio.to_thread(users.update_one, {"_id": "ann"}, spend(3))).modified_count
    assert await project.records("users").find({"_id": "ann"}) == {"_id": "ann", "data": {"coins": 7}}
