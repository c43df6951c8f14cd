"""One real mongod for the whole run, one database prefix for each test worker, emptied between tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pymongo import MongoClient

from service.storage.embedded import embedded_mongodb


@pytest.fixture(scope="session")
def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The mongod of this run; parallel test workers share it through its folder."""
    base = tmp_path_factory.getbasetemp()
    with embedded_mongodb(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) as uri:
        yield uri


@pytest.fixture(scope="session")
def database_prefix() -> str:
    return f"t_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_"


@pytest.fixture(scope="session")
def mongo(mongodb_uri: str) -> Iterator[MongoClient[dict[str, object]]]:
    """A plain synchronous client with which tests look at what was really stored."""
    with MongoClient[dict[str, object]](mongodb_uri) as client:
        yield client


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")
