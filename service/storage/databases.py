"""Names: which database holds the service's own records, which one a project's; the indexes of each; and transactions.

The body of a transaction makes the same calls as code outside of one, on a `ProjectDatabase` that is bound to the
transaction's session (`ProjectDatabase.in_transaction`). It may run several times, so it changes nothing but MongoDB and
its own variables. It makes one call after the other, for a session is no good for two at once; and it lets every error
out, for MongoDB has ended the transaction with it.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import TypeVar

from pymongo import ASCENDING, IndexModel, _csot, timeout
from pymongo.errors import OperationFailure, PyMongoError

from service.errors import ServiceError
from service.schema.file_urls import FileUrls
from service.storage.client import Client, ClientSession, Database
from service.storage.errors import MAX_TIME_EXPIRED
from service.storage.files.stored import FILE_INDEXES, ensure_file_indexes
from service.storage.records import Records, translated

Result = TypeVar("Result")

INDEX_BUILD_SECONDS = 600
# Conflicts with other transactions are tried again within this time.
TRANSACTION_SECONDS = 10.0
# The specification of the drivers' convenient API for transactions waits so before it tries again.
FIRST_WAIT_SECONDS = 0.005
WAIT_GROWTH = 1.5
LONGEST_WAIT_SECONDS = 0.5

RETRY_ALL = "TransientTransactionError"
RETRY_COMMIT = "UnknownTransactionCommitResult"
# DatabaseDropPending: MongoDB's answer to the second of two.
DROP_PENDING = 215
# Of a service that knows no address of its files, and so takes no URL for one of them.
NO_FILE_URLS = FileUrls("\0")

USER_INDEXES = (
    IndexModel([("email", ASCENDING)], name="email", unique=True),
    # One key for each identity of a user, and no two users with the same one.
    IndexModel(
        [("identities.issuer", ASCENDING), ("identities.subject", ASCENDING)],
        name="identities",
        unique=True,
        sparse=True,
    ),
    # Finds who signed in before there were identities. Not unique: two providers may use one subject.
    IndexModel(
        [("oauth_id", ASCENDING), ("_id", ASCENDING)],
        name="subject",
        partialFilterExpression={"oauth_id": {"$exists": True}},
    ),
    IndexModel([("created_at", ASCENDING), ("_id", ASCENDING)], name="created_at"),
    # Serves equality, ranges, lists and relation ids on any field of the free-form data.
    IndexModel([("data.$**", ASCENDING)], name="data"),
)
SIGN_IN_STATE_INDEXES = (IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),)
SESSIONS = "sessions"
SESSION_INDEXES = (
    IndexModel([("user_id", ASCENDING), ("created_at", ASCENDING)], name="user_id"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)
EVENTS = "events"
EVENT_INDEXES = (
    IndexModel([("at", ASCENDING), ("_id", ASCENDING)], name="at"),
    IndexModel([("user_id", ASCENDING), ("at", ASCENDING), ("_id", ASCENDING)], name="user_id"),
    IndexModel([("type", ASCENDING), ("at", ASCENDING), ("_id", ASCENDING)], name="type"),
    IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
)
KEPT_ANSWERS = "kept_answers"
KEPT_ANSWER_INDEXES = (IndexModel([("expires", ASCENDING)], name="expires", expireAfterSeconds=0),)
API_KEY_INDEXES = (IndexModel([("project_id", ASCENDING)], name="project_id"),)
# Only cleans up; what a limit allows is decided by the window in a counter's key.
COUNTER_INDEXES = (IndexModel([("expires", ASCENDING)], name="expires", expireAfterSeconds=0),)
PROJECT_INDEXES = (IndexModel([("settings.CORS_ORIGINS", ASCENDING)], name="cors_origins"),)


@dataclass(frozen=True, slots=True)
class ServerState:
    """`topology` is "replica set", "sharded cluster" or "standalone"; only the first two have transactions."""

    topology: str
    is_writable: bool


class ProjectDatabase:
    """One project's data: `users`, and the records of its collections. No query leaves it.

    With a `session` every call of its records is part of that transaction, and `after_commit` is what is to be done once it
    is committed. `file_urls` are those of the files it names.
    """

    __slots__ = ("_records", "after_commit", "database", "file_urls", "session")

    def __init__(
        self, database: Database, session: ClientSession | None = None, *, file_urls: FileUrls = NO_FILE_URLS
    ) -> None:
        self.database = database
        self.session = session
        self.file_urls = file_urls
        self.after_commit: list[Callable[[], Awaitable[object]]] = []
        self._records: dict[str, Records] = {}

    def records(self, collection: str) -> Records:
        """The records of a MongoDB collection; kept, for the driver takes as long to name one as to parse a reply."""
        if (found := self._records.get(collection)) is None:
            found = self._records[collection] = Records(self.database[collection], self.session)
        return found

    @property
    def outside(self) -> "ProjectDatabase":
        """The same data as all see it, for what is remembered beyond a transaction."""
        return self if self.session is None else ProjectDatabase(self.database, file_urls=self.file_urls)

    async def in_transaction(self, work: Callable[["ProjectDatabase"], Awaitable[Result]]) -> Result:
        """What `work` returns, once all that it wrote through the database it is handed is committed.

        It may run several times, see `in_transaction`. Within a transaction it is a part of that one. What it left to be done
        after the commit may fail, and is for a sweep then.
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

    def _bound(self, session: ClientSession) -> "ProjectDatabase":
        return ProjectDatabase(self.database, session, file_urls=self.file_urls)

    async def ensure_indexes(self) -> None:
        """Creates what is missing; does nothing where all is there."""
        with translated(), timeout(INDEX_BUILD_SECONDS):
            await self.database["users"].create_indexes(list(USER_INDEXES))
            await self.database[KEPT_ANSWERS].create_indexes(list(KEPT_ANSWER_INDEXES))
            await self.database[SESSIONS].create_indexes(list(SESSION_INDEXES))
            await self.database[EVENTS].create_indexes(list(EVENT_INDEXES))
            await ensure_file_indexes(self.database)

    async def missing_indexes(self) -> list[str]:
        """The indexes of users and of what belongs to them, files and kept answers, that are not there: "users.email"."""
        wanted = {
            "users": USER_INDEXES,
            KEPT_ANSWERS: KEPT_ANSWER_INDEXES,
            SESSIONS: SESSION_INDEXES,
            EVENTS: EVENT_INDEXES,
            **FILE_INDEXES,
        }
        with translated():
            present = {name: await self.database[name].index_information() for name in wanted}
        return [
            f"{name}.{index.document['name']}"
            for name, indexes in wanted.items()
            for index in indexes
            if index.document["name"] not in present[name]
        ]

    async def is_there(self) -> bool:
        """Whether the database has any collection."""
        with translated():
            return bool(await self.database.list_collection_names())

    async def drop(self) -> None:
        """Returns at once where somebody else is dropping it."""
        with translated():
            try:
                await self.database.client.drop_database(self.database)
            except OperationFailure as error:
                if error.code != DROP_PENDING:
                    raise


