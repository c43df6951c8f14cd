"""Fills a database that no request uses yet with raw documents, and reads it back."""

import hashlib
from collections.abc import Sequence
from typing import Any

from bson.raw_bson import RawBSONDocument
from pymongo import timeout

from service.errors import ServiceError
from service.storage.client import within
from service.storage.databases import ProjectDatabase
from service.storage.files.stored import CHUNKS, FILE_INDEXES
from service.storage.moments import BATCH, CHUNKS_AT_ONCE
from service.storage.records import translated

INSERT_SECONDS = 120.0
READ_SECONDS = 3_600.0


async def insert_documents(
    database: ProjectDatabase, collection: str, documents: Sequence[bytes]
) -> dict[int, ServiceError]:
    """Stores what the collection's validator accepts; position → RejectedByValidator or DuplicateValue for the rest.

    Raises TooLarge, Unavailable.
    """
    # A collection of which all records were deleted is a member of a backup, too.
    if not documents:
        return {}
    raw = [RawBSONDocument(document) for document in documents]
    with within(INSERT_SECONDS):
        return await database.records(collection).insert_each(raw)  # type: ignore[arg-type]


async def digest_documents(database: ProjectDatabase, collection: str) -> str:
    """The SHA-256 of all documents of a collection, in the order in which a backup has them. Raises Unavailable."""
    order = [("files_id", 1), ("n", 1)] if collection == CHUNKS else [("_id", 1)]
    digest = hashlib.sha256()
    size = CHUNKS_AT_ONCE if collection == CHUNKS else BATCH
    cursor: Any = database.database[collection].find_raw_batches({}, sort=order, hint=order, batch_size=size)
    with translated("read the records"), timeout(READ_SECONDS):
        async for batch in cursor:
            digest.update(batch)
    return digest.hexdigest()


async def index_chunks(database: ProjectDatabase) -> None:
    """Makes the index in whose order chunks are read back."""
    with translated("make indexes"), within(INSERT_SECONDS):
        await database.database[CHUNKS].create_indexes(list(FILE_INDEXES[CHUNKS]))
