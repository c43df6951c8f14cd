"""One running service, with a project without limits, its key, and one user's token and file."""

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from playwright.sync_api import Browser
from pymongo import MongoClient

from faults.commands import Shell, await_ready, free_port, serving
from faults.samples import PNG
from service.cli.running import run_on
from service.settings import Settings
from tests.chromium import launched
from tests.served.browser import EXAMPLES, Site, file_server
from tests.served.packages import NODE_MODULES, PAGE, SOURCE, run
from tests.served.walkthrough import Walkthrough, follow

PROJECT_ID = "served"
METRICS_TOKEN = "a token for metrics, and for nothing else"
# A provider without a server: the callback is fuzzed up to the exchange of a code.
SETTINGS = {
    "ANONYMOUS": "on",
    "ANONYMOUS_LIMIT": "0",
    "IDP_CLIENT_ID": "client",
    "IDP_CLIENT_SECRET": "secret",
    "IDP_REDIRECT_URL": "http://127.0.0.1:9/callback",
    "IDP_COMPLETE_URL": "http://127.0.0.1:9/complete",
    "IDP_AUTHORIZE_URL": "http://127.0.0.1:9/authorize",
    "IDP_TOKEN_URL": "http://127.0.0.1:9/token",
    "IDP_USERINFO_URL": "http://127.0.0.1:9/userinfo",
    "SIGNUP_LIMIT": "0",
    "LOGIN_LIMIT": "0",
    "AUTH_LIMIT": "0",
    "FILE_LIMIT": "0",
    "MAIL_REQUEST_LIMIT": "0",
    "CODE_LIMIT": "0",
    "TIER": "enterprise",
    "WEBAUTHN_RP_ID": "localhost",
}


@dataclass(frozen=True)
class Served:
    """A service at `base_url` and the credentials of one project and one user of it; `spare_token` is of another one."""

    base_url: str
    api_key: str
    token: str
    spare_token: str
    document_id: str
    file_name: str
    # A user who may be disabled, and whose tokens may end.
    other_id: str


@pytest.fixture(scope="session")
def served_settings(mongodb_uri: str) -> dict[str, str]:
    """The environment of a service with databases of its own: tests that empty theirs must not empty these."""
    return {
        "MONGODB_URI": mongodb_uri,
        "DATABASE_PREFIX": f"s_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_",
        "SECRET_KEY": base64.b64encode(b"k" * 32).decode(),
        "BCRYPT_COST": "4",
        "DRAIN_SECONDS": "0",
        "LOG_LEVEL": "error",
        "METRICS_TOKEN": METRICS_TOKEN,
    }


def make_project(served_settings: dict[str, str], project_id: str) -> str:
    """The secret key of a new project without limits."""
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    _, keys = run_on(settings, lambda services: services.base.admin.create("Served", project_id, SETTINGS))
    return keys.secret


@pytest.fixture(scope="session")
def served(served_settings: dict[str, str], mongo: MongoClient[dict[str, Any]]) -> Iterator[Served]:
    api_key = make_project(served_settings, PROJECT_ID)
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    with serving(Shell({**os.environ, **served_settings}), "--port", str(port)):
        await_ready(base_url)
        body = {"email": "ann@example.com", "password": "correct horse", "name": "Ann"}
        answer = httpx2.post(f"{base_url}/auth-collections/signup", json=body, headers={"x-api-key": api_key})
        key = {"x-api-key": api_key}
        books = {"name": "books", "schema": {"title": {"type": "string"}, "year": {"type": "integer"}}}
        httpx2.post(f"{base_url}/api/collections", json=books, headers=key)
        documents = f"{base_url}/api/collections/books/documents"
        book = httpx2.post(documents, json={"data": {"title": "Les Misérables"}}, headers=key)
        token = answer.json()["access_token"]
        signed_in = {"authorization": f"Bearer {token}"}
        kept = httpx2.put(f"{base_url}/auth-collections/user", files={"kept": ("me.png", PNG)}, headers=signed_in)
        file_name = kept.json()["data"]["kept"].rpartition("/")[2]
        other = httpx2.post(f"{base_url}/auth-collections/users", json={"email": "bob@example.com"}, headers=key)
        third = body | {"email": "cleo@example.com"}
        spare = httpx2.post(f"{base_url}/auth-collections/signup", json=third, headers=key).json()["access_token"]
        yield Served(base_url, api_key, token, spare, book.json()["id"], file_name, other.json()["id"])
    for name in mongo.list_database_names():
        if name.startswith(served_settings["DATABASE_PREFIX"]):
            mongo.drop_database(name)


@pytest.fixture(scope="session")
def node() -> str:
    found = shutil.which("node")
    assert found is not None
    return found


@pytest.fixture(scope="session")
def package(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built TypeScript client, its tests, and a page that can import it."""
    folder = tmp_path_factory.mktemp("client")
    shutil.copy(SOURCE / "package.json", folder)
    shutil.copytree(SOURCE / "test", folder / "test")
    (folder / "index.html").write_text(PAGE)
    build = json.loads((SOURCE / "package.json").read_text())["scripts"]["build"].split()
    assert build[0] == "node"
    run(SOURCE, node, *build[1:], "--outDir", folder / "dist")
    return folder


@pytest.fixture(scope="session")
def pages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages of docs/examples, with the client where npm is: on another origin than the service."""
    root = tmp_path_factory.mktemp("pages")
    shutil.copytree(EXAMPLES, root, ignore=shutil.ignore_patterns("client"), dirs_exist_ok=True)
    if NODE_MODULES.exists():
        shutil.copytree(request.getfixturevalue("package") / "dist", root / "client")
    with file_server(root) as url:
        yield url


MakeSite = Callable[[str, str, list[dict[str, Any]], Any], Site]


@pytest.fixture(scope="session")
def make_site(served: Served, served_settings: dict[str, str], pages: str) -> MakeSite:
    """Makes a project of that name with these collections and rules, which lets the page at that path in."""

    def make(name: str, path: str, collections: list[dict[str, Any]], rules: Any) -> Site:
        settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
        allowed = {"SIGNUP_LIMIT": "0", "LOGIN_LIMIT": "0", "TIER": "enterprise", "CORS_ORIGINS": pages}
        _, keys = run_on(settings, lambda services: services.base.admin.create(name.title(), name, allowed))
        with httpx2.Client(base_url=served.base_url, headers={"x-api-key": keys.secret}) as server:
            for each in collections:
                server.post("/api/collections", json=each).raise_for_status()
            server.put("/api/rules", json=rules).raise_for_status()
        query = urlencode({"service": served.base_url, "key": keys.publishable})
        return Site(f"{pages}/{path}?{query}", served.base_url, keys.publishable, keys.secret)

    return make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the commands of a page run."""
    return tmp_path_factory.mktemp("guide")


@pytest.fixture(scope="module")
def origin(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The reader's file server of the module's `SITE`."""
    with file_server(folder / request.module.SITE) as url:
        yield url


@pytest.fixture(scope="module")
def guide(
    request: pytest.FixtureRequest, folder: Path, origin: str, served: Served, served_settings: dict[str, str]
) -> Walkthrough:
    """The module's `PAGE`, followed from top to bottom."""
    return follow(request.module.PAGE, folder, served.base_url, served_settings, origin)


@pytest.fixture(scope="module")
def guide_browser(guide: Walkthrough) -> Iterator[Browser]:
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def browser(site: Site) -> Iterator[Browser]:
    """For the tests of one page, whose `site` they make once: a worker may come back to a page after another one."""
    with launched() as running:
        yield running
