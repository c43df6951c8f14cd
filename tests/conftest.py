"""One real mongod for the whole run, one database prefix for each test worker, emptied between tests."""

import asyncio
import base64
import fcntl
import functools
import gc
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from httpx2._config import DEFAULT_TIMEOUT_CONFIG, create_ssl_context
from httpx2._transports import asgi, default
from pydantic import SecretStr
from pymongo import MongoClient, monitoring
from pymongo.database import Database
from starlette.applications import Starlette

from faults.commands import KEY, Shell
from faults.starts import forking
from service.app import Application, create_app
from service.domain import cache
from service.domain.paces import Presence
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.lookup import Project
from service.embedded.mongod import embedded_mongodb
from service.observe.logging import CONSOLE
from service.services import Services
from service.settings import Settings
from service.storage import client
from service.web.asgi.deadlines import Deadlines
from tests.pool import Pool, skipping_indexes

pytest_plugins = ["tests.rings"]
BASE_URL = "http://service.test"
# An answer may be late on a busy machine; the five seconds of the client are no promise of the service.
for _part in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _part, 60.0)
# Each client would read the machine's certificates again, which takes longer than most requests of these tests.
default.create_ssl_context = functools.cache(create_ssl_context)  # type: ignore[attr-defined]
# It would look through every folder of packages for Trio, at each request.
asgi.is_running_trio = lambda: False
# Many requests at once take long on a busy machine; tests of deadlines have their own.
PATIENT = Deadlines(answer=120.0)
# Nearly as long as `fast.driver` still takes its own way.
PATIENT_MS = 19_000
# Only tests of limits are under limits.
# Settings that change the collection of users.
OF_CATALOG = frozenset({"REALTIME_USERS", "USERNAMES"})
UNLIMITED = {"SIGNUP_LIMIT": "0", "LOGIN_LIMIT": "0", "AUTH_LIMIT": "0", "FILE_LIMIT": "0", "TIER": "enterprise"} | {
    "MAIL_REQUEST_LIMIT": "0",
    "CODE_LIMIT": "0",
}


MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 4_000_000_000  # noqa: S108 - a folder of our own in it
FOLDER, NAME = "TEST_MONGODB_FOLDER", "auth-collections-tests-"
# Thousands of collections are made and dropped: to look through their files for idle ones, and for pages to write out of a
# cache that is large enough, takes as long as to serve the tests.
SPARING = {
    "wiredTigerEngineRuntimeConfig": "file_manager=(close_scan_interval=3600),eviction_dirty_target=60,"
    "eviction_dirty_trigger=80,eviction_updates_target=60,eviction_updates_trigger=80",
    # The files of a dropped collection are kept for so long.
    "minSnapshotHistoryWindowInSeconds": 5,
}


def pytest_configure(config: pytest.Config) -> None:
    """The MongoDB of a run is in memory where that is large: half of what it does is to make and to remove files."""
    if not hasattr(config, "workerinput") and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES:
        _remove_abandoned()
        folder = MEMORY / f"{NAME}{os.getpid()}"
        folder.mkdir(mode=0o700)
        os.environ[FOLDER] = str(folder)
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True))


def _remove_abandoned() -> None:
    """Removes the folders of runs that were killed."""
    for folder in MEMORY.glob(f"{NAME}*"):
        if not Path("/proc", folder.name.removeprefix(NAME)).exists():
            shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_finish() -> None:
    """Collected tests stay: the collector need not look at them again."""
    gc.freeze()


def _in_background() -> bool:
    """True in a background task of the service: its work, every second or so, is no request's round trip."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.get_name().startswith("background")


class CommandRecorder(monitoring.CommandListener):
    """Every command that any client of this process sends, while `recording`."""

    def __init__(self) -> None:
        self.recording = False
        self.commands: list[tuple[str, dict[str, Any]]] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if self.recording and not _in_background():
            self.commands.append((event.command_name, dict(event.command)))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.commands]

    @property
    def work(self) -> list[str]:
        """Their names, but for those about projects, which may be read at any moment for those who send mails."""
        return [name for name, command in self.commands if command.get(name) != "projects"]


RECORDER = CommandRecorder()
# A listener reaches only the clients that are made after it.
monitoring.register(RECORDER)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandRecorder]:
    """Counts the round trips to MongoDB from here to the end of the test; `clear()` its list to start over."""
    # Cached values do not expire: on a busy machine a test may take longer than their life, and reading them again
    # would count.
    moment = time.monotonic()
    monkeypatch.setattr(cache, "monotonic", lambda: moment)
    RECORDER.commands.clear()
    RECORDER.recording = True
    yield RECORDER
    RECORDER.recording = False


@pytest.fixture(scope="session")
def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The mongod of this run; parallel test workers share it through its folder."""
    base = tmp_path_factory.getbasetemp()
    on_disk = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = Path(os.environ.get(FOLDER, on_disk))
    with embedded_mongodb(folder) as uri:
        with (folder / "tuned.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _spare_work(uri)
        # No monitor of the driver runs during a long synchronous test. It must not take that pause for a lost server.
        yield f"{uri}&connectTimeoutMS=600000"


def _spare_work(uri: str) -> None:
    """Switches off a mongod's work for its next start and for its oldest readers: it is useless here, and took half of
    its time.
    """
    with MongoClient[dict[str, Any]](uri) as client:
        client.admin.command({"setParameter": 1, **SPARING})
        # It is never killed, so a write is acknowledged before it is on the disk, which is slower than the rest.
        config = client.admin.command("replSetGetConfig")["config"]
        if config["writeConcernMajorityJournalDefault"]:
            config |= {"version": config["version"] + 1, "writeConcernMajorityJournalDefault": False}
            client.admin.command("replSetReconfig", config)


@pytest.fixture(scope="session", autouse=True)
def plain_tracebacks() -> None:
    """The log format of applications in this process. structlog's own takes seconds for a traceback, with every
    variable.
    """
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], CONSOLE])


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[None]:
    """The service's commands are real processes, but forks, so that they need not import everything."""
    with forking():
        yield


