"""The files of a backup: which of those in a moment are copied, and whether their chunks are all there.

A list of files is kept in a temporary file, for a project may have millions.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial

import bson

from service.storage.bson_stream import read_document, split_documents
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.stored import FILES, VARIANT
from service.storage.layout import INTENTS
from service.storage.moments import Moment, read_chunks

READ_BYTES = 1_048_576
FILES_AT_ONCE = 500


@dataclass(slots=True)
class _Content:
    """The chunks of one file that were read so far. `is_in_order` while none was missing before another."""

    length: int
    chunk_bytes: int
    bytes: int = 0
    chunks: int = 0
    is_in_order: bool = True

    def add(self, number: int, size: int) -> None:
        self.is_in_order = self.is_in_order and number == self.chunks
        self.bytes += size
        self.chunks += 1

    @property
    def is_whole(self) -> bool:
        expected = -(-self.length // self.chunk_bytes)
        return self.is_in_order and (self.bytes, self.chunks) == (self.length, expected)


class FileList:
    """The files whose chunks are to be read. `damaged` are those of which some were missing. A context manager."""

    def __init__(self) -> None:
        self._listed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self.damaged: list[str] = []

    def __enter__(self) -> "FileList":
        return self

    def __exit__(self, *_: object) -> None:
        self._listed.close()

    async def read_files(self, moment: Moment) -> AsyncIterator[bytes]:
        """The records of files, without variants, and without what an intent of the same moment names.

        Those are files that no record has yet, or none any more.
        """
        unowned = {name async for intent in _documents(moment, INTENTS) for name in intent.get("files", ())}
        async for batch in moment.read(FILES):
            yield b"".join(document for document in split_documents([batch]) if self._note(document, unowned))

    def _note(self, document: bytes, unowned: set[str]) -> bool:
        file = read_document(document)
        name = file["_id"]
        if name in unowned or VARIANT in str(name):
            return False
        self._listed.write(bson.encode({key: file[key] for key in ("_id", "length", "chunkSize")}))
        return True

    async def read_chunks(self, database: ProjectDatabase) -> AsyncIterator[bytes]:
        """The chunks of the listed files, file by file."""
        self._listed.seek(0)
        group: dict[object, _Content] = {}
        for document in split_documents(iter(partial(self._listed.read, READ_BYTES), b"")):
            file = read_document(document)
            group[file["_id"]] = _Content(int(file["length"]), int(file["chunkSize"]))
            if len(group) == FILES_AT_ONCE:
                async for batch in self._read_group(database, group):
                    yield batch
                group = {}
        async for batch in self._read_group(database, group):
            yield batch

    async def _read_group(self, database: ProjectDatabase, group: dict[object, _Content]) -> AsyncIterator[bytes]:
        if not group:
            return
        async for batch in read_chunks(database, list(group)):
            for chunk in _read_each(batch):
                group[chunk["files_id"]].add(chunk["n"], len(chunk["data"]))
            yield batch
        self.damaged += [str(name) for name, content in group.items() if not content.is_whole]


async def _documents(moment: Moment, collection: str) -> AsyncIterator[Document]:
    async for batch in moment.read(collection):
        for document in _read_each(batch):
            yield document


def _read_each(batch: bytes) -> Iterator[Document]:
    return map(read_document, split_documents([batch]))
