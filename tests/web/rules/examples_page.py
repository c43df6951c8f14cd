"""The twelve examples as docs/access.md prints them, and the people who try them."""

from dataclasses import dataclass
from typing import Any

import httpx2

from faults.rule_examples import read_example
from tests.conftest import Api
from tests.web.rules.conftest import Person


@dataclass(frozen=True)
class Stage:
    """A project with the collections and rules of one example. `server` holds the secret key, `guest` the publishable one."""

    api: Api
    server: Person
    guest: Person

    async def person(self, name: str, *roles: str, **data: Any) -> Person:
        """A user that signed up in a page; the server gave the roles."""
        body = {"email": f"{name}@example.com", "password": "correct horse", "name": name, **data}
        answer = await self.guest.ask("POST", "/auth-collections/signup", json=body)
        assert answer.status_code == 201, answer.text
        id_ = answer.json()["user"]["id"]
        if roles:
            await self.give_roles(id_, *roles)
        return Person(self.api, id_, {"authorization": f"Bearer {answer.json()['access_token']}"})

    async def give_roles(self, user_id: str, *roles: str) -> None:
        path = f"/auth-collections/users/{user_id}/roles"
        answer = await self.server.ask("PUT", path, json={"roles": list(roles)})
        assert answer.status_code == 200, answer.text

    async def stored(self, collection: str, **data: Any) -> str:
        """The id of a document that the server makes."""
        answer = await self.server.create(collection, **data)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


async def set_up(api: Api, number: int) -> Stage:
    """Declares what an example declares and saves its rules."""
    schemas, rules = read_example(number)
    server, guest = (Person(api, "", {"x-api-key": key}) for key in (api.key, api.publishable_key))
    for name, schema in schemas.items():
        answer = await server.ask("POST", "/api/collections", json={"name": name, "schema": schema})
        assert answer.status_code == 201, answer.text
    answer = await server.ask("PUT", "/api/rules", json=rules)
    assert answer.status_code == 200, answer.text
    return Stage(api, server, guest)


def id_of(answer: httpx2.Response) -> str:
    """The id of a created document."""
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def texts(answer: httpx2.Response, field: str = "title") -> list[Any]:
    """One field of each document of a list, in its order; `total` counts them all."""
    assert answer.status_code == 200, answer.text
    found = [document["data"].get(field) for document in answer.json()["documents"]]
    assert answer.json()["total"] == len(found)
    return found


def outcome(answer: httpx2.Response) -> tuple[int, str]:
    """Status and error code."""
    return answer.status_code, answer.json()["code"]


def misplaced(answer: httpx2.Response) -> list[list[Any]]:
    """The places that a 422 names."""
    assert answer.status_code == 422, answer.text
    return [each["loc"] for each in answer.json()["detail"]]


GONE = (404, "document_not_found")
FORBIDDEN = (403, "forbidden")
UNAUTHORIZED = (401, "unauthorized")
