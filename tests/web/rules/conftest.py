"""A project with the collections of the twelve examples."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Api
from tests.rules.examples import SCHEMAS

Declare = Callable[..., Awaitable[None]]


async def declare(api: Api, *names: str) -> None:
    """Declares the collections of the examples, or some of them; `posts` first, for others refer to it."""
    for name in sorted(names or SCHEMAS, key=lambda each: each != "posts"):
        answer = await api.request("POST", "/api/collections", json={"name": name, "schema": SCHEMAS[name]})
        assert answer.status_code == 201, answer.text


@dataclass(frozen=True, slots=True)
class Person:
    """A caller of the service: a user with a token, or a guest with the publishable key."""

    api: Api
    id: str
    headers: dict[str, str]

    async def ask(self, method: str, path: str, **kwargs: Any) -> Any:
        headers = {**self.headers, **kwargs.pop("headers", {})}
        return await self.api.http.request(method, path, headers=headers, **kwargs)

    async def create(self, collection: str, **data: Any) -> Any:
        return await self.ask("POST", f"/api/collections/{collection}/documents", json={"data": data})

    async def list(self, collection: str, query: str = "") -> Any:
        return await self.ask("GET", f"/api/collections/{collection}/documents{query}")

    async def get(self, collection: str, id_: str) -> Any:
        return await self.ask("GET", f"/api/collections/{collection}/documents/{id_}")

    async def merge(self, collection: str, id_: str, **data: Any) -> Any:
        return await self.ask("PATCH", f"/api/collections/{collection}/documents/{id_}", json={"data": data})

    async def replace(self, collection: str, id_: str, **data: Any) -> Any:
        return await self.ask("PUT", f"/api/collections/{collection}/documents/{id_}", json={"data": data})

    async def delete(self, collection: str, id_: str) -> Any:
        return await self.ask("DELETE", f"/api/collections/{collection}/documents/{id_}")


async def sign_up(api: Api, name: str, *roles: str, **data: Any) -> Person:
    """A new user with these roles."""
    signed_in = (await api.signup(f"{name}@example.com", name=name, **data)).json()
    user_id = signed_in["user"]["id"]
    if roles:
        path = f"/auth-collections/users/{user_id}/roles"
        given = await api.request("PUT", path, json={"roles": list(roles)})
        assert given.status_code == 200, given.text
    return Person(api, user_id, {"authorization": f"Bearer {signed_in['access_token']}"})


def guest_of(api: Api) -> Person:
    return Person(api, "", {"x-api-key": api.publishable_key})


def server_of(api: Api) -> Person:
    return Person(api, "", {"x-api-key": api.key})


async def save(api: Api, document: dict[str, Any], query: str = "", **headers: str) -> Any:
    return await api.request("PUT", f"/api/rules{query}", json=document, headers=headers)


@pytest.fixture
async def declared(api: Api) -> Api:
    await declare(api)
    return api