@pytest.fixture(scope="session")
def database_prefix() -> str:
    return f"t_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_"


@pytest.fixture(scope="session")
def mongo(mongodb_uri: str) -> Iterator[MongoClient[dict[str, Any]]]:
    """A plain synchronous client with which tests look at what was really stored."""
    with MongoClient[dict[str, Any]](mongodb_uri) as client:
        yield client


@pytest.fixture(scope="session")
def settings(mongodb_uri: str, database_prefix: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(
        mongodb_uri=SecretStr(mongodb_uri),
        database_prefix=database_prefix,
        secret_key=SecretStr(base64.b64encode(b"k" * 32).decode()),
        base_url=BASE_URL,
        backup_store=tmp_path_factory.mktemp("backups"),
        bcrypt_cost=4,
        # Tests count commands, and a busy machine makes any query slow.
        slow_query_ms=0,
    )


@pytest.fixture(scope="session")
async def running_app(settings: Settings, pytestconfig: pytest.Config) -> AsyncIterator[Application]:
    """The application with its lifespan run, on the event loop of all tests."""
    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("--production-deadlines"):
            app = create_app(settings)
        else:
            for name in ("OPERATION_TIMEOUT_MS", "SERVER_SELECTION_TIMEOUT_MS"):
                patch.setattr(client, name, PATIENT_MS)
            app = create_app(settings, PATIENT)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        stack.enter_context(_with_one_project_present(app.services.base.presence))
        yield app


@contextmanager
def _with_one_project_present(presence: Presence) -> Iterator[None]:
    """On a busy machine any list is slow, and would wait while the project of another test is present."""
    plain = Presence.note

    def note(self: Presence, name: str) -> None:
        if self is not presence:
            plain(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Presence, "note", note)
        yield


@pytest.fixture(scope="session")
def pool(mongo: MongoClient[dict[str, Any]], database_prefix: str, running_app: Application) -> Iterator[Pool]:
    """The projects of this worker."""
    with skipping_indexes():
        yield Pool(mongo, database_prefix, running_app.services)


@pytest.fixture
def services(running_app: Application) -> Services:
    return running_app.services


@pytest.fixture
def admin(services: Services) -> ProjectAdmin:
    return services.base.admin


@pytest.fixture
async def http(running_app: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    """Requests without any credential."""
    transport = httpx2.ASGITransport(app=running_app)
    async with httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        yield client


@pytest.fixture
def shell(mongodb_uri: str, database_prefix: str, tmp_path: Path, mongo: MongoClient[Any]) -> Iterator[Shell]:
    prefix = f"{database_prefix}c_"
    base = {"PATH": os.environ["PATH"], "MONGODB_URI": mongodb_uri, "DATABASE_PREFIX": prefix, "SECRET_KEY": KEY}
    yield Shell(base | {"DATA_DIR": str(tmp_path), "BCRYPT_COST": "4", "DRAIN_SECONDS": "0"})
    for name in mongo.list_database_names():
        if name.startswith(prefix):
            mongo.drop_database(name)


@dataclass(frozen=True)
class Api:
    """One project as its developers see it: an id, a key, and HTTP. `database` is what was really stored."""

    project: Project
    key: str
    http: httpx2.AsyncClient
    database: Database[dict[str, Any]]
    publishable_key: str = ""

    async def request(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        """A request with the project's API key."""
        headers = {"x-api-key": self.key, **kwargs.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **kwargs)

    async def as_user(self, token: str, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        """A request with a user's token."""
        headers = {"authorization": f"Bearer {token}", **kwargs.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **kwargs)

    async def signup(
        self, email: str = "ann@example.com", password: str = "correct horse", **data: Any
    ) -> httpx2.Response:
        body = {"email": email, "password": password, **data}
        return await self.request("POST", "/auth-collections/signup", json=body)

    async def login(self, email: str = "ann@example.com", password: str = "correct horse") -> httpx2.Response:
        body = {"email": email, "password": password}
        return await self.request("POST", "/auth-collections/login", json=body)

    async def users(self, query: str = "") -> httpx2.Response:
        return await self.request("GET", f"/auth-collections/users{'?' if query else ''}{query}")


MakeApi = Callable[..., Awaitable[Api]]


@pytest.fixture
async def emptied(pool: Pool) -> AsyncIterator[None]:
    """Afterwards no project is left, nor anything of one."""
    yield
    await pool.empty()


@pytest.fixture
async def make_api(emptied: None, maker: MakeApi) -> MakeApi:
    """Makes projects, with any settings, that are gone after the test."""
    return maker


@pytest.fixture
def maker(
    pool: Pool,
    admin: ProjectAdmin,
    http: httpx2.AsyncClient,
    mongo: MongoClient[dict[str, Any]],
    database_prefix: str,
) -> MakeApi:
    """As `make_api`, but the projects stay until the pool is emptied."""

    async def make(**project_settings: str) -> Api:
        with pool.take() as project_id:
            project, keys = await admin.create("A project", project_id, UNLIMITED | project_settings)
        pool.note(project.id, is_plain=OF_CATALOG.isdisjoint(project_settings))
        return Api(project, keys.secret, http, mongo[f"{database_prefix}p_{project.id}"], keys.publishable)

    return make


@pytest.fixture
async def api(make_api: MakeApi) -> Api:
    return await make_api()
