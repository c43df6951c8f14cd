"""A project with a small shop."""

from typing import Any

import pytest

from faults.aggregations.shop import SCHEMAS, Shop
from tests.conftest import Api


async def declare_shop(api: Api) -> None:
    for name, schema in SCHEMAS.items():
        made = await api.request("POST", "/api/collections", json={"name": name, "schema": schema})
        assert made.status_code == 201, made.text


def fill_shop(api: Api, shop: Shop) -> None:
    for name, records in shop.items():
        api.database[f"c_{name}"].delete_many({})
        if records:
            api.database[f"c_{name}"].insert_many([dict(record) for record in records])


@pytest.fixture
async def shop_api(api: Api) -> Api:
    await declare_shop(api)
    return api


async def rows_of(api: Api, body: Any, path: str = "/api/collections/orders/aggregate") -> list[dict[str, Any]]:
    answer = await api.request("POST", path, json=body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found
