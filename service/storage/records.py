"""Records `{_id, data, created_at, updated_at, ...}`, users and documents alike: one MongoDB command for each call.

What every request does, finding one record and reading a page, is sent as a plain command: the driver's cursors take a
seventh more of the processor for the same (docs/performance.md). Both read from the primary, whatever MONGODB_URI says, for
a user who is deleted must be gone at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pymongo import ReturnDocument
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import AutoReconnect, BulkWriteError

from service.errors import Invalid, ServiceError
from service.storage.client import Document
from service.storage.errors import translated, write_error

Projection = Mapping[str, int]


class Records:
    """The records of one MongoDB collection. Every call raises the errors of `errors.translated`."""

    __slots__ = ("collection", "name")

    def __init__(self, collection: AsyncCollection[Document]) -> None:
        self.collection = collection
        self.name = collection.name

    async def insert(self, record: Document) -> None:
        with translated():
            await self.collection.insert_one(record)

    async def insert_many(self, records: Sequence[Document]) -> None:
        with translated():
            await self.collection.insert_many(records, ordered=False)

    async def insert_each(self, records: Sequence[Document]) -> dict[int, ServiceError]:
        """Stores what it can, in one batch. Position → DuplicateValue or RejectedByValidator, for the rest."""
        with translated():
            try:
                await self.collection.insert_many(records, ordered=False)
            except BulkWriteError as error:
                if error.details["writeConcernErrors"]:
                    raise
                return {each["index"]: write_error(each) for each in error.details["writeErrors"]}
        return {}

    async def find(self, match: Document, fields: Projection | None = None) -> Document | None:
        command: Document = {"find": self.name, "filter": match, "limit": 1, "singleBatch": True}
        if fields is not None:
            command["projection"] = fields
        batch = (await self._read(command))["firstBatch"]
        return batch[0] if batch else None

    async def update(self, match: Document, changes: Document, fields: Projection | None = None) -> Document | None:
        """Changes the record that matches, atomically, and returns it as it is afterwards; None where none matches."""
        with translated():
            return await self.collection.find_one_and_update(
                match, changes, projection=fields, return_document=ReturnDocument.AFTER
            )

    async def delete(self, match: Document) -> bool:
        """Whether there was a record to delete."""
        with translated():
            return (await self.collection.delete_one(match)).deleted_count == 1

    async def aggregate(self, stages: Sequence[Mapping[str, Any]], *, size: int) -> list[Document]:
        """All rows of a pipeline that gives at most `size`; they come in one batch, unless they exceed 16 MB."""
        with translated():
            # One more than can come tells the server to close the cursor with the first batch.
            cursor = await self.collection.aggregate(stages, batchSize=size + 1)
            return await cursor.to_list()

    async def page(self, stages: Sequence[Mapping[str, Any]], *, size: int) -> list[Document]:
        """All rows of a pipeline that gives at most `size`, in one reply of MongoDB, which holds 16 MB.

        So a worker's memory is bounded however large the records are. Raises Invalid where they do not fit.
        """
        # One more than can come tells the server to close the cursor with the first batch.
        cursor = await self._read({"aggregate": self.name, "pipeline": stages, "cursor": {"batchSize": size + 1}})
        if cursor["id"]:
            await self._close(cursor["id"])
            msg = "The records of this page are larger than 16 MB together; ask for fewer"
            raise Invalid.one(("query", "limit"), msg, type_="page_too_large")
        found: list[Document] = cursor["firstBatch"]
        return found

    async def _read(self, command: Document) -> Document:
        """The `cursor` of the reply. Tried once more where the connection or the primary was lost, as drivers do.

        MongoDB's specification of retryable reads; the driver leaves out commands that it is handed whole. A lapsed
        deadline is no reason to try again.
        """
        with translated():
            try:
                return await self._run(command)
            except AutoReconnect as error:
                if error.timeout:
                    raise
                return await self._run(command)

    async def _run(self, command: Document) -> Document:
        collection = self.collection
        reply = await collection.database.command(command, codec_options=collection.codec_options)
        cursor: Document = reply["cursor"]
        return cursor

    async def _close(self, cursor_id: int) -> None:
        with translated():
            await self.collection.database.command({"killCursors": self.name, "cursors": [cursor_id]})

    async def count_all(self) -> int:
        """The number of records by the collection's metadata, which costs no scan."""
        with translated():
            return await self.collection.estimated_document_count()
