"""Names: which database holds the service's own records, which one a project's; and the indexes of the former."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from pymongo import ASCENDING, IndexModel, timeout
from pymongo.errors import OperationFailure

from service.errors import ServiceError
from service.schema.file_urls import FileUrls
from service.storage.client import Client, ClientSession, Database
from service.storage.layout import PARTS
from service.storage.query_watch import QueryWatch
from service.storage.records import Records, translated
from service.storage.transactions import in_transaction

Result = TypeVar("Result")

INDEX_BUILD_SECONDS = 600
# DatabaseDropPending: MongoDB's answer to the second of two.
DROP_PENDING = 215
# Default without a files URL: no URL is recognised as a file.
NO_FILE_URLS = FileUrls("\0")

EXPIRING_INDEXES = (IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),)
API_KEY_INDEXES = (IndexModel([("project_id", ASCENDING)], name="project_id"),)
# Only cleans up; what a limit allows is decided by the window in a counter's key.
COUNTER_INDEXES = (IndexModel([("expires", ASCENDING)], name="expires", expireAfterSeconds=0),)
PROJECT_INDEXES = (IndexModel([("settings.CORS_ORIGINS", ASCENDING)], name="cors_origins"),)

# The parts that every project has from its beginning.
_INDEXED = tuple(part for part in PARTS if part.indexes and not part.is_prefix)


@dataclass(frozen=True, slots=True)
class ServerState:
    """`topology` is "replica set", "sharded cluster" or "standalone"; only the first two have transactions."""

    topology: str
    is_writable: bool


class ProjectDatabase:
    """One project's data: `users`, and the records of its collections. No query leaves it.

    With a `session` every call of its records is part of that transaction, and `after_commit` is what is to be done once it
    is committed. `written` are the MongoDB collections that it is noted to have written, `remembered` what was read in it
    since. `file_urls` are those of the files it names.
    """

    __slots__ = (
        "_is_profiled",
        "_records",
        "_watch",
        "after_commit",
        "database",
        "file_urls",
        "remembered",
        "session",
        "written",
    )

    def __init__(
        self,
        database: Database,
        session: ClientSession | None = None,
        *,
        file_urls: FileUrls = NO_FILE_URLS,
        watch: QueryWatch | None = None,
    ) -> None:
        self.database = database
        self.session = session
        self.file_urls = file_urls
        self._watch = watch
        self._is_profiled = watch is not None and watch.use(database.name)
        self.after_commit: list[Callable[[], Awaitable[object]]] = []
        self.written: set[str] = set()
        self.remembered: dict[str, Any] = {}
        self._records: dict[str, Records] = {}

    def records(self, collection: str) -> Records:
        """The records of a MongoDB collection; kept, for the driver takes as long to name one as to parse a reply."""
        if (found := self._records.get(collection)) is None:
            found = self._records[collection] = Records(
                self.database[collection], self.session, watch=self._watch, is_profiled=self._is_profiled
            )
        return found

    def note_write(self, collection: str) -> None:
        """Within a transaction: cached values are read again, for it may see other ones now."""
        self.written.add(collection)
        self.remembered.clear()

    async def serialize(self) -> None:
        """Lets this transaction conflict with each other one of the project that calls this: they run one after the other.

        Transactions that count records need it, for the record of one is no conflict with that of another.
        """
        await self.records("migrations").update_one({"_id": "version"}, {"$inc": {"serial": 1}})

    @property
    def outside(self) -> "ProjectDatabase":
        """The same data outside of the transaction, for caches that outlive it."""
        return (
            self
            if self.session is None
            else ProjectDatabase(self.database, file_urls=self.file_urls, watch=self._watch)
        )

    async def in_transaction(self, work: Callable[["ProjectDatabase"], Awaitable[Result]]) -> Result:
        """Returns the result of `work`, once all its writes through the given database are committed.

        It may run several times, see `in_transaction`. Within a transaction it is a part of that one. Its work for
        after the commit may fail, and is left to a sweep then.
        """
        if self.session is not None:
            return await work(self)
        bound = self

        async def attempt(session: ClientSession) -> Result:
            nonlocal bound
            bound = self._bound(session)
            return await work(bound)

        result = await in_transaction(self.database.client, attempt)
        for act in bound.after_commit:
            with suppress(ServiceError):
                await act()
        return result

    def join(self, session: ClientSession | None) -> "ProjectDatabase":
        """The database as part of a transaction that has begun, which is the caller's to commit."""
        return self if session is None else self._bound(session)

    def _bound(self, session: ClientSession) -> "ProjectDatabase":
        return ProjectDatabase(self.database, session, file_urls=self.file_urls, watch=self._watch)

    async def ensure_indexes(self) -> None:
        """Creates missing indexes and collections; does nothing if all exist."""
        with translated(), timeout(INDEX_BUILD_SECONDS):
            for part in _INDEXED:
                await self.database[part.name].create_indexes(list(part.indexes))

    async def missing_indexes(self) -> list[str]:
        """The indexes of users and of what belongs to them, files and kept answers, that are not there: "users.email"."""
        with translated():
            present = {part.name: await self.database[part.name].index_information() for part in _INDEXED}
        return [
            f"{part.name}.{index.document['name']}"
            for part in _INDEXED
            for index in part.indexes
            if index.document["name"] not in present[part.name]
        ]

    async def is_there(self) -> bool:
        """True if the database has any collection."""
        with translated():
            return bool(await self.database.list_collection_names())

    async def drop(self) -> None:
        """Drops the database. Returns at once if another process is dropping it."""
        with translated():
            try:
                await self.database.client.drop_database(self.database)
            except OperationFailure as error:
                if error.code != DROP_PENDING:
                    raise


class Databases:
    """The databases of one service on one MongoDB; their prefix distinguishes them from those of others."""

    def __init__(
        self, client: Client, prefix: str, file_urls: FileUrls = NO_FILE_URLS, *, slow_seconds: float = inf
    ) -> None:
        """Queries that take `slow_seconds` are described, see `query_watch`."""
        self.client = client
        self.prefix = prefix
        self.file_urls = file_urls
        self.system: Database = client[f"{prefix}system"]
        self.watch = QueryWatch(self.system, slow_seconds)

    def project(self, project_id: str) -> ProjectDatabase:
        name = f"{self.prefix}p_{project_id}"
        return ProjectDatabase(self.client[name], file_urls=self.file_urls, watch=self.watch)

    async def ensure_indexes(self) -> None:
        with translated():
            await self.system["api_keys"].create_indexes(list(API_KEY_INDEXES))
            await self.system["sign_in_states"].create_indexes(list(EXPIRING_INDEXES))
            await self.system["used_challenges"].create_indexes(list(EXPIRING_INDEXES))
            await self.system["projects"].create_indexes(list(PROJECT_INDEXES))
            await self.system["counters"].create_indexes(list(COUNTER_INDEXES))

    async def hello(self) -> ServerState:
        """The state of the server that takes writes, by its own report. Raises Unavailable."""
        with translated():
            hello = await self.client.admin.command("hello")
        sharded = hello.get("msg") == "isdbgrid"
        # A member of an uninitiated replica set has no name yet.
        in_set = "setName" in hello or "isreplicaset" in hello
        topology = "sharded cluster" if sharded else "replica set" if in_set else "standalone"
        return ServerState(topology, is_writable=hello.get("isWritablePrimary", False))

    async def version(self) -> str:
        """MongoDB's version, such as 8.0.4."""
        with translated():
            return str((await self.client.admin.command("buildInfo"))["version"])
