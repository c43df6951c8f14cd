"""Records `{_id, data, created_at, updated_at, ...}`, users and documents alike: one MongoDB command for each call."""

from collections.abc import Mapping, Sequence
from typing import Any

from pymongo import ReturnDocument
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError

from service.errors import ServiceError
from service.storage.mongo import Document, translated, write_error

Fields = Mapping[str, int]


class Records:
    """The records of one MongoDB collection. Every call raises the errors of `mongo.translated`."""

    __slots__ = ("collection",)

    def __init__(self, collection: AsyncCollection[Document]) -> None:
        self.collection = collection

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

    async def find(self, match: Document, fields: Fields | None = None) -> Document | None:
        with translated():
            return await self.collection.find_one(match, fields)

    async def update(self, match: Document, changes: Document, fields: Fields | None = None) -> Document | None:
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

    async def count_all(self) -> int:
        """The number of records by the collection's metadata, which costs no scan."""
        with translated():
            return await self.collection.estimated_document_count()
