"""A project of short tokens at the running service, and clients of it in both colours."""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from auth_collections_client import AsyncClient, Client, memory
from faults.commands import NO_TLS
from service.cli.running import run_on
from service.settings import Settings
from tests.served.clients.python.colours import Awaited
from tests.served.clients.python.wire import Wire
from tests.served.clients.table import UNLIMITED
from tests.served.conftest import Served

BOOKS = {
    "title": {"type": "string", "required": True, "unique": True},
    "stock": {"type": "integer", "default": 0, "min": 0},
    "published": {"type": "datetime"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "series_id": {"type": "reference", "collection": "books"},
    "cover": {"type": "file", "types": ["png"], "variants": {"thumb": {"width": 16}}},
    "pages": {"type": "array", "items": {"type": "file", "types": ["png"]}},
}
RULES = {"collections": {"books": {"read": "anyone", "create": "anyone", "update": "users", "delete": "users"}}}
COUNT = itertools.count()


SETTINGS = {**UNLIMITED, "TIER": "enterprise", "ACCESS_TOKEN_LIFETIME": "900"}


@dataclass(frozen=True)
class Project:
    """A project of the running service, and its keys."""

    url: str
    project_id: str
    secret: str
    publishable: str


@pytest.fixture(scope="session")
def project(served: Served, served_settings: dict[str, str]) -> Project:
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    _, keys = run_on(settings, lambda services: services.base.admin.create("Python", "python", SETTINGS))
    with Client(served.base_url, keys.secret) as client:
        client.admin.collections.create({"name": "books", "schema": BOOKS, "realtime": True})
        client.admin.rules.put(RULES)
    return Project(served.base_url, "python", keys.secret, keys.publishable)


Make = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
async def make(request: pytest.FixtureRequest, project: Project) -> AsyncIterator[Make]:
    """Makes a client: `make("server")`, `make("guest")`, `make("user")` with a session in memory; `wire` is its transport."""
    async with AsyncExitStack() as opened:

        def make(kind: str = "server", *, wire: Wire | None = None, **settings: Any) -> Any:
            key = project.secret if kind == "server" else project.publishable
            if kind == "user":
                settings.setdefault("session", memory())
            url = settings.pop("url", project.url)
            if request.param == "sync":
                http = opened.enter_context(httpx2.Client(transport=wire, verify=NO_TLS))
                return Awaited(Client(url, key, http=http, **settings))
            async_http = httpx2.AsyncClient(transport=wire, verify=NO_TLS)
            opened.push_async_callback(async_http.aclose)
            return AsyncClient(url, key, http=async_http, **settings)

        yield make


@pytest.fixture
def name() -> str:
    """A text that no other test of this process has."""
    return f"n{next(COUNT)}"
