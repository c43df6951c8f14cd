"""A project with a live collection, and sockets."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from service.app import Application
from tests.conftest import Api
from tests.web.realtime.live import Live, opened, serving

Open = Callable[..., Any]
MESSAGES: dict[str, Any] = {
    "room_id": {"type": "string"},
    "author_id": {"type": "string"},
    "text": {"type": "string"},
    "note": {"type": "string"},
    "extra": {"type": "any"},
}


@pytest.fixture(scope="session")
async def address(running_app: Application) -> AsyncIterator[str]:
    async with serving(running_app) as served:
        yield served.address


@pytest.fixture
async def open_socket(address: str, api: Api) -> AsyncIterator[Open]:
    """Opens sockets that are closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_one(**headers: str) -> Live:
            return await stack.enter_async_context(opened(address, **headers))

        yield open_one


@pytest.fixture
async def messages(api: Api) -> Api:
    """The project, with a live collection."""
    answer = await api.request(
        "POST", "/api/collections", json={"name": "messages", "schema": MESSAGES, "realtime": True}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["realtime"] is True
    return api


async def create(api: Api, collection: str = "messages", **data: Any) -> dict[str, Any]:
    answer = await api.request("POST", f"/api/collections/{collection}/documents", json={"data": data})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def merge(api: Api, document: dict[str, Any], collection: str = "messages", **data: Any) -> None:
    path = f"/api/collections/{collection}/documents/{document['id']}"
    answer = await api.request("PATCH", path, json={"data": data})
    assert answer.status_code == 200, answer.text


async def delete(api: Api, document: dict[str, Any], collection: str = "messages") -> None:
    answer = await api.request("DELETE", f"/api/collections/{collection}/documents/{document['id']}")
    assert answer.status_code == 204, answer.text


async def put_rules(api: Api, rules: dict[str, Any]) -> None:
    answer = await api.request("PUT", "/api/rules", json=rules)
    assert answer.status_code == 200, answer.text


async def sign_up(api: Api, email: str, **data: Any) -> tuple[str, str]:
    """The user's id and token."""
    answer = await api.signup(email, **data)
    assert answer.status_code in {200, 201}, answer.text
    body = answer.json()
    return body.get("user", body)["id"], body["access_token"]
