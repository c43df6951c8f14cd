"""BSON documents one behind the other, as MongoDB sends them in a batch and `mongodump` writes them to a file."""

from collections.abc import Callable, Iterable, Iterator

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import InvalidBSON
from bson.raw_bson import DEFAULT_RAW_BSON_OPTIONS, RawBSONDocument

from service.bounds import MAX_BACKUP_DEPTH, MAX_BACKUP_DOCUMENT
from service.storage.client import Document

LENGTH_BYTES = 4
EMPTY_BYTES = 5
# The types of elements that hold others: an object, an array, and code with its scope.
NESTING = (b"\x03", b"\x04", b"\x0f")
READING: CodecOptions[Document] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO, unicode_decode_error_handler="strict"
)


class BadBson(ValueError):
    """The bytes are no BSON documents within the bounds; the message completes a sentence about them."""


def count_documents(batch: bytes) -> int:
    """The number of whole documents that MongoDB sent in a batch."""
    position = count = 0
    while position < len(batch):
        position += int.from_bytes(batch[position : position + LENGTH_BYTES], "little")
        count += 1
    return count


def split_documents(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Each document of a stream, which comes in pieces of any length. Holds one piece and one document.

    Raises BadBson for a length that no document may have, and for a stream that ends within one.
    """
    rest = b""
    for piece in pieces:
        rest = rest + piece if rest else piece
        position = 0
        while (size := _read_size(rest, position)) is not None and position + size <= len(rest):
            yield rest[position : position + size]
            position += size
        rest = rest[position:]
    if rest:
        raise BadBson("end within a document")


def _read_size(buffer: bytes, position: int) -> int | None:
    """The length of the document that begins there; None where the buffer ends before it."""
    if position + LENGTH_BYTES > len(buffer):
        return None
    size = int.from_bytes(buffer[position : position + LENGTH_BYTES], "little")
    if not EMPTY_BYTES <= size <= MAX_BACKUP_DOCUMENT:
        raise BadBson(f"have a document of {size} bytes")
    return size


def read_document(document: bytes) -> Document:
    """The values of one document. Raises BadBson, also for one that is nested too deeply."""
    try:
        # Only a document with so many of these bytes can be too deep: few are looked at in Python.
        if sum(map(document.count, NESTING)) > MAX_BACKUP_DEPTH:
            _check_depth(bson.decode(document, READING), MAX_BACKUP_DEPTH)
        return bson.decode(document, READING)
    except (InvalidBSON, RecursionError, ValueError, OverflowError) as error:
        raise error if isinstance(error, BadBson) else BadBson("have a document that is no BSON") from None


def change_document(document: bytes, change: Callable[[Document], Document]) -> bytes:
    """The document with the fields that `change` returns. Fields that it leaves stay as they are, byte for byte.

    Raises BadBson, also with the message of a ValueError of `change`.
    """
    fields = dict(RawBSONDocument(document, DEFAULT_RAW_BSON_OPTIONS))
    try:
        return bson.encode(change(fields), codec_options=DEFAULT_RAW_BSON_OPTIONS)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadBson(str(error) if type(error) is ValueError else "have a document of another form") from None


def _check_depth(value: object, left: int) -> None:
    if left < 0:
        raise BadBson(f"have a document nested deeper than {MAX_BACKUP_DEPTH}")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        _check_depth(each, left - 1)
