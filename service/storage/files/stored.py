"""Files in GridFS (mongodb/specifications: gridfs-spec): what a stored file is, and reading a range of its bytes.

The file name is the `_id` as well as the `filename`, so that every GridFS program finds it under the one name.
"""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from datetime import datetime

from pymongo import IndexModel

from service.errors import FileNotFound
from service.storage.client import Database, Document
from service.storage.records import translated

FILES = "files.files"
CHUNKS = "files.chunks"
# By the names that every GridFS program gives them.
FILE_INDEXES = {
    FILES: (IndexModel([("filename", 1), ("uploadDate", 1)], name="filename_1_uploadDate_1"),),
    CHUNKS: (IndexModel([("files_id", 1), ("n", 1)], name="files_id_1_n_1", unique=True),),
}
# The driver's default: a little under a power of two, which suits how the server allots records.
CHUNK_BYTES = 255 * 1024
# Stands in the name of a variant behind that of its image, and in no name of a file.
VARIANT = "~"
# Chunks that one query of a reader fetches, and so holds in memory.
READ_CHUNKS = 4


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """Metadata of a file: our `name` for it, the record and the field it belongs to, the uploader's name for it.

    The `owner` is a user, or a document of the declared `collection`.
    """

    name: str
    owner: str
    field: str
    original_name: str
    collection: str = ""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A readable file; `length` and `chunk_bytes` are bytes. `owner`, `field`, `collection` are as in FileMetadata."""

    name: str
    original_name: str
    length: int
    chunk_bytes: int
    uploaded_at: datetime
    owner: str = ""
    field: str = ""
    collection: str = ""


class FileDamaged(Exception):
    """A chunk is missing or short, or the file was removed while it was read; the bytes so far are not the file."""


def is_variant(file: StoredFile) -> bool:
    return VARIANT in file.name


async def find_file(database: Database, name: str) -> StoredFile:
    """Raises FileNotFound."""
    with translated():
        document = await database[FILES].find_one({"_id": name})
    if document is None:
        raise FileNotFound
    return read_stored(document)


async def find_files(database: Database, names: Collection[str]) -> dict[str, StoredFile]:
    """The existing files among `names`, in one command."""
    with translated():
        found = await database[FILES].find({"_id": {"$in": list(names)}}).to_list()
    return {document["_id"]: read_stored(document) for document in found}


def read_stored(document: Document) -> StoredFile:
    # A file that another program put there may have no metadata of ours.
    metadata = document.get("metadata") or {}
    return StoredFile(
        name=document["_id"],
        original_name=str(metadata.get("original_name", document["_id"])),
        length=int(document["length"]),
        chunk_bytes=int(document["chunkSize"]),
        uploaded_at=document["uploadDate"],
        owner=str(metadata.get("owner", "")),
        field=str(metadata.get("field", "")),
        collection=str(metadata.get("collection", "")),
    )


async def read_range(database: Database, file: StoredFile, start: int, stop: int) -> AsyncIterator[bytes]:
    """The bytes from `start` up to, and without, `stop`. Raises FileDamaged rather than give one byte too few.

    Each batch of chunks is a query of its own: a reader who pauses for an hour holds no cursor.
    """
    position = start
    while position < stop:
        first = position // file.chunk_bytes
        last = min(first + READ_CHUNKS - 1, (stop - 1) // file.chunk_bytes)
        for number, data in zip(range(first, last + 1), await _chunks(database, file, first, last), strict=True):
            offset = number * file.chunk_bytes
            piece = data[position - offset : stop - offset]
            position += len(piece)
            yield piece


async def _chunks(database: Database, file: StoredFile, first: int, last: int) -> list[bytes]:
    """The data of the chunks `first` to `last`; each must have the length that the file's own gives it."""
    match: Document = {"files_id": file.name, "n": {"$gte": first, "$lte": last}}
    with translated():
        chunks = await database[CHUNKS].find(match, {"_id": 0, "n": 1, "data": 1}, sort=[("n", 1)]).to_list()
    expected = [
        (number, min(file.chunk_bytes, file.length - number * file.chunk_bytes)) for number in range(first, last + 1)
    ]
    if [(chunk["n"], len(chunk["data"])) for chunk in chunks] != expected:
        raise FileDamaged(file.name)
    return [chunk["data"] for chunk in chunks]


async def ensure_file_indexes(database: Database) -> None:
    """The indexes that the GridFS specification asks for; without them, programs that use it would add them."""
    with translated():
        for name, indexes in FILE_INDEXES.items():
            await database[name].create_indexes(list(indexes))
