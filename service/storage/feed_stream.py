"""The writes that the feed tells of, from a change stream of the whole deployment, in the order of their places.

A place is a cluster time and the number of the operation within its transaction, 0 outside of one. The number is
MongoDB's own (the resume token has it), so that it is the same for every filter of a stream.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from service.storage.change_feed import HISTORY_LOST, REPLY_SECONDS, FeedHistoryLost, to_number, to_timestamp
from service.storage.change_stages import AFTER, BEFORE, CHANGES, NAMED, within_size
from service.storage.client import Client, Document
from service.storage.layout import COLLECTIONS, DOCUMENTS, EVENTS, USERS
from service.storage.rules import RULES

WAIT_MS = 1_000
BATCH = 1_000
# The fields of a user that events may show, with the names of files, which become URLs. There is no list of hidden ones.
SHOWN_OF_USERS = (
    *("_id", "email", "data", "created_at", "updated_at", "email_verified", "disabled", "claims", "roles"),
    *("last_sign_in_at", "files", "by"),
)
# In an event: the names of changed fields, those within a replaced `data`, and the author of an update.
CHANGED, REPLACED, AUTHOR = "changed", "replaced", "author"
UPDATED = "$updateDescription.updatedFields"
# The digits of a resume token before the number of the operation: its type, cluster time, version and kind.
TOKEN_HEAD = 28
ZERO, ONE_BYTE = 0x29, 0x2B


class FeedPlace(NamedTuple):
    """A place in the feed; all writes before it are done."""

    moment: int
    operation: int = 0

    @property
    def cursor(self) -> str:
        return f"{self.moment:016x}{self.operation:06x}"


@dataclass(frozen=True, slots=True)
class Followed:
    """The MongoDB collections to follow of each project's database, and those of the system's whose records define that.

    A database with `DOCUMENTS` among its names is followed in all of its collections of documents.
    """

    system: str
    prefix: str
    databases: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def match(self) -> Document:
        definitions = {"ns.db": self.system, "ns.coll": "projects"}
        if len(self.databases) > NAMED:
            kinds = _match_names(frozenset({USERS, EVENTS, COLLECTIONS, RULES, DOCUMENTS}))
            return {"$or": [definitions, *({"ns.db": {"$regex": f"^{self.prefix}p_"}, **each} for each in kinds)]}
        named = [
            {"ns.db": database, **each}
            for database, names in sorted(self.databases.items())
            for each in _match_names(names)
        ]
        return {"$or": [definitions, *named]}


def _match_names(names: frozenset[str]) -> list[Document]:
    found: list[Document] = [{"ns.coll": {"$in": sorted(names - {DOCUMENTS})}}] if names - {DOCUMENTS} else []
    return [*found, {"ns.coll": {"$regex": f"^{DOCUMENTS}"}}] if DOCUMENTS in names else found


@dataclass(frozen=True, slots=True)
class FeedChange:
    """One write: its place, its collection, and MongoDB's event, which stays encoded."""

    place: FeedPlace
    database: str
    collection: str
    event: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.event["operationType"])

    @property
    def size(self) -> int:
        """The bytes of the event as MongoDB sent it."""
        return measure_image(self.event)


