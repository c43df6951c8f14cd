"""A feed whose leader looks often, and a reader of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pymongo import MongoClient

from faults.waiting import until
from service.domain.feed import leader, reader
from service.services import Services
from tests.conftest import Api

Read = Callable[..., Awaitable[list[dict[str, Any]]]]
SCHEMA = {"status": {"type": "string"}, "total": {"type": "integer"}}


@pytest.fixture(autouse=True)
async def leading(monkeypatch: pytest.MonkeyPatch, mongo: MongoClient[dict[str, Any]], services: Services) -> None:
    """The process leads the feed before a test writes anything."""
    for module, name in ((leader, "LOOK_SECONDS"), (leader, "GATHER_SECONDS"), (reader, "LOOK_SECONDS")):
        monkeypatch.setattr(module, name, 0.02)
    feed = mongo[services.base.databases.system.name]["feed"]
    await until(lambda: feed.find_one({"epoch": {"$gt": 0}}))


@pytest.fixture
def read() -> Read:
    """Reads the events of a project from the first on, as soon as there are `count` of them."""

    async def read(api: Api, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        async def has_all() -> bool:
            answer = await api.request("GET", "/api/changes?after=first&limit=1000")
            assert answer.status_code == 200, answer.text
            found[:] = answer.json()["events"]
            return len(found) >= count

        await until(has_all)
        return found

    return read


async def make_orders(api: Api) -> str:
    """The path of the documents of a new collection."""
    answer = await api.request("POST", "/api/collections", json={"name": "orders", "schema": SCHEMA})
    assert answer.status_code == 201, answer.text
    return "/api/collections/orders/documents"
