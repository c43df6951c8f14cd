"""Writes a backup: a ZIP of stored members, from front to back, so that it can go to a pipe as well as to a file."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Protocol
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from service.domain.portable.manifest import MemberDigest
from service.domain.portable.packing import pack

REGULAR_0600 = 0o100600 << 16
Pack = Callable[[bytes], bytes]


class Sink(Protocol):
    """Takes bytes in their order."""

    def write(self, data: bytes, /) -> object: ...


class _Front:
    """A sink that `zipfile` cannot seek in. Counts and digests all that passes."""

    def __init__(self, sink: Sink) -> None:
        self._sink: Sink | None = sink
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes, /) -> int:
        if self._sink is not None:
            self._sink.write(data)
        self.digest.update(data)
        self.size += len(data)
        return len(data)

    def close(self) -> None:
        """Drops what is still written: `zipfile` writes a directory whenever it is closed."""
        self._sink = None

    def flush(self) -> None:
        pass


class MemberWriter:
    """One member. `bytes` and the digest are those of the data before it was packed."""

    def __init__(self, entry: IO[bytes], pack: Pack) -> None:
        self._entry = entry
        self._pack = pack
        self._digest = hashlib.sha256()
        self.bytes = 0
        self.documents = 0

    def write(self, data: bytes, documents: int = 0) -> None:
        self._digest.update(data)
        self.bytes += len(data)
        self.documents += documents
        self._entry.write(self._pack(data))

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class ArchiveWriter:
    """A backup that is being written; `members` are the digests of those that are complete. A context manager."""

    def __init__(self, sink: Sink, moment: datetime) -> None:
        self._front = _Front(sink)
        self._time = moment.timetuple()[:6]
        self._zip = ZipFile(self._front, "w", ZIP_STORED)
        self.members: dict[str, MemberDigest] = {}

    def __enter__(self) -> "ArchiveWriter":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is written to the sink from here on, whatever was finished."""
        self._front.close()
        self._zip.close()

    @contextmanager
    def records(self, name: str, pack: Pack = pack) -> Iterator[MemberWriter]:
        """A member of BSON. Without documents it is an empty gzip stream."""
        with self._open(name) as entry:
            writer = MemberWriter(entry, pack)
            yield writer
            if not writer.bytes:
                entry.write(pack(b""))
        self.members[name] = MemberDigest(sha256=writer.sha256, bytes=writer.bytes, documents=writer.documents)

    def add(self, name: str, data: bytes, *, packed: bool = False) -> None:
        """A small member as a whole."""
        with self._open(name) as entry:
            entry.write(pack(data) if packed else data)
        self.members[name] = MemberDigest(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))

    def finish(self, comment: str) -> tuple[str, int]:
        """Writes the directory. The SHA-256 and the length of the whole file."""
        self._zip.comment = comment.encode()
        self._zip.close()
        return self._front.digest.hexdigest(), self._front.size

    def _open(self, name: str) -> IO[bytes]:
        entry = ZipInfo(name, self._time)
        entry.external_attr = REGULAR_0600
        opened: IO[bytes] = self._zip.open(entry, "w", force_zip64=True)
        return opened
