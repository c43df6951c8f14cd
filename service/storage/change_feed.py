"""The writes of the whole deployment, from MongoDB's change stream: of some collections, in order, by moments.

A moment is MongoDB's cluster time, as one whole number. All writes of one transaction have the same, and come together.
The stream is read by plain commands, in one session on a client of its own: a stream holds a connection, and MongoDB
refuses to continue it in another session.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bson import Timestamp
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure, PyMongoError

from service.errors import Unavailable
from service.storage.change_stages import AFTER, BEFORE, CHANGES, WantedAt, find_stages
from service.storage.change_stages import LARGE as LARGE
from service.storage.change_stages import Namespace as Namespace
from service.storage.changes import FeedMoment as FeedMoment
from service.storage.changes import RecordChange as RecordChange
from service.storage.changes import read_change
from service.storage.client import Client, Document

WAIT_MS = 1_000
# When the connection counts as lost: MongoDB answers after WAIT_MS at the latest.
REPLY_SECONDS = 15.0
# One after the other within a transaction; the next reply has the rest of a moment, if there is any.
NO_WAIT_MS = 1
BATCH = 1_000
# Events of the first reply to a resume, and of the largest: each reply has twice those of the one before.
FIRST_BATCH, LARGEST_BATCH = 4, 128
# CursorNotFound, and what interrupts a member: the stream is opened again. History that is gone is not there to be read.
HISTORY_LOST = frozenset({280, 286})


class FeedHistoryLost(Exception):
    """MongoDB keeps no longer what the stream would begin with, or has an event that no reply holds."""


def to_number(moment: Timestamp) -> int:
    return (int(moment.time) << 32) | int(moment.inc)


def to_timestamp(number: int) -> Timestamp:
    return Timestamp(number >> 32, number & 0xFFFFFFFF)


async def find_now(client: Client) -> int:
    """The cluster time of the primary. Raises PyMongoError."""
    async with asyncio.timeout(REPLY_SECONDS):
        return to_number((await client.admin.command("ping"))["operationTime"])


@dataclass(slots=True)
class _Group:
    """Events of one cluster time; the group may be incomplete."""

    at: int = 0
    in_transaction: bool = False
    events: list[Mapping[str, Any]] = field(default_factory=list)


class ChangeStream:
    """One stream over all collections of `namespaces`, without those of `without`, of the writes after `position`."""

    def __init__(
        self,
        client: Client,
        namespaces: Iterable[Namespace],
        position: int,
        prefix: str,
        *,
        without: Iterable[Namespace] = (),
        wanted: WantedAt | None = None,
        wait_ms: int = WAIT_MS,
        batch: int | None = None,
    ) -> None:
        self.namespaces = frozenset(namespaces)
        self.without = frozenset(without)
        # Maximum number of events of a reply.
        self.batch = batch or BATCH
        # The moment up to which all writes were delivered.
        self.position = position
        self._client = client
        # Events are decoded when they are delivered: a reply of 16 MB at once would hold the event loop.
        self._encoded = client.codec_options.with_options(document_class=RawBSONDocument)
        self._began_at = position
        self._wanted = wanted
        self._wait_ms = wait_ms
        self._prefix = prefix
        self._session = client.start_session()
        self._cursor: Any = None
        self._group = _Group()
        # True if the last reply was empty; and the moment up to which MongoDB has then looked.
        self.is_idle = False
        # True if the last reply was full, so that there is more.
        self.is_full = False
        self.looked_at = 0
        # When the first of its changes was written.
        self.written_at: datetime | None = None

    async def next_moments(self) -> list[FeedMoment]:
        """The next moments; empty after a second without any. Raises HistoryLost, PyMongoError, TimeoutError."""
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                reply = await (self._open() if self._cursor is None else self._more())
        except OperationFailure as error:
            if error.code in HISTORY_LOST or error.has_error_label("NonResumableChangeStreamError"):
                raise FeedHistoryLost from error
            raise
        cursor = reply["cursor"]
        self._cursor = cursor["id"]
        if not self._cursor:
            raise FeedHistoryLost
        return self._read(cursor.get("firstBatch") or cursor.get("nextBatch") or [], cursor)

    async def _open(self) -> Mapping[str, Any]:
        stages = [
            {
                "$changeStream": {
                    "allChangesForCluster": True,
                    AFTER: "whenAvailable",
                    BEFORE: "whenAvailable",
                    "startAtOperationTime": to_timestamp(self.position + 1),
                }
            },
            *find_stages(self.namespaces, self.without, self._prefix, self._wanted),
        ]
        command = {
            "aggregate": 1,
            "pipeline": stages,
            "cursor": {"batchSize": self.batch},
            "readConcern": {"level": "majority"},
        }
        return await self._run(command)

    async def _more(self) -> Mapping[str, Any]:
        wait = NO_WAIT_MS if self._group.events else self._wait_ms
        command = {"getMore": self._cursor, "collection": "$cmd.aggregate", "batchSize": self.batch, "maxTimeMS": wait}
        return await self._run(command)

    async def _run(self, command: Document) -> Mapping[str, Any]:
        return await self._client.admin.command(command, session=self._session, codec_options=self._encoded)

    def _read(self, events: Sequence[Mapping[str, Any]], cursor: Mapping[str, Any]) -> list[FeedMoment]:
        """The complete moments: no more events of them can come."""
        moments: list[FeedMoment] = []
        for event in events:
            at = to_number(event["clusterTime"])
            if self._group.events and at != self._group.at:
                moments.append(self._take())
            self._group.at, self._group.in_transaction = at, "txnNumber" in event
            self._group.events.append(event)
        self.is_full = len(events) >= self.batch
        self.written_at = events[0].get("wallTime") if events else None
        self.looked_at, self.is_idle = _seen(cursor.get("postBatchResumeToken")), not events
        if self._group.events and self._is_whole(len(events)):
            moments.append(self._take())
        if not self._group.events:
            self.position = max(self.position, self.looked_at - 1)
        return [moment for moment in moments if moment.changes]

    def _is_whole(self, count: int) -> bool:
        """True if the last moment of a reply of `count` events is complete.

        The reply's token decides: MongoDB puts it later than the last event only where it has looked further. A reply of
        one event was not cut at 16 MB, for two events of our size fit.

        """
        if not count or self.looked_at > self._group.at:
            return True
        return count == 1 and not self.is_full and not self._group.in_transaction

    def _take(self) -> FeedMoment:
        group, self._group = self._group, _Group()
        # A stream that is opened in the middle of a moment delivers some of it again.
        is_new = group.at > self._began_at
        self.position = max(self.position, group.at)
        options = self._client.codec_options
        changes = [read_change(event, options) for event in group.events if event["operationType"] in CHANGES]
        return FeedMoment(group.at, changes if is_new else ())

    async def close(self) -> None:
        """As far as MongoDB answers."""
        try:
            async with asyncio.timeout(1.0):
                if self._cursor:
                    command = {"killCursors": "$cmd.aggregate", "cursors": [self._cursor]}
                    await self._client.admin.command(command, session=self._session)
                await self._session.end_session()
        except (PyMongoError, TimeoutError):
            pass


async def read_between(
    client: Client, namespace: Namespace, after: int, until: int, *, wanted: WantedAt, prefix: str
) -> AsyncGenerator[RecordChange, None]:
    """The changes of a collection later than `after` and up to `until` of records that `wanted` finds, before or after.

    Changes without an image, or with one too large, are among them. Raises HistoryLost, PyMongoError, TimeoutError.
    """
    options: Any = {"wanted": wanted, "wait_ms": NO_WAIT_MS, "batch": FIRST_BATCH}
    stream = ChangeStream(client, (namespace,), after, prefix, **options)
    try:
        while stream.position < until and not (stream.is_idle and stream.looked_at >= until):
            for moment in await stream.next_moments():
                for change in moment.changes if moment.at <= until else ():
                    yield change
            stream.batch = min(2 * stream.batch, LARGEST_BATCH)
    finally:
        await stream.close()


def _seen(token: Mapping[str, Any] | None) -> int:
    """The moment up to which the stream has looked: a token begins with its type, 0x82, and that."""
    data = token.get("_data") if token else None
    return int(data[2:18], 16) if isinstance(data, str) and data.startswith("82") and len(data) >= 18 else 0


def is_lost(error: BaseException) -> bool:
    """True if a stream ended because MongoDB was away, so that it can be opened again."""
    return isinstance(error, PyMongoError | TimeoutError | Unavailable)
