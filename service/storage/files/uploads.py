"""Files going in: streamed to GridFS under an intent, which is what a sweep needs to undo an upload that never ended.

Invariants, which hold between any two writes:
- a chunk without an intent belongs to a file that a record names, for each batch of chunks renews its intent in the same
  transaction, and the record is written in the transaction that drops the intent;
- an intent that is condemned never becomes a record, and whatever it names may be removed at any time.
So a sweep needs no look at the records, and cannot meet an upload half-way, however slow or late the upload is.
"""

import time
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar

from bson import Int64, ObjectId

from service.errors import ServiceError, UploadLost
from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import STANDING, condemn, remove
from service.storage.files.stored import CHUNK_BYTES, CHUNKS, FILES, FileMetadata
from service.storage.layout import INTENTS

Result = TypeVar("Result")

# 2 MiB: the driver holds a batch twice while it is sent, and larger ones are not faster.
BATCH_CHUNKS = 8
# However slowly bytes come, the intent is renewed long before it is an hour old.
RENEW = timedelta(minutes=10)
# An upload that begins later than this many seconds looks whether its project is still there.
CONFIRM_AFTER = 5.0


class Upload:
    """The files of one request. Call `write` for each, then `publish`; and `abort` whenever that did not return.

    As a context manager it removes unpublished files itself at the end.
    """

    def __init__(self, database: ProjectDatabase, confirm: Callable[[], Awaitable[object]] | None = None) -> None:
        """`confirm` raises where the project is gone; it is asked when the first bytes come late.

        `places` are the fields and the names of the files so far.
        """
        self._confirm = confirm
        self._made = time.monotonic()
        self.database = database
        self._id = ObjectId()
        self._names: list[str] = []
        self.places: set[tuple[str, str]] = set()
        self._is_begun = False
        self._is_published = False

    async def __aenter__(self) -> "Upload":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # If the database is away, the next sweep removes the files.
        with suppress(ServiceError):
            await self.abort()

    async def write(self, metadata: FileMetadata, content: AsyncIterable[bytes]) -> int:
        """Stores one file as it streams and returns its length in bytes. Not readable by anyone until `publish`.

        Holds at most one batch. Raises what `content` raises, Unavailable, UploadLost.
        """
        self._names.append(metadata.name)
        self.places.add((metadata.field, metadata.name))
        writer = _Writer(self, metadata)
        async for piece in content:
            await writer.add(piece)
        return await writer.finish()

    async def store(self, chunks: list[Document], file: Document | None = None) -> None:
        """A batch of chunks, and the file that they complete: all of it, if the intent still stands."""

        if self._confirm and not self._is_begun and time.monotonic() - self._made > CONFIRM_AFTER:
            await self._confirm()

        async def transaction(database: ProjectDatabase) -> None:
            await self._renew(database)
            if chunks:
                await database.database[CHUNKS].insert_many(chunks, ordered=False, session=database.session)
            if file:
                await database.database[FILES].insert_one(file, session=database.session)

        await self.database.in_transaction(transaction)
        self._is_begun = True

    async def _renew(self, database: ProjectDatabase) -> None:
        """Makes the intent, or renews it. Raises UploadLost when a sweep condemned it."""
        result = await database.database[INTENTS].update_one(
            {"_id": self._id, **STANDING},
            [{"$set": {"files": self._names, "touched": "$$NOW"}}],
            upsert=not self._is_begun,
            session=database.session,
        )
        if self._is_begun and not result.matched_count:
            raise UploadLost

    async def publish(self, write: Callable[[ProjectDatabase], Awaitable[Result]]) -> Result:
        """Writes the record that names the files, and drops the intent, at once. Returns what `write` does.

        `write` must use the database it is given, see `in_transaction`. Raises UploadLost, and what `write` raises.
        """

        async def transaction(database: ProjectDatabase) -> Result:
            if self._names:
                dropped = await database.database[INTENTS].delete_one(
                    {"_id": self._id, **STANDING}, session=database.session
                )
                if not dropped.deleted_count:
                    raise UploadLost
            return await write(database)

        result = await self.database.in_transaction(transaction)
        self._is_published = True
        return result

    async def publish_record(self, collection: str, record: Document) -> None:
        """Publishes with a new record that names the files. Raises DuplicateValue, UploadLost."""

        async def write(database: ProjectDatabase) -> None:
            await database.database[collection].insert_one(record, session=database.session)

        await self.publish(write)

    async def abort(self) -> None:
        """Removes the stored files, unless a record names them already: then the intent is gone, and nothing is
        condemned.
        """
        if self._names and not self._is_published and await condemn(self.database, self._id):
            await remove(self.database, self._id)


class _Writer:
    """Cuts the bytes of one file into chunks, and hands them on in batches."""

    def __init__(self, upload: Upload, metadata: FileMetadata) -> None:
        self._upload = upload
        self._label = metadata
        self._rest = bytearray()
        self._chunks: list[Document] = []
        self._count = 0
        self._renewed = time.monotonic()

    async def add(self, piece: bytes) -> None:
        self._rest += piece
        while len(self._rest) >= CHUNK_BYTES:
            self._cut()
        if len(self._chunks) >= BATCH_CHUNKS or time.monotonic() - self._renewed > RENEW.total_seconds():
            await self._upload.store(self._chunks)
            self._chunks = []
            self._renewed = time.monotonic()

    async def finish(self) -> int:
        length = self._count * CHUNK_BYTES + len(self._rest)
        if self._rest:
            self._cut()
        await self._upload.store(self._chunks, _file_document(self._label, Int64(length), now()))
        return length

    def _cut(self) -> None:
        self._chunks.append({"files_id": self._label.name, "n": self._count, "data": bytes(self._rest[:CHUNK_BYTES])})
        self._count += 1
        del self._rest[:CHUNK_BYTES]


def _file_document(metadata: FileMetadata, length: Any, uploaded_at: datetime) -> Document:
    """The document that makes a file readable."""
    collection = {"collection": metadata.collection} if metadata.collection else {}
    return {
        "_id": metadata.name,
        "filename": metadata.name,
        "length": length,
        "chunkSize": CHUNK_BYTES,
        "uploadDate": uploaded_at,
        "metadata": {
            "owner": metadata.owner,
            "field": metadata.field,
            "original_name": metadata.original_name,
            **collection,
        },
    }
