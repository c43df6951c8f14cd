"""What is written in the whole deployment, as MongoDB's change stream tells it: of some collections, in order, by moments.

A moment is MongoDB's cluster time, as one whole number. All that is written in one transaction has the same, and comes
together. The stream is asked by plain commands, in one session on a client of its own: a stream holds a connection, and
MongoDB refuses to go on with it in another session.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from bson import Timestamp
from pymongo.errors import OperationFailure, PyMongoError

from service.bounds import MAX_IMAGE_BYTES
from service.errors import Unavailable
from service.storage.client import Client, Document

# The name of a database and of a collection in it.
Namespace = tuple[str, str]
# What stands for a record that is too large to be told, and for one that MongoDB kept no image of.
LARGE: Final = "large"
LOST: Final = None
Image = Document | Literal["large"] | None
CHANGES = ("insert", "update", "replace", "delete")

WAIT_MS = 1_000
# When the connection counts as lost: MongoDB answers after WAIT_MS at the latest.
REPLY_SECONDS = 15.0
# What it may take to read what somebody missed.
BETWEEN_SECONDS = 10.0
# One after the other within a transaction; the next reply has the rest of a moment, if there is any.
NO_WAIT_MS = 1
BATCH = 1_000
# Up to this many collections each is named to MongoDB; it compares more of them one after the other for each write.
NAMED = 64
# CursorNotFound, and what interrupts a member: the stream is opened again. History that is gone is not there to be read.
HISTORY_LOST = frozenset({280, 286})
HIDDEN = ("password", "oauth_id")


@dataclass(frozen=True, slots=True)
class Change:
    """One record that was written: what it was, None where it was not there; and what it is, None where it is gone.

    An image is LARGE where it is too large to be told. `is_complete` is false where MongoDB kept none.
    """

    namespace: Namespace
    id: Any
    before: Image
    after: Image
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Moment:
    """What was written at one cluster time."""

    at: int
    changes: Sequence[Change]


class HistoryLost(Exception):
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
    """What has come of one moment, of which more may come."""

    at: int = 0
    in_transaction: bool = False
    events: list[Document] = field(default_factory=list)


class ChangeStream:
    """One stream over all collections of `namespaces`, but for those of `without`, of what is later than `position`."""

    def __init__(
        self,
        client: Client,
        namespaces: Iterable[Namespace],
        position: int,
        prefix: str,
        *,
        without: Iterable[Namespace] = (),
        wait_ms: int = WAIT_MS,
    ) -> None:
        self.namespaces = frozenset(namespaces)
        self.without = frozenset(without)
        # All that was written up to here was told.
        self.position = position
        self._client = client
        self._wait_ms = wait_ms
        self._prefix = prefix
        self._session = client.start_session()
        self._cursor: Any = None
        self._group = _Group()
        # Whether the last reply had nothing; and the moment up to which MongoDB has then looked.
        self.is_idle = False
        # Whether it had as much as a reply holds, so that there is more.
        self.is_full = False
        self.looked_at = 0
        # When the first of its changes was written.
        self.written_at: datetime | None = None

    async def next_moments(self) -> list[Moment]:
        """What came; nothing after a second without anything. Raises HistoryLost, PyMongoError, TimeoutError."""
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                reply = await (self._open() if self._cursor is None else self._more())
        except OperationFailure as error:
            if error.code in HISTORY_LOST or error.has_error_label("NonResumableChangeStreamError"):
                raise HistoryLost from error
            raise
        cursor = reply["cursor"]
        self._cursor = cursor["id"]
        if not self._cursor:
            raise HistoryLost
        return self._read(cursor.get("firstBatch") or cursor.get("nextBatch") or [], cursor)

    async def _open(self) -> Document:
        stages = [
            {
                "$changeStream": {
                    "allChangesForCluster": True,
                    "fullDocument": "whenAvailable",
                    "fullDocumentBeforeChange": "whenAvailable",
                    "startAtOperationTime": to_timestamp(self.position + 1),
                }
            },
            *_stages(self.namespaces, self.without, self._prefix),
        ]
        command = {
            "aggregate": 1,
            "pipeline": stages,
            "cursor": {"batchSize": BATCH},
            "readConcern": {"level": "majority"},
        }
        reply: Document = await self._client.admin.command(command, session=self._session)
        return reply

    async def _more(self) -> Document:
        wait = NO_WAIT_MS if self._group.events else self._wait_ms
        command = {"getMore": self._cursor, "collection": "$cmd.aggregate", "batchSize": BATCH, "maxTimeMS": wait}
        reply: Document = await self._client.admin.command(
            command, session=self._session, codec_options=self._client.codec_options
        )
        return reply

    def _read(self, events: Sequence[Document], cursor: Document) -> list[Moment]:
        """The moments that are complete. That of which a reply may have cut off the rest is when something later comes, or

        nothing: a transaction's, and that of a batch, which some versions of MongoDB write as one.
        """
        moments: list[Moment] = []
        for event in events:
            at = to_number(event["clusterTime"])
            if self._group.events and at != self._group.at:
                moments.append(self._take())
            self._group.at, self._group.in_transaction = at, "txnNumber" in event
            self._group.events.append(event)
        self.is_full = len(events) >= BATCH
        self.written_at = events[0].get("wallTime") if events else None
        has_more = self.is_full or self._group.in_transaction or len(self._group.events) > 1
        if self._group.events and not (events and has_more):
            moments.append(self._take())
        self.looked_at, self.is_idle = _seen(cursor.get("postBatchResumeToken")), not events
        if not self._group.events:
            self.position = max(self.position, self.looked_at - 1)
        return [moment for moment in moments if moment.changes]

    def _take(self) -> Moment:
        group, self._group = self._group, _Group()
        # A stream that is opened in the middle of what was told tells some of it again.
        is_new = group.at > self.position
        self.position = max(self.position, group.at)
        changes = [_read_change(event) for event in group.events if event["operationType"] in CHANGES]
        return Moment(group.at, changes if is_new else ())

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


async def find_between(
    client: Client, namespace: Namespace, after: int, until: int, *, most: int, prefix: str
) -> list[Moment] | None:
    """What was written in a collection later than `after` and up to `until`; None where that is more than so many changes.

    Raises HistoryLost, PyMongoError, TimeoutError.
    """
    stream, found, count = ChangeStream(client, (namespace,), after, prefix, wait_ms=NO_WAIT_MS), list[Moment](), 0
    try:
        async with asyncio.timeout(BETWEEN_SECONDS):
            while stream.position < until and not (stream.is_idle and stream.looked_at >= until):
                moments = await stream.next_moments()
                found += (moment for moment in moments if moment.at <= until)
                count += sum(len(moment.changes) for moment in moments)
                if count > most:
                    return None
    finally:
        await stream.close()
    return found


def _stages(namespaces: frozenset[Namespace], without: frozenset[Namespace], prefix: str) -> list[Document]:
    """Only the collections that somebody follows; without what nobody may see, and what is too large for one event."""
    match: Document = {"ns": {"$in": _named(namespaces - without)}}
    if len(namespaces) > NAMED:
        match = {"ns.db": {"$regex": f"^{prefix}p_"}, **({"ns": {"$nin": _named(without)}} if without else {})}
    images = ("fullDocument", "fullDocumentBeforeChange")
    return [
        {"$match": {**match, "operationType": {"$in": list(CHANGES)}}},
        {"$set": {image: _within(f"${image}") for image in images}},
        {"$unset": ["updateDescription", *(f"{image}.{name}" for image in images for name in HIDDEN)]},
    ]


def _named(namespaces: Iterable[Namespace]) -> list[Document]:
    return [{"db": database, "coll": collection} for database, collection in sorted(namespaces)]


def _within(image: str) -> Document:
    size = {"$bsonSize": {"$cond": [{"$eq": [{"$type": image}, "object"]}, image, {}]}}
    return {"$cond": [{"$gt": [size, int(MAX_IMAGE_BYTES)]}, LARGE, image]}


def _read_change(event: Mapping[str, Any]) -> Change:
    kind, before, after = event["operationType"], event.get("fullDocumentBeforeChange"), event.get("fullDocument")
    is_complete = (kind == "insert" or before is not None) and (kind == "delete" or after is not None)
    namespace = event["ns"]["db"], event["ns"]["coll"]
    return Change(namespace, event["documentKey"]["_id"], before, after, is_complete)


def _seen(token: Mapping[str, Any] | None) -> int:
    """The moment up to which the stream has looked: a token begins with its type, 0x82, and that."""
    data = token.get("_data") if token else None
    return int(data[2:18], 16) if isinstance(data, str) and data.startswith("82") and len(data) >= 18 else 0


def is_lost(error: BaseException) -> bool:
    """Whether a stream ended because MongoDB was away, so that it can be opened again."""
    return isinstance(error, PyMongoError | TimeoutError | Unavailable)
