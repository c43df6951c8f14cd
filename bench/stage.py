"""A running service with one project in it, and the requests of its clients."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from bench.load import Request
from bench.population import populated_project
from bench.processes import Server, service_process
from service.domain.projects.lookup import Project
from service.settings import Settings

PROJECT, USERS = "requests", 1_000
COLLECTION = "bench_documents"
DOCUMENT = b'{"data": {"title": "A document", "done": false, "pages": 12, "tags": ["one", "two"]}}'
SCHEMA = {
    "title": {"type": "string"},
    "done": {"type": "boolean"},
    "pages": {"type": "integer"},
    "tags": {"type": "array"},
}
DOCUMENTS = f"/api/collections/{COLLECTION}/documents"
# So many documents are changed in turn, more than there are connections: no two changes meet.
CHANGED = 64
CHANGE = {"pages": 13, "done": True}
ACCOUNT = {"email": "someone@example.com", "password": "correct horse"}
USERS_LIST = "/auth-collections/users?limit=20"


@dataclass(frozen=True, slots=True)
class Stage:
    """A running service with one project in it, as its clients see it."""

    server: Server
    api_key: str
    token: str
    user_id: str

    @property
    def keyed(self) -> tuple[tuple[str, str], ...]:
        return (("x-api-key", self.api_key),)

    @property
    def signed_in(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),)


@contextmanager
def staged(settings: Settings, *arguments: str, **environment: str) -> Iterator[tuple[Stage, Project]]:
    """A service process and a project whose first user has the profile of any other, and a password."""
    project, api_key = asyncio.run(populated_project(settings, PROJECT, USERS))
    with service_process(settings, *arguments, **environment) as server:
        yield sign_up(server, api_key), project


def sign_up(server: Server, api_key: str) -> Stage:
    """The user signs up once; in later runs the same one logs in."""
    profile = {"name": "Someone", "code": -1, "group": 1, "age": 40, "active": True, "tags": ["tag1", "tag2"]}
    with httpx2.Client(base_url=server.url, headers={"x-api-key": api_key}, timeout=30) as http:
        response = http.post("/auth-collections/signup", json={**ACCOUNT, **profile})
        if response.status_code == 400:
            response = http.post("/auth-collections/login", json=ACCOUNT)
        found = response.raise_for_status().json()
    return Stage(server, api_key, found["access_token"], found["user"]["id"])


def list_users(stage: Stage, query: str = "count=false") -> Request:
    return Request("GET", f"{USERS_LIST}&{query}", stage.keyed)


def create_document(stage: Stage) -> Request:
    return Request("POST", DOCUMENTS, stage.keyed, DOCUMENT)


def change_documents(stage: Stage, ids: Sequence[str]) -> list[Request]:
    body = json.dumps({"data": CHANGE}).encode()
    return [Request("PATCH", f"{DOCUMENTS}/{each}", stage.keyed, body) for each in ids]


def declare_documents(stage: Stage) -> list[str]:
    """Creates the collection again, with CHANGED documents, and returns their ids."""
    with httpx2.Client(base_url=stage.server.url, headers=dict(stage.keyed), timeout=30) as http:
        http.delete(f"/api/collections/{COLLECTION}")
        http.post("/api/collections", json={"name": COLLECTION, "schema": SCHEMA}).raise_for_status()
        headers = {"content-type": "application/json"}
        made = [http.post(DOCUMENTS, content=DOCUMENT, headers=headers).raise_for_status() for _ in range(CHANGED)]
    return [str(each.json()["id"]) for each in made]