class Databases:
    """The databases of one service on one MongoDB, told apart from others' by their prefix."""

    def __init__(self, client: Client, prefix: str, file_urls: FileUrls = NO_FILE_URLS) -> None:
        self.client = client
        self.prefix = prefix
        self.file_urls = file_urls
        self.system: Database = client[f"{prefix}system"]

    def project(self, project_id: str) -> ProjectDatabase:
        return ProjectDatabase(self.client[f"{self.prefix}p_{project_id}"], file_urls=self.file_urls)

    async def ensure_indexes(self) -> None:
        with translated():
            await self.system["api_keys"].create_indexes(list(API_KEY_INDEXES))
            await self.system["sign_in_states"].create_indexes(list(SIGN_IN_STATE_INDEXES))
            await self.system["projects"].create_indexes(list(PROJECT_INDEXES))
            await self.system["counters"].create_indexes(list(COUNTER_INDEXES))

    async def hello(self) -> ServerState:
        """What the server that would be written to says of itself. Raises Unavailable."""
        with translated():
            hello = await self.client.admin.command("hello")
        sharded = hello.get("msg") == "isdbgrid"
        # A member of a replica set that nobody has initiated has no name yet.
        in_set = "setName" in hello or "isreplicaset" in hello
        topology = "sharded cluster" if sharded else "replica set" if in_set else "standalone"
        return ServerState(topology, is_writable=hello.get("isWritablePrimary", False))

    async def version(self) -> str:
        """MongoDB's version, such as 8.0.4."""
        with translated():
            return str((await self.client.admin.command("buildInfo"))["version"])


async def in_transaction(client: Client, work: Callable[[ClientSession], Awaitable[Result]]) -> Result:
    """What `work(session)` returns, once all its writes are committed. It runs again when it meets another writer.

    Raises what `work` raises, and the errors of `records.translated`; after Unavailable the writes may or may not have
    happened.
    """
    deadline = time.monotonic() + TRANSACTION_SECONDS
    with translated(), timeout(TRANSACTION_SECONDS):
        async with client.start_session() as session:
            wait = FIRST_WAIT_SECONDS
            while True:
                try:
                    return await _attempt(session, work, deadline)
                except Exception as error:
                    if not _may_retry(error, RETRY_ALL, deadline):
                        raise
                # The waiting differs, so that two who met do not meet again.
                await asyncio.sleep(wait * random.random())  # noqa: S311 - not a secret
                wait = min(wait * WAIT_GROWTH, LONGEST_WAIT_SECONDS)


async def _attempt(
    session: ClientSession, work: Callable[[ClientSession], Awaitable[Result]], deadline: float
) -> Result:
    await session.start_transaction()
    try:
        result = await work(session)
        await _commit(session, deadline)
    finally:
        if session.in_transaction:
            await _abort(session)
    return result


async def _abort(session: ClientSession) -> None:
    """Ends the transaction, also that of a request whose time is over or which is cancelled: nothing stays locked.

    The driver would not even send the command past the deadline of its context, hence a context of its own.
    """
    await asyncio.shield(asyncio.create_task(session.abort_transaction(), context=Context()))


async def _commit(session: ClientSession, deadline: float) -> None:
    """A commit can be repeated: MongoDB answers how the first one ended."""
    while True:
        try:
            return await session.commit_transaction()
        except PyMongoError as error:
            if getattr(error, "code", None) == MAX_TIME_EXPIRED or not _may_retry(error, RETRY_COMMIT, deadline):
                raise


def _may_retry(error: Exception, label: str, deadline: float) -> bool:
    """Whether the driver put `label` on the error, or on the one that it was translated from; and time is left."""
    source = error if isinstance(error, PyMongoError) else error.__cause__
    left = _csot.remaining()
    is_late = time.monotonic() > deadline or (left is not None and left <= 0)
    return not is_late and isinstance(source, PyMongoError) and source.has_error_label(label)
