"""CPU per request: the service beside the bare floor, block for block, in one run."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

import httpx2
from pymongo import MongoClient

from bench.figures import Figure, Goal
from bench.load import Request, cpu_per_request
from bench.population import populated_project
from bench.processes import Server, server_process, service_process
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
WARM_UP = 300
GOAL = Goal("<=", 1.35)


@dataclass(frozen=True, slots=True)
class Scenario:
    """The same work asked of the service and of the floor."""

    name: str
    service: Request
    floor: Request


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
        yield _sign_up(server, api_key), project


def _sign_up(server: Server, api_key: str) -> Stage:
    """The user signs up once; in later runs the same one logs in."""
    form = {"email": "someone@example.com", "password": "correct horse"}
    profile = {"name": "Someone", "code": -1, "group": 1, "age": 40, "active": True, "tags": ["tag1", "tag2"]}
    with httpx2.Client(base_url=server.url, headers={"x-api-key": api_key}, timeout=30) as http:
        response = http.post("/auth-collections/signup", json={**form, **profile})
        if response.status_code == 400:
            response = http.post("/auth-collections/login", json=form)
        found = response.raise_for_status().json()
    return Stage(server, api_key, found["access_token"], found["user"]["id"])


def measure_requests(settings: Settings, *, rounds: int, block: int) -> list[Figure]:
    """CPU of the service ÷ CPU of the floor for each scenario: the median of `rounds` pairs of `block` requests."""
    uri = settings.mongodb_uri.get_secret_value() if settings.mongodb_uri else ""
    with staged(settings) as (stage, project):
        scenarios = [*_user_scenarios(stage), *document_scenarios(stage)]
        environment = {
            "FLOOR_URI": uri,
            "FLOOR_DATABASE": project.database.database.name,
            "FLOOR_USER": stage.user_id,
        }
        _store_known_document(uri, project)
        with server_process("bench.floor", environment=environment) as floor:
            return [asyncio.run(compare(s, stage.server, floor, rounds=rounds, block=block)) for s in scenarios]


def _store_known_document(uri: str, project: Project) -> None:
    """What the floor reads: the same as the service's documents hold."""
    with MongoClient[dict[str, Any]](uri) as client:
        documents = client[project.database.database.name]["floor_documents"]
        documents.drop()
        moment = datetime(2026, 1, 1, 12, 0, 0, 5000, tzinfo=UTC)
        documents.insert_one({"_id": "known", **json.loads(DOCUMENT), "created_at": moment, "updated_at": moment})


async def compare(scenario: Scenario, service: Server, floor: Server, *, rounds: int, block: int) -> Figure:
    """The CPU of one ÷ that of the other: the median of `rounds` pairs of `block` requests to each."""
    for server, request in ((service, scenario.service), (floor, scenario.floor)):
        await cpu_per_request(server, request, WARM_UP)
    pairs = [
        (await cpu_per_request(service, scenario.service, block), await cpu_per_request(floor, scenario.floor, block))
        for _ in range(rounds)
    ]
    ours, theirs = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    note = f"{ours:.3f} and {theirs:.3f} ms of CPU a request; {rounds} pairs of {block} requests"
    return Figure(f"CPU per request, {scenario.name}: service ÷ floor", ratio, "x", GOAL, note)


def _user_scenarios(stage: Stage) -> list[Scenario]:
    return [
        Scenario("profile", Request("GET", "/auth-collections/user", stage.signed_in), Request("GET", "/profile")),
        Scenario(
            "list of 20",
            Request("GET", "/auth-collections/users?limit=20&count=false", stage.keyed),
            Request("GET", "/list"),
        ),
    ]


def document_scenarios(stage: Stage) -> list[Scenario]:
    """Creating and reading a document, where the service has collections."""
    with httpx2.Client(base_url=stage.server.url, headers=dict(stage.keyed), timeout=30) as http:
        http.delete(f"/api/collections/{COLLECTION}")
        if http.post("/api/collections", json={"name": COLLECTION, "schema": SCHEMA}).status_code != 201:
            return []
        path = f"/api/collections/{COLLECTION}/documents"
        document = http.post(path, content=DOCUMENT, headers={"content-type": "application/json"}).json()
    return [
        Scenario(
            "create a document", Request("POST", path, stage.keyed, DOCUMENT), Request("POST", "/create", (), DOCUMENT)
        ),
        Scenario("get a document", Request("GET", f"{path}/{document['id']}", stage.keyed), Request("GET", "/get")),
    ]
