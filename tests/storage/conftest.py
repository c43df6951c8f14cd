"""A database of its own for each test of storage, through the driver the service uses."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pymongo import MongoClient

from service.storage.client import Client, Database, connect
from service.storage.files.stored import ensure_file_indexes


@pytest.fixture(scope="session")
async def client(mongodb_uri: str) -> AsyncIterator[Client]:
    async with connect(mongodb_uri) as connected:
        yield connected


@pytest.fixture
async def database(client: Client, mongo: MongoClient[dict[str, Any]], database_prefix: str) -> AsyncIterator[Database]:
    name = f"{database_prefix}storage"
    await ensure_file_indexes(client[name])
    yield client[name]
    mongo.drop_database(name)