class FeedStream:
    """The writes from `place` on. Raises FeedHistoryLost, PyMongoError and TimeoutError."""

    def __init__(self, client: Client, followed: Followed, place: FeedPlace) -> None:
        # The place behind all writes that were returned.
        self.place = place
        self._client = client
        self._stages = [{"$match": {**followed.match(), "operationType": {"$in": [*CHANGES]}}}, *_reduce(followed)]
        self._encoded = client.codec_options.with_options(document_class=RawBSONDocument)
        self._session = client.start_session()
        self._cursor: Any = None

    async def next_changes(self, wait_ms: int = WAIT_MS) -> Sequence[FeedChange]:
        """The next writes; empty after `wait_ms` without any."""
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                cursor = (await self._run(self._open() if self._cursor is None else self._more(wait_ms)))["cursor"]
        except OperationFailure as error:
            if error.code in HISTORY_LOST or error.has_error_label("NonResumableChangeStreamError"):
                raise FeedHistoryLost from error
            raise
        self._cursor = cursor["id"]
        if not self._cursor:
            raise FeedHistoryLost
        began = self.place
        changes = [_read(event) for event in cursor.get("firstBatch") or cursor.get("nextBatch") or []]
        self._advance(changes, cursor.get("postBatchResumeToken"))
        return [change for change in changes if change.place >= began]

    def _advance(self, changes: Sequence[FeedChange], token: Mapping[str, Any] | None) -> None:
        """MongoDB has looked at all before the moment of its token; of that moment more may come."""
        if changes:
            last = changes[-1].place
            self.place = max(self.place, FeedPlace(last.moment, last.operation + 1))
        if token is not None:
            self.place = max(self.place, FeedPlace(int(token["_data"][2:18], 16)))

    def _open(self) -> Document:
        stream = {
            "allChangesForCluster": True,
            AFTER: "whenAvailable",
            BEFORE: "whenAvailable",
            "startAtOperationTime": to_timestamp(self.place.moment),
        }
        cursor, concern = {"batchSize": BATCH}, {"level": "majority"}
        stages = [{"$changeStream": stream}, *self._stages]
        return {"aggregate": 1, "pipeline": stages, "cursor": cursor, "readConcern": concern}

    def _more(self, wait_ms: int) -> Document:
        return {"getMore": self._cursor, "collection": "$cmd.aggregate", "batchSize": BATCH, "maxTimeMS": wait_ms}

    async def _run(self, command: Document) -> Mapping[str, Any]:
        return await self._client.admin.command(command, session=self._session, codec_options=self._encoded)

    async def close(self) -> None:
        """Ends the cursor at MongoDB, too. Raises PyMongoError, TimeoutError."""
        async with asyncio.timeout(1.0):
            if self._cursor:
                kill = {"killCursors": "$cmd.aggregate", "cursors": [self._cursor]}
                await self._client.admin.command(kill, session=self._session)
            await self._session.end_session()


def _reduce(followed: Followed) -> list[Document]:
    """Leaves of each event what the feed may know: of users an allow-list, of definitions nothing."""
    images = {image: _reduce_image(image, followed) for image in (AFTER, BEFORE)}
    names = {"$concatArrays": [_names(UPDATED), _default("$updateDescription.removedFields"), _truncated()]}
    author = _default(f"{UPDATED}.by", default=None)
    added: Document = {**images, CHANGED: names, REPLACED: _names(f"{UPDATED}.data"), AUTHOR: author}
    return [{"$set": added}, {"$unset": ["updateDescription", f"{BEFORE}.by"]}]


def _reduce_image(image: str, followed: Followed) -> Document:
    of_user = {name: f"${image}.{name}" for name in SHOWN_OF_USERS}
    has_image = {"$eq": [{"$type": f"${image}"}, "object"]}
    is_hidden = {"$or": [{"$eq": ["$ns.db", followed.system]}, {"$eq": ["$ns.coll", RULES]}, {"$not": has_image}]}
    branches = [
        {"case": is_hidden, "then": None},
        {"case": {"$eq": ["$ns.coll", USERS]}, "then": of_user},
        {
            "case": {"$eq": ["$ns.coll", COLLECTIONS]},
            "then": {"_id": f"${image}._id", "change": f"${image}.change.kind"},
        },
    ]
    return {"$switch": {"branches": branches, "default": within_size(f"${image}")}}


def _names(fields: str) -> Document:
    """The names of the fields of an object; none where it is no object."""
    is_object = {"$eq": [{"$type": fields}, "object"]}
    named = {"$map": {"input": {"$objectToArray": fields}, "in": "$$this.k"}}
    return {"$cond": [is_object, named, []]}


def _truncated() -> Document:
    return {"$map": {"input": _default("$updateDescription.truncatedArrays"), "in": "$$this.field"}}


def _default(path: str, default: Any = ()) -> Document:
    return {"$ifNull": [path, [] if default == () else default]}


def _read(event: Mapping[str, Any]) -> FeedChange:
    moment = to_number(event["clusterTime"])
    place = FeedPlace(moment, read_operation(event["_id"]["_data"]))
    return FeedChange(place, event["ns"]["db"], event["ns"]["coll"], event)


def measure_image(image: Any) -> int:
    """The bytes of an encoded record."""
    return len(image.raw)


def read_operation(token: str) -> int:
    """The number of an operation within its transaction, from the `_data` of its resume token.

    MongoDB writes it as a KeyString: a byte for 0, or one that says how many bytes of the doubled number follow.
    """
    kind = int(token[TOKEN_HEAD : TOKEN_HEAD + 2], 16)
    if kind == ZERO:
        return 0
    start = TOKEN_HEAD + 2
    return int(token[start : start + 2 * (kind - ONE_BYTE + 1)], 16) >> 1
