"""Folders and archives that `mongodump` writes, plain or compressed by `--gzip`; indexes and options are not read.

The form of an archive: mongo-tools, common/archive/README.md: a magic number, a header and a document for each
collection, then blocks, each with a header that names its collection, documents, and a terminator.
"""

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import bson
from bson import CodecOptions
from bson.codec_options import DatetimeConversion
from bson.errors import BSONError

from service.bounds import MAX_BACKUP_DOCUMENT
from service.errors import Violation
from service.importing.records import Inventory, SourceCollection, SourceRecord, SourceUser, keep_id
from service.importing.sources import BadInput, ImportSource
from service.importing.values import Lose, convert_document
from service.schema.fields import Fields
from service.schema.inference import name_columns

MAGIC, TERMINATOR = struct.pack("<I", 0x8199E26D), b"\xff\xff\xff\xff"
GZIP = b"\x1f\x8b"
BSON, COMPRESSED = ".bson", ".bson.gz"
USERS, DOCUMENTS = "users", "users_docs"
# Dates outside of the years 1 to 9999 come as numbers.
OPTIONS: CodecOptions[dict[str, Any]] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_AUTO)

Documents = Iterator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Dumped:
    """One collection of a dump. The archive is read once for each of them."""

    database: str
    name: str
    path: Path
    in_archive: bool = False

    def read(self) -> Documents:
        """Raises BadInput for what is no BSON."""
        with _open(self.path) as file:
            if self.in_archive:
                yield from _read_blocks(file, self.path, (self.database, self.name))
            else:
                yield from _read_documents(file, self.path)


def open_dump(asked: ImportSource) -> Inventory:
    """Raises BadInput."""
    if len(asked.inputs) != 1:
        raise BadInput("One dump is imported at a time")
    dumped = [each for each in find_collections(asked.inputs[0]) if asked.database in {None, each.database}]
    databases = sorted({each.database for each in dumped})
    if len(databases) > 1:
        raise BadInput(f"The dump has several databases; --db names one of {', '.join(databases)}")
    mapping = asked.mapping.get("users") or {}
    listed, collections, users = list[str](), list[SourceCollection](), None
    for each in dumped:
        if each.name.startswith("system."):
            listed.append(each.name)
        elif mapping.get("collection") == each.name:
            users = partial(_read_users, each, mapping, asked)
        elif (target := _target(each.name, asked)) is None:
            listed.append(each.name)
        else:
            if target != each.name:
                asked.lose(target, "", "collection_renamed", each.name)
            collections.append(SourceCollection(target, None, partial(_read_records, each, target, asked)))
    return Inventory(collections, users, listed)


def find_collections(path: Path) -> list[Dumped]:
    """The collections of a folder, or of an archive. Raises BadInput."""
    if path.is_dir():
        found = [
            Dumped(file.parent.name, _base(file), file)
            for file in sorted(path.rglob("*"))
            if file.name.endswith((BSON, COMPRESSED))
        ]
        if not found:
            raise BadInput(f"{path} has no .bson files")
        return found
    with _open(path) as file:
        if file.read(4) != MAGIC:
            raise BadInput(f"{path} is neither a folder nor an archive of mongodump")
        return [
            Dumped(each["db"], each["collection"], path, in_archive=True)
            for each in list(_read_documents(file, path))[1:]
        ]


def _base(file: Path) -> str:
    return file.name.removesuffix(COMPRESSED).removesuffix(BSON)


def _target(name: str, asked: ImportSource) -> str | None:
    """The name here; None where the mapping leaves the collection out."""
    renamed: Mapping[str, str | None] = asked.mapping.get("collections") or {}
    if name in renamed:
        return renamed[name]
    return DOCUMENTS if name == USERS else name_columns([name])[0].lower().replace(" ", "_")


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, which may be compressed. Raises BadInput where a compressed one is damaged."""
    with path.open("rb") as file:
        is_compressed = file.read(2) == GZIP
        file.seek(0)
        try:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_compressed else file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BadInput(f"{path} is damaged: {error}") from None


def _read_documents(file: IO[bytes], path: Path) -> Documents:
    """Documents up to the end of the file, or a terminator."""
    while (length := file.read(4)) and length != TERMINATOR:
        size = struct.unpack("<i", length)[0] if len(length) == 4 else 0
        if not 5 <= size <= MAX_BACKUP_DOCUMENT:
            raise BadInput(f"{path} is no BSON")
        raw = length + file.read(size - 4)
        try:
            yield bson.decode(raw, OPTIONS)
        except (BSONError, RecursionError) as error:
            raise BadInput(f"{path}: a document cannot be read: {error}") from None


def _read_blocks(file: IO[bytes], path: Path, wanted: tuple[str, str]) -> Documents:
    file.read(4)
    # The header, and the metadata of each collection.
    for _ in _read_documents(file, path):
        pass
    while header := next(_read_documents(file, path), None):
        for document in _read_documents(file, path):
            if (header.get("db"), header.get("collection")) == wanted and not header.get("EOF"):
                yield document


def _read_records(dumped: Dumped, target: str, asked: ImportSource, _: Fields | None = None) -> Iterator[SourceRecord]:
    for number, document in enumerate(dumped.read(), 1):
        yield _record(number, document, target, partial(asked.lose, target))


def _record(number: int, document: dict[str, Any], target: str, lose: Lose) -> SourceRecord:
    sent = document.pop("_id", None)
    id_ = convert_document({"id": sent}, lose)["id"]
    if not isinstance(id_, str | int) or isinstance(id_, bool):
        id_ = repr(id_)
    data = convert_document(document, lose)
    size = sum(len(str(value)) for value in data.values())
    if not id_ and id_ != 0:
        return SourceRecord(number, data=data, faults=[Violation(("_id",), "Must not be empty", "missing")], size=size)
    return SourceRecord(number, keep_id("mongodump", target, str(id_)), data, size=size)


def _read_users(dumped: Dumped, mapping: Mapping[str, Any], asked: ImportSource) -> Iterator[SourceUser]:
    email, hashed = mapping.get("email", "email"), mapping.get("password_hash")
    fields: Mapping[str, str] = mapping.get("fields") or {}
    for number, document in enumerate(dumped.read(), 1):
        address, stored = document.pop(email, None), document.pop(hashed, None) if hashed else None
        record = _record(number, document, "users", partial(asked.lose, "users"))
        account = {ours: record.data.pop(theirs) for ours, theirs in fields.items() if theirs in record.data}
        yield SourceUser(record, address, stored, account)
