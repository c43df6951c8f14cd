"""A service in this process, on a MongoDB that is there, with one project."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic import SecretStr
from pymongo import MongoClient
from pymongo.database import Database

from faults.commands import KEY
from faults.processes import headers, make_key
from faults.restarts import UNLIMITED
from service.app import Application, create_app
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class ServedProject:
    """Requests to the service, the headers with the project's key, and what is really stored."""

    http: httpx2.AsyncClient
    headers: dict[str, str]
    database: Database[dict[str, Any]]


@asynccontextmanager
async def serving_in_process(uri: str, prefix: str) -> AsyncIterator[ServedProject]:
    project, key = await make_key(uri, prefix, **UNLIMITED)
    async with running(uri, prefix) as (_, http):
        with MongoClient[dict[str, Any]](uri) as client:
            yield ServedProject(http, headers(key), client[f"{prefix}p_{project}"])


@asynccontextmanager
async def running(
    uri: str, prefix: str, *, bcrypt_cost: int = 4
) -> AsyncIterator[tuple[Application, httpx2.AsyncClient]]:
    """The application with its lifespan run, and a client of it."""
    settings = Settings(
        mongodb_uri=SecretStr(uri),
        database_prefix=prefix,
        secret_key=SecretStr(KEY),
        bcrypt_cost=bcrypt_cost,
        log_level="error",
    )
    app = create_app(settings)
    async with app.router.lifespan_context(app), asking(app) as http:
        yield app, http


def asking(app: Application) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://x")
