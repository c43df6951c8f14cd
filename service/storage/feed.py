"""The feed of the deployment, in the system's database: one record, and the log of events.

    feed      {_id: "feed", epoch, session, moment, operation, at, since}
    feed_log  {_id: cursor, project_id, type, at, data, after?, before?, expires}

One process, the leader, writes both, in one transaction: an event is in the log exactly once. The transaction matches
the epoch, which each start of a leader raises, so that an earlier leader's commit is aborted as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import decode
from bson.codec_options import CodecOptions, DatetimeConversion
from pymongo import ASCENDING, IndexModel, timeout
from pymongo.errors import OperationFailure

from service.errors import QueryTooSlow
from service.storage.change_feed import find_now
from service.storage.client import Client, ClientSession, Document
from service.storage.databases import Databases
from service.storage.encoded_rows import EncodedRow, keep_encoded
from service.storage.errors import MAX_TIME_EXPIRED, KnownErrors
from service.storage.feed_stream import FeedPlace
from service.storage.records import read, translated

FEED, LOG = "feed", "feed_log"
COMMIT_SECONDS = 10.0
READ_SECONDS = 5.0
LOG_INDEXES = (
    IndexModel([("project_id", ASCENDING), ("_id", ASCENDING)], name="project_id"),
    IndexModel([("expires", ASCENDING)], name="expires", expireAfterSeconds=0),
)
# A date that another program stored badly must not make every answer that holds it fail.
OPTIONS: CodecOptions[Document] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO, unicode_decode_error_handler="replace"
)
OWN: Document = {"_id": FEED}
TOO_SLOW: KnownErrors = {MAX_TIME_EXPIRED: QueryTooSlow}


class FeedFenced(Exception):
    """Another process leads the feed since; nothing was written."""


@dataclass(frozen=True, slots=True)
class FeedRecord:
    """The position, behind which nothing is in the log, the time of the last write before it, and the feed's beginning."""

    epoch: int
    position: FeedPlace
    at: datetime
    since: int


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A row of the log. The images are the records as MongoDB has them, without what no event shows."""

    cursor: str
    project_id: str
    type: str
    at: datetime
    data: Mapping[str, Any]
    after: Any = None
    before: Any = None


async def ensure_feed(databases: Databases) -> None:
    """Makes the log, and the record at the present moment. Raises the errors of `records.translated`."""
    moment = await find_now(databases.client)
    with translated("prepare the feed"):
        await databases.system[LOG].create_indexes(list(LOG_INDEXES))
        record = {"epoch": 0, "moment": moment, "operation": 0, "since": moment}
        await databases.system[FEED].update_one(
            OWN, [{"$set": {"at": {"$ifNull": ["$at", "$$NOW"]}, **_unless_set(record)}}], upsert=True
        )


def _unless_set(record: Mapping[str, Any]) -> Document:
    return {name: {"$ifNull": [f"${name}", value]} for name, value in record.items()}


async def read_feed(databases: Databases) -> FeedRecord:
    """Raises the errors of `records.translated`."""
    with translated("read the feed"):
        found = await databases.system[FEED].find_one(OWN)
    if found is None:
        await ensure_feed(databases)
        return await read_feed(databases)
    return _read(found)


def _read(found: Document) -> FeedRecord:
    return FeedRecord(found["epoch"], FeedPlace(found["moment"], found["operation"]), found["at"], found["since"])


class FeedWriter:
    """The leader's part: it begins an epoch and commits. Raises FeedFenced, PyMongoError, TimeoutError."""

    def __init__(self, client: Client, databases: Databases) -> None:
        self._client = client
        self._databases = databases
        self._feed = client[databases.system.name][FEED]
        self._log = client[databases.system.name][LOG]
        self.session: ClientSession = client.start_session()
        self.epoch = 0
        # True once a commit succeeded.
        self.has_written = False

    async def begin(self) -> FeedRecord:
        """Ends the transaction of the leader before, which would keep its locks, and begins an epoch."""
        await read_feed(self._databases)
        with timeout(COMMIT_SECONDS):
            before = await self._feed.find_one(OWN)
            if before is not None and (session := before.get("session")) is not None:
                await self._end(session)
            changes: Document = {"$inc": {"epoch": 1}, "$set": {"session": self.session.session_id}}
            found = await self._feed.find_one_and_update(OWN, changes, return_document=True)
        if found is None:
            raise FeedFenced
        self.epoch = found["epoch"]
        return _read(found)

    async def _end(self, session: Document) -> None:
        """Without the right to end sessions the transaction ends by itself, after MongoDB's own time for one."""
        try:
            await self._client.admin.command({"killSessions": [session]})
        except OperationFailure:
            return

    async def commit(
        self, events: Sequence[LoggedEvent], place: FeedPlace, at: datetime | None, expires: datetime
    ) -> None:
        """The log and the position, both or none. `at` is the time of the last write; None for the present."""
        with timeout(COMMIT_SECONDS):
            if events:
                await self._write_all(events, place, at, expires)
            else:
                await self.move(place, at, None)
        self.has_written = True

    async def _write_all(
        self, events: Sequence[LoggedEvent], place: FeedPlace, at: datetime | None, expires: datetime
    ) -> None:
        await self.session.start_transaction()
        try:
            await self.move(place, at, self.session)
            await self._log.insert_many([_write(event, expires) for event in events], session=self.session)
            await self.session.commit_transaction()
        finally:
            if self.session.in_transaction:
                await self.session.abort_transaction()

    async def move(self, place: FeedPlace, at: datetime | None, session: ClientSession | None) -> None:
        """Writes the position, within a transaction where there is a `session`. Raises FeedFenced."""
        moved = {"moment": place.moment, "operation": place.operation, "at": "$$NOW" if at is None else at}
        match = {**OWN, "epoch": self.epoch}
        if not (await self._feed.update_one(match, [{"$set": moved}], session=session)).matched_count:
            raise FeedFenced

    async def close(self) -> None:
        await self.session.end_session()


def _write(event: LoggedEvent, expires: datetime) -> Document:
    row: Document = {
        "_id": event.cursor,
        "project_id": event.project_id,
        "type": event.type,
        "at": event.at,
        "data": event.data,
        "expires": expires,
    }
    images = {"after": event.after, "before": event.before}
    return row | {name: image for name, image in images.items() if image is not None}


async def read_log(databases: Databases, project_id: str, after: str, until: str, *, limit: int) -> list[EncodedRow]:
    """The rows later than the cursor `after` and before `until`, at most 16 MB of them. Raises QueryTooSlow, Unavailable."""
    command: Document = {
        "find": LOG,
        "filter": {"project_id": project_id, "_id": {"$gt": after, "$lt": until}},
        "sort": {"_id": 1},
        "limit": limit,
        "batchSize": limit,
        "singleBatch": True,
    }
    reply = await read(keep_encoded(databases.system[LOG]), None, command, seconds=READ_SECONDS, known=TOO_SLOW)
    found: list[EncodedRow] = list(reply["cursor"]["firstBatch"])
    return found


def read_row(row: EncodedRow) -> LoggedEvent:
    """The event of a row of `read_log`."""
    found = decode(row.raw, OPTIONS)
    return LoggedEvent(
        found["_id"],
        found["project_id"],
        found["type"],
        found["at"],
        found["data"],
        found.get("after"),
        found.get("before"),
    )
