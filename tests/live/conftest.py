"""One service process for the tests of a worker, its project emptied between them."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from faults.server import Server, serving


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
def short_transactions(mongo: MongoClient[dict[str, Any]]) -> Iterator[None]:
    """MongoDB gives up the transaction of a process that was killed after 2 seconds instead of a minute."""
    mongo.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=2)
    yield
    mongo.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=60)
