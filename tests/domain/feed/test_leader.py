"""The leader of the feed: one after another, over kills, stalls and gaps (threat rows H1 to H4)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from faults.waiting import until
from service.bounds import MAX_COMMIT_BYTES
from service.domain.feed import leader
from service.domain.feed.leader import FeedLeader, cut
from service.schema.values import now
from service.storage.change_feed import FeedHistoryLost
from service.storage.client import Client, connect
from service.storage.databases import Databases
from service.storage.feed import FeedFenced, FeedWriter, LoggedEvent, ensure_feed, read_feed
from service.storage.feed_stream import FeedChange, FeedPlace, FeedStream, Followed, read_operation

Documents = dict[str, Any]


@pytest.fixture
async def client(mongodb_uri: str) -> AsyncIterator[Client]:
    """A client as the leader has one: the caller bounds its calls."""
    client = connect(mongodb_uri, timeout_ms=None)
    yield client
    await client.close()


@pytest.fixture
async def deployment(client: Client, database_prefix: str, mongo: MongoClient[Documents]) -> AsyncIterator[Databases]:
    """A deployment of its own, whose feed no server leads, with one project that keeps a feed."""
    databases = Databases(client, f"{database_prefix}feed_")
    mongo[databases.system.name]["projects"].insert_one({"_id": "shop", "settings": {"FEED": ["documents.*"]}})
    await ensure_feed(databases)
    yield databases
    for name in (databases.system.name, databases.project("shop").database.name):
        mongo.drop_database(name)


@pytest.fixture
def shop(deployment: Databases, mongo: MongoClient[Documents]) -> Any:
    return mongo[deployment.project("shop").database.name]["c_orders"]


@pytest.fixture
def log(deployment: Databases, mongo: MongoClient[Documents]) -> Any:
    return mongo[deployment.system.name]["feed_log"]


@asynccontextmanager
async def leading(databases: Databases, mongodb_uri: str) -> AsyncIterator[asyncio.Task[None]]:
    """A leader until the end of the context, where it is cancelled wherever it is."""
    leads = FeedLeader(databases, lambda: connect(mongodb_uri, timeout_ms=None), days=7)
    task = asyncio.create_task(leads.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await leads.close()


def order(number: int) -> Documents:
    return {"_id": str(number), "data": {"n": number}, "created_at": now(), "updated_at": now(), "version": 1}


def has(log: Any, wanted: int) -> bool:
    return bool(log.count_documents({}) >= wanted)


def event(cursor: str) -> LoggedEvent:
    return LoggedEvent(cursor, "shop", "rules.updated", now(), {"name": "rules"})


async def test_h1_each_write_is_in_the_log_once_over_changes_of_the_leader(
    deployment: Databases, mongodb_uri: str, shop: Any, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "GATHER_SECONDS", 0.0)
    written = 0
    for turn in range(6):
        async with leading(deployment, mongodb_uri):
            with shop.database.client.start_session() as session, session.start_transaction():
                shop.insert_many([order(written + each) for each in range(10)], session=session)
            shop.insert_many([order(written + 10 + each) for each in range(10)])
            written += 20
            # Each leader ends with another number of its writes committed.
            await until(partial(has, log, written - 3 * turn))
    async with leading(deployment, mongodb_uri):
        await until(lambda: log.count_documents({}) >= written)
    rows = list(log.find(sort=[("_id", 1)]))
    assert [int(row["data"]["id"]) for row in rows] == list(range(written))
    assert (await read_feed(deployment)).epoch > 1


async def test_h2_a_transaction_of_a_dead_leader_holds_up_no_successor(deployment: Databases, client: Client) -> None:
    dead = FeedWriter(client, deployment)
    await dead.begin()
    # The process died between its first write and its commit: MongoDB keeps the transaction and its locks.
    await dead.session.start_transaction()
    await dead.move(FeedPlace(1), None, dead.session)
    successor = FeedWriter(client, deployment)
    record = await successor.begin()
    place = FeedPlace(record.position.moment + 1)
    await successor.commit([event(place.cursor)], place, None, now())
    assert (await read_feed(deployment)).position == place
    with pytest.raises(OperationFailure, match="has been aborted"):
        await dead.session.commit_transaction()


async def test_h3_a_leader_that_was_stalled_writes_nothing(deployment: Databases, client: Client, log: Any) -> None:
    stalled, successor = FeedWriter(client, deployment), FeedWriter(client, deployment)
    await stalled.begin()
    record = await successor.begin()
    place = FeedPlace(record.position.moment + 1)
    for events in ((), [event(place.cursor)]):
        with pytest.raises(FeedFenced):
            await stalled.commit(events, place, None, now())
    assert log.count_documents({}) == 0
    assert (await read_feed(deployment)).position == record.position
    await stalled.close()
    await successor.close()


async def test_h4_lost_history_is_one_gap_and_the_feed_goes_on(
    deployment: Databases, mongodb_uri: str, shop: Any, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, lost = FeedStream.next_changes, [True]

    async def lose_once(stream: FeedStream) -> Sequence[FeedChange]:
        if lost:
            lost.clear()
            raise FeedHistoryLost
        return await read(stream)

    monkeypatch.setattr(FeedStream, "next_changes", lose_once)
    begin = (await read_feed(deployment)).position
    async with leading(deployment, mongodb_uri):
        await until(lambda: log.count_documents({"type": "feed.gap"}))
        shop.insert_one(order(1))
        await until(lambda: log.count_documents({"type": "documents.orders.created"}))
    gap, created = log.find(sort=[("_id", 1)])
    assert gap["data"]["from"] == begin.cursor
    assert gap["data"]["to"] > gap["_id"]
    assert created["_id"] > gap["_id"]


async def test_a_project_that_keeps_a_feed_from_now_on_misses_nothing_from_now_on(
    deployment: Databases, mongodb_uri: str, shop: Any, log: Any, mongo: MongoClient[Documents]
) -> None:
    projects = mongo[deployment.system.name]["projects"]
    other = mongo[deployment.project("other").database.name]
    async with leading(deployment, mongodb_uri):
        for number in range(3):
            other["c_notes"].insert_one(order(number))
        shop.insert_one(order(99))
        await until(lambda: log.find_one({"data.id": "99"}))
        projects.insert_one({"_id": "other", "settings": {"FEED": ["documents.notes.*"]}})
        other["c_notes"].insert_one(order(3))
        other["c_else"].insert_one(order(4))
        await until(lambda: log.find_one({"data.id": "3"}))
        projects.update_one({"_id": "other"}, {"$set": {"settings.FEED": ["documents.else.*"]}})
        other["c_notes"].insert_one(order(5))
        other["c_else"].insert_one(order(6))
        await until(lambda: log.find_one({"data.id": "6"}))
    mongo.drop_database(other.name)
    assert [row["data"]["id"] for row in log.find({"project_id": "other"}, sort=[("_id", 1)])] == ["3", "6"]


@pytest.mark.parametrize(
    ("token", "operation"),
    [
        ("826B049340000000182B022C0100296E5A1004CE", 0),
        ("826B049340000000192B022C01002B026E5A1004", 1),
        ("826B049340000000192B022C01002BFC6E5A1004", 126),
        ("826B049340000000192B022C01002C01766E5A10", 187),
        ("826B049340000000192B022C01002D0186A06E5A", 50_000),
    ],
)
def test_the_number_of_an_operation_is_in_its_resume_token(token: str, operation: int) -> None:
    assert read_operation(token) == operation


@pytest.mark.parametrize("projects", [1, 64, 65])
async def test_mongodb_sends_the_followed_collections_alone(
    client: Client, mongo: MongoClient[Documents], database_prefix: str, projects: int
) -> None:
    prefix = f"{database_prefix}many_"
    named = {f"{prefix}p_{number}": frozenset({"users", "c_"}) for number in range(projects)}
    match = Followed(f"{prefix}system", prefix, named).match()
    pipeline: list[Documents] = [{"$match": match}]
    names = [f"{prefix}p_0.users", f"{prefix}p_0.c_orders", f"{prefix}system.projects"]
    others = [f"{prefix}p_0.sessions", f"{prefix}p_0.uploads", f"{prefix}system.feed_log", f"{prefix}x.users"]
    with mongo.watch(pipeline) as stream:
        for name in (*others, *names):
            database, _, collection = name.partition(".")
            mongo[database][collection].insert_one({})
        found = [next(stream)["ns"] for _ in names]
    for name in (f"{prefix}p_0", f"{prefix}system", f"{prefix}x"):
        mongo.drop_database(name)
    assert [f"{each['db']}.{each['coll']}" for each in found] == names


def test_a_commit_has_a_bound_of_bytes() -> None:
    class Sized:
        def __init__(self, size: int) -> None:
            self.size = size

    half = MAX_COMMIT_BYTES // 2
    parts: Callable[..., list[list[int]]] = lambda *sizes: [  # noqa: E731 - a table
        [each.size for each in part]
        for part in cut([Sized(size) for size in sizes])  # type: ignore[misc]
    ]
    assert parts(half, half, 1) == [[half, half], [1]]
    assert parts(2 * MAX_COMMIT_BYTES, 1) == [[2 * MAX_COMMIT_BYTES], [1]]
    assert parts() == []
