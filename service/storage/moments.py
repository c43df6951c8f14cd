"""A project's records as they all were at one moment, as raw batches of BSON in the order of their ids.

MongoDB keeps the past for `minSnapshotHistoryWindowInSeconds`; a reader that takes longer meets HistoryLost. It says
nothing of a collection that was dropped since: a reader compares the catalogs of before and after.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson import Timestamp, json_util
from pymongo import timeout
from pymongo.read_concern import ReadConcern

from service.errors import CatalogChanged, HistoryLost
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.errors import KnownErrors
from service.storage.files.stored import CHUNKS
from service.storage.layout import INTENTS
from service.storage.records import read, translated

# Documents of a batch, which MongoDB ends at 16 MB whatever their number; and chunks, of 255 KiB each.
BATCH = 1_000
CHUNKS_AT_ONCE = 16
BATCH_SECONDS = 120.0
EVERYTHING: Mapping[str, Any] = {}
# MongoDB's QueryPlanKilled, SnapshotUnavailable and SnapshotTooOld.
LOST: KnownErrors = {175: CatalogChanged, 246: CatalogChanged, 239: HistoryLost}


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of the catalog: its identity, which a collection made again under its name lacks, and its options."""

    uuid: bytes
    options: Mapping[str, Any]


class _At(ReadConcern):
    """Reads of one moment, without a session, which would choose its own."""

    def __init__(self, at: Timestamp) -> None:
        super().__init__("snapshot")
        self._at = at

    @property
    def document(self) -> dict[str, Any]:
        return {"level": self.level, "atClusterTime": self._at}


class Moment:
    """Reads one project's records as they were at the cluster time `at`."""

    def __init__(self, database: ProjectDatabase, at: Timestamp) -> None:
        self._database = database.database
        self._concern = _At(at)
        self.at = at

    async def read(self, collection: str, match: Mapping[str, Any] = EVERYTHING) -> AsyncIterator[bytes]:
        """Whole documents in the order of `_id`, at most 16 MB at once. Raises HistoryLost, CatalogChanged, Unavailable."""
        source = self._database[collection].with_options(read_concern=self._concern)
        async for batch in _batches(source.find_raw_batches(match, sort=[("_id", 1)], batch_size=BATCH)):
            yield batch


async def open_moment(database: ProjectDatabase) -> Moment:
    """The present moment. The project's database must have its intents."""
    command: Document = {"find": INTENTS, "limit": 1, "singleBatch": True, "projection": {"_id": 1}}
    reply = await read(database.database[INTENTS], None, {**command, "readConcern": {"level": "snapshot"}})
    return Moment(database, reply["cursor"]["atClusterTime"])


async def read_chunks(database: ProjectDatabase, files: Sequence[object]) -> AsyncIterator[bytes]:
    """The chunks of these files as they are now, file by file in the order of names. Raises Unavailable."""
    order = [("files_id", 1), ("n", 1)]
    cursor = database.database[CHUNKS].find_raw_batches(
        {"files_id": {"$in": list(files)}}, sort=order, hint=order, batch_size=CHUNKS_AT_ONCE
    )
    async for batch in _batches(cursor):
        yield batch


async def _batches(cursor: Any) -> AsyncIterator[bytes]:
    """The batches of a cursor, each within its own time."""
    try:
        while True:
            with translated("read the records", LOST), timeout(0):
                async with asyncio.timeout(BATCH_SECONDS):
                    try:
                        batch = await cursor.next()
                    except StopAsyncIteration:
                        return
            yield batch
    finally:
        with timeout(0):
            await cursor.close()


async def estimate_records(database: ProjectDatabase) -> dict[str, int]:
    """About how many records a backup reads, by its phases."""
    with translated("count the records"):
        chunks = await database.database[CHUNKS].estimated_document_count()
        total = int((await database.database.command("dbStats"))["objects"])
    return {"documents": max(total - chunks, 0), "chunks of files": chunks}


async def read_catalog(database: ProjectDatabase) -> dict[str, CollectionInfo]:
    """The collections that the database has now, by their names."""
    with translated("list the collections"):
        found = await (await database.database.list_collections(filter={"type": "collection"})).to_list()
    return {each["name"]: CollectionInfo(bytes(each["info"]["uuid"]), each["options"]) for each in found}


async def describe_collection(database: ProjectDatabase, name: str, info: CollectionInfo) -> str:
    """The options and the indexes of a collection as `mongodump` writes them, in canonical Extended JSON."""
    with translated("list the indexes"):
        indexes = await (await database.database[name].list_indexes()).to_list()
    metadata = {
        "options": info.options,
        "indexes": [dict(index) for index in indexes],
        "uuid": info.uuid.hex(),
        "collectionName": name,
        "type": "collection",
    }
    return json_util.dumps(metadata, json_options=json_util.CANONICAL_JSON_OPTIONS)
