"""One service process for the tests of a worker, its project emptied between them."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from faults.server import Server, serving

LOOK_SECONDS = 0.25
ABANDONED_MICROSECONDS = 2_000_000


@pytest.fixture(scope="session")
def running_server(mongodb_uri: str, database_prefix: str) -> Iterator[Server]:
    with serving(mongodb_uri, f"{database_prefix}live_") as server:
        yield server


@pytest.fixture
def server(running_server: Server) -> Iterator[Server]:
    yield running_server
    for collection in running_server.database.list_collection_names():
        running_server.database[collection].delete_many({})


@pytest.fixture
def short_transactions(mongodb_uri: str) -> Iterator[None]:
    """The transaction of a process that was killed ends after 2 seconds instead of a minute; those of others go on."""
    is_over = threading.Event()
    ending = threading.Thread(target=_end_abandoned, args=(mongodb_uri, is_over))
    ending.start()
    yield
    is_over.set()
    ending.join()


def _end_abandoned(uri: str, is_over: threading.Event) -> None:
    with MongoClient[dict[str, Any]](uri) as client:
        while not is_over.wait(LOOK_SECONDS):
            stage = {"$currentOp": {"allUsers": True, "idleConnections": True, "idleSessions": True}}
            found = list(client.admin.aggregate([stage]))
            open_ = {each["connectionId"] for each in found if each["type"] == "op" and "connectionId" in each}
            abandoned = [
                {"lsid": each["lsid"]}
                for each in found
                if each["type"] == "idleSession"
                and each.get("connectionId") not in open_
                and each.get("transaction", {}).get("timeInactiveMicros", 0) > ABANDONED_MICROSECONDS
            ]
            if abandoned:
                client.admin.command("killAllSessionsByPattern", abandoned)
