"""gzip of a backup's members. Each batch is a gzip stream of its own, which every reader joins (RFC 1952 section 2.2). Pure."""

import gzip
import zlib
from collections.abc import Iterator
from typing import IO

from service.bounds import MAX_BACKUP_RATIO

# Readers of backups refuse a ratio above MAX_BACKUP_RATIO, of which this is a safe part.
HIGHEST_RATIO = MAX_BACKUP_RATIO // 2
WITH_HEADER = 31
FAST, STORED = 1, 0
PIECE_BYTES = 1_048_576


def pack(data: bytes) -> bytes:
    """The data compressed quickly; stored as it is where a reader would take it for a bomb."""
    packed = _compress(data, FAST)
    return packed if len(data) <= HIGHEST_RATIO * len(packed) else store(data)


def store(data: bytes) -> bytes:
    """The data in gzip's form without compression, for files, which mostly are compressed already."""
    return _compress(data, STORED)


def _compress(data: bytes, level: int) -> bytes:
    stream = zlib.compressobj(level, wbits=WITH_HEADER)
    return stream.compress(data) + stream.flush()


def unpack(source: IO[bytes]) -> Iterator[bytes]:
    """The data in pieces. Raises OSError, EOFError or zlib.error for what is no gzip, or not all of it."""
    with gzip.GzipFile(fileobj=source) as stream:
        while piece := stream.read(PIECE_BYTES):
            yield piece
