"""A project with the collections of the twelve examples."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conftest import Api
from tests.domain.access.examples import SCHEMAS

Declare = Callable[..., Awaitable[None]]


async def declare(api: Api, *names: str) -> None:
    """Declares the collections of the examples, or some of them; `posts` first, for others refer to it."""
    for name in sorted(names or SCHEMAS, key=lambda each: each != "posts"):
        answer = await api.request("POST", "/api/collections", json={"name": name, "schema": SCHEMAS[name]})
        assert answer.status_code == 201, answer.text


async def save(api: Api, document: dict[str, Any], query: str = "", **headers: str) -> Any:
    return await api.request("PUT", f"/api/rules{query}", json=document, headers=headers)


@pytest.fixture
async def declared(api: Api) -> Api:
    await declare(api)
    return api
