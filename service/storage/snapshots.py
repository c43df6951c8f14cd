"""Records as they all were at one moment: of one page, or read at the pace of the reader, without effect of later writes.

MongoDB keeps the past for `minSnapshotHistoryWindowInSeconds`, 300 by default: a slower reader loses the rest.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import bson
from pymongo import timeout

from service.errors import page_too_large
from service.storage.change_feed import to_number, to_timestamp
from service.storage.client import Document
from service.storage.client import Document as Row
from service.storage.databases import ProjectDatabase
from service.storage.encoded_rows import EncodedRow, keep_encoded
from service.storage.records import PAGE_ERRORS, read, translated

# Seconds MongoDB may work on all batches together, and seconds to wait for one.
WORK_SECONDS = 120
BATCH_SECONDS = 20.0
BATCH = 500


class Snapshot:
    """The rows of one `find`, or of a pipeline, with a session and a cursor of its own.

    The caller must close it in every case.
    """

    def __init__(self, database: ProjectDatabase, collection: str) -> None:
        self._collection = database.database[collection]
        self._session = self._collection.database.client.start_session(snapshot=True)
        self._cursor: Any = None

    def find(self, match: Mapping[str, Any], fields: Mapping[str, int], sort: Mapping[str, int]) -> None:
        """Starts the query whose records `next_batch` reads."""
        self._cursor = self._collection.find_raw_batches(
            match,
            fields,
            sort=list(sort.items()),
            batch_size=BATCH,
            max_time_ms=WORK_SECONDS * 1000,
            session=self._session,
        )

    async def aggregate(self, stages: Sequence[Mapping[str, Any]]) -> None:
        """Begins. Raises as `next_batch`."""
        with translated("read the records"), timeout(0):
            self._cursor = await self._collection.aggregate_raw_batches(
                list(stages), batchSize=BATCH, maxTimeMS=WORK_SECONDS * 1000, session=self._session
            )

    async def next_batch(self) -> Iterator[Row] | None:
        """Up to BATCH rows, at most 16 MB, each decoded as it is taken; None at the end. Raises Unavailable."""
        # The driver's own time would be that of MongoDB's work on all batches together.
        with translated("read the records"), timeout(0):
            async with asyncio.timeout(BATCH_SECONDS):
                try:
                    raw = await self._cursor.next()
                except StopAsyncIteration:
                    return None
        return bson.decode_iter(raw, self._collection.codec_options)

    async def close(self) -> None:
        with translated("close a cursor"):
            if self._cursor is not None:
                await self._cursor.close()
            await self._session.end_session()


async def find_at(
    database: ProjectDatabase, command: Document, after: int, *, seconds: float
) -> tuple[Sequence[EncodedRow], int]:
    """The encoded records that a `find` gives within `seconds`, and the moment of which they are.

    Raises Invalid where they are too large, QueryTooSlow, Unavailable.
    """
    concern = {"level": "snapshot", "afterClusterTime": to_timestamp(after)}
    collection = keep_encoded(database.database[command["find"]])
    reply = await read(collection, None, {**command, "readConcern": concern}, seconds=seconds, known=PAGE_ERRORS)
    cursor = reply["cursor"]
    if cursor["id"]:
        raise page_too_large("The records of this page are larger than 16 MB together")
    return cursor["firstBatch"], to_number(cursor["atClusterTime"])
