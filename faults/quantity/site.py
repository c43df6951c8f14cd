"""Two projects on one worker: the one whose inputs are measured, filled, and another that reads a profile meanwhile."""

import asyncio
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from faults.processes import Service, make_key, running_service
from faults.restarts import UNLIMITED
from service.bounds import MAX_POPULATE

PREFIX = "f_quantity_"
TIMEOUT = 60.0
RELATIONS = tuple(f"r{number}" for number in range(MAX_POPULATE))
LINKS: dict[str, Any] = {f"{name}_id": {"type": "reference", "collection": "users"} for name in RELATIONS}
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A project with a user: the project's key and the user's token."""

    project: str
    key: dict[str, str]
    token: dict[str, str]
    user: str


@dataclass(frozen=True, slots=True)
class Site:
    """`hostile` has the users and collections that inputs need, `other` one user."""

    service: Service
    hostile: Tenant
    other: Tenant
    document: str


def ask(port: int, method: str, path: str, *, headers: dict[str, str], body: bytes = b"") -> Answer:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        return Answer(response.status, response.read())
    finally:
        connection.close()


@contextmanager
def running_site(
    uri: str, folder: Path, *, users: int, workers: int = 1, bcrypt_cost: int = 4, **settings: str
) -> Iterator[Site]:
    """Both projects, on the MongoDB of `uri`; `settings` are of the one that is measured."""
    environment = {"DATABASE_PREFIX": PREFIX, "LOG_LEVEL": "error", "BCRYPT_COST": str(bcrypt_cost)}
    with running_service(uri, folder, workers=workers, **environment) as service:
        hostile, other = (_tenant(service, *_project(uri, **each)) for each in (settings, {}))
        _fill(uri, hostile.project, users)
        yield Site(service, hostile, other, _declare(service, hostile))


def _project(uri: str, **settings: str) -> tuple[str, str]:
    return asyncio.run(make_key(uri, PREFIX, **UNLIMITED, **settings))


def _tenant(service: Service, project: str, key: str) -> Tenant:
    headers = {"x-api-key": key}
    body = {"email": "first@example.com", "password": "correct horse"}
    made = _expect(ask(service.port, "POST", "/auth-collections/signup", headers=headers | JSON, body=_raw(body)))
    return Tenant(project, headers, {"authorization": f"Bearer {made['access_token']}"}, made["user"]["id"])


def _fill(uri: str, project: str, users: int) -> None:
    """Users past the service, each related to others."""
    with MongoClient[dict[str, Any]](uri) as client:
        client[f"{PREFIX}p_{project}"]["users"].insert_many(_user(number, users) for number in range(users))


def _user(number: int, users: int) -> dict[str, Any]:
    related = {f"{name}_id": f"{(number * 7 + step) % users:024x}" for step, name in enumerate(RELATIONS)}
    moment = datetime(2026, 1, 1)  # noqa: DTZ001 - stored as the service stores it
    return {
        "_id": f"{number:024x}",
        "email": f"user{number}@example.com",
        "password": "no password matches this",
        "data": {"name": f"User {number}", "code": number, "note": "x" * 2_000, **related},
        "created_at": moment,
        "updated_at": moment,
        "token_version": 1,
    }


def _declare(service: Service, tenant: Tenant) -> str:
    """Collections for inputs, and the id of a document that may be changed."""
    schema = {"value": {"type": "any"}, **LINKS}
    _post(service, tenant, "/api/collections", {"name": "things", "schema": schema})
    lists = {f"p{number}": PATTERNED for number in range(60)}
    _post(service, tenant, "/api/collections", {"name": "patterns", "schema": lists | {"text": PATTERN}})
    return str(_post(service, tenant, "/api/collections/things/documents", {"data": {"value": 1}})["id"])


def _post(service: Service, tenant: Tenant, path: str, body: Any) -> Any:
    return _expect(ask(service.port, "POST", path, headers=tenant.key | JSON, body=_raw(body)))


def _expect(answer: Answer) -> Any:
    if answer.status != 201:
        raise RuntimeError(f"{answer.status}: {answer.body[:500]!r}")
    return answer.json()


def _raw(value: Any) -> bytes:
    return json.dumps(value).encode()


# A backtracking engine takes exponential time for it; a linear one does not.
PATTERN = {"type": "string", "pattern": "(?:a?){14}c|!$"}
PATTERNED = {
    "type": "array",
    "max_length": 8,
    "items": {"type": "string", "max_length": 2_000, "pattern": "(?:a?){14}c|!$"},
}
