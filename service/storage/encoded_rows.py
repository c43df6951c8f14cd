"""The rows of a reply that stay encoded until they are shown: decoding a reply of 16 MB at once would hold the event loop."""

from collections.abc import Sequence
from typing import Any

from bson import decode_all
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.asynchronous.collection import AsyncCollection

from service.schema.steps import Steps
from service.storage.client import Document

EncodedRow = RawBSONDocument
# Bytes of rows that are decoded in one step. It takes up to half a millisecond; a larger row is a step of its own.
BYTES_AT_ONCE = 131_072


def keep_encoded(collection: AsyncCollection[Document]) -> AsyncCollection[Any]:
    """The same collection, whose replies have encoded rows."""
    return collection.with_options(collection.codec_options.with_options(document_class=RawBSONDocument))


def decode_rows(rows: Sequence[EncodedRow], options: CodecOptions[Document]) -> Steps[list[Document]]:
    """The rows by `options`. Many small ones are decoded together, which costs a third of decoding each."""
    decoded, some, size = list[Document](), list[bytes](), 0
    for row in rows:
        some.append(bytes(row.raw))
        size += len(row.raw)
        if size >= BYTES_AT_ONCE:
            decoded += decode_all(b"".join(some), options)
            some, size = [], 0
            yield
    return decoded + decode_all(b"".join(some), options)
