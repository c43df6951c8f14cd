"""Reads a backup, which may be anyone's: nothing is unpacked to the disk, and each member is read within bounds.

The directory is judged before any member is read: stored members without gaps, names that a backup has, each once.
"""

import hashlib
import io
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from service.bounds import MAX_BACKUP_JSON, MAX_BACKUP_RATIO
from service.domain.portable.manifest import (
    HEADER,
    MANIFEST,
    PROJECT,
    is_member_name,
    read_header,
    read_manifest,
    records_name,
)
from service.domain.portable.packing import unpack
from service.errors import BackupDamaged, ConfigurationError
from service.storage.bson_stream import BadBson, split_documents

LOCAL_BYTES, END_BYTES = 30, 22
END_MARK = b"PK\x05\x06"
# Bytes behind a member's own: none, or its length and checksum, in either of two widths.
DESCRIPTORS = (0, 16, 24)


class BackupFile:
    """An open backup; `manifest` is what it says of itself. A context manager. Every call raises BackupDamaged."""

    def __init__(self, source: IO[bytes]) -> None:
        """Closes `source` at the end. Raises BackupTooNew."""
        self._source = source
        self._zip = _open_zip(source)
        try:
            self._entries = _check_entries(source, self._zip)
            read_header(self.read_text(HEADER))
            self.manifest_text = self.read_text(MANIFEST)
            self.manifest = read_manifest(self.manifest_text)
            self._check_members()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "BackupFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._zip.close()
        self._source.close()

    @property
    def signature(self) -> str:
        """The HMAC of the manifest, as its maker says."""
        return self._zip.comment.decode("ascii", "replace")

    @property
    def collections(self) -> list[str]:
        """The MongoDB collections whose documents are here."""
        return sorted(self.manifest.counts)

    def read_text(self, name: str) -> bytes:
        """A member that is JSON, as a whole."""
        if name not in self._entries:
            raise BackupDamaged(f"{name} is missing")
        if self._entries[name].file_size > MAX_BACKUP_JSON:
            raise BackupDamaged(f"{name} has more than {MAX_BACKUP_JSON} bytes")
        return b"".join(self._stored(name))

    def read(self, name: str) -> Iterator[bytes]:
        """The bytes of a member before it was packed, in pieces. At its end they are compared with the manifest."""
        digest, length = hashlib.sha256(), 0
        for piece in self._unpacked(name):
            digest.update(piece)
            length += len(piece)
            yield piece
        expected = self.manifest.members[name]
        if (digest.hexdigest(), length) != (expected.sha256, expected.bytes):
            raise BackupDamaged(f"{name} is not what the manifest says")

    def documents(self, name: str) -> Iterator[bytes]:
        """The documents of a member. At its end their number is compared with the manifest."""
        count = 0
        try:
            for document in split_documents(self.read(name)):
                count += 1
                yield document
        except BadBson as error:
            raise BackupDamaged(f"the bytes of {name} {error}") from None
        if count != self.manifest.members[name].documents:
            raise BackupDamaged(f"{name} has {count} documents, and another number by the manifest")

    def _unpacked(self, name: str) -> Iterator[bytes]:
        if not name.endswith(".gz"):
            yield from self._stored(name)
            return
        most, length = max(self._entries[name].file_size, END_BYTES) * MAX_BACKUP_RATIO, 0
        with _Damage(name), self._zip.open(name) as entry:
            for piece in unpack(entry):
                length += len(piece)
                if length > most:
                    raise BackupDamaged(f"{name} is more than {MAX_BACKUP_RATIO} times as large as it is packed")
                yield piece

    def _stored(self, name: str) -> Iterator[bytes]:
        with _Damage(name), self._zip.open(name) as entry:
            while piece := entry.read(io.DEFAULT_BUFFER_SIZE):
                yield piece

    def _check_members(self) -> None:
        """The manifest names each member, and nothing else."""
        if differing := sorted(self.manifest.members.keys() ^ (self._entries.keys() - {MANIFEST})):
            raise BackupDamaged(f"{differing[0]} is in the file or in the manifest, not in both")
        if PROJECT not in self._entries:
            raise BackupDamaged(f"{PROJECT} is missing")
        found = {name: digest.documents for name, digest in self.manifest.content().items()}
        if found != {records_name(name): count for name, count in self.manifest.counts.items()}:
            raise BackupDamaged("the counts of the manifest are not those of its members")


class _Damage:
    """Turns the errors of readers of ZIP and gzip into BackupDamaged."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (BadZipFile, OSError, EOFError, zlib.error, NotImplementedError, RuntimeError)):
            raise BackupDamaged(f"{self._name} cannot be read to its end") from None


def open_backup(path: Path) -> BackupFile:
    """Raises ConfigurationError where the file cannot be opened, BackupDamaged, BackupTooNew."""
    try:
        source = path.open("rb")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    try:
        return BackupFile(source)
    except BaseException:
        source.close()
        raise


def _open_zip(source: IO[bytes]) -> ZipFile:
    try:
        return ZipFile(source)
    except (BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        raise BackupDamaged("the file is no ZIP, or not all of one") from None


def _check_entries(source: IO[bytes], archive: ZipFile) -> dict[str, ZipInfo]:
    """The members by name. Nothing is before the first, between two of them, or behind the directory."""
    entries: dict[str, ZipInfo] = {}
    position = 0
    for entry in archive.infolist():
        name = entry.orig_filename
        if not is_member_name(name) or name in entries:
            raise BackupDamaged(f"{name!r} is no name of a member, or is there twice")
        if entry.compress_type != ZIP_STORED or entry.compress_size != entry.file_size or not _is_regular(entry):
            raise BackupDamaged(f"{name} is not stored as a backup's members are")
        if entry.header_offset - position not in (DESCRIPTORS if entries else (0,)):
            raise BackupDamaged(f"{name} does not follow the member before it")
        position = _find_end(source, entry)
        entries[name] = entry
    source.seek(-(END_BYTES + len(archive.comment)), io.SEEK_END)
    end = source.read(END_BYTES)
    is_end = end[:4] == END_MARK and int.from_bytes(end[20:22], "little") == len(archive.comment)
    if not is_end or archive.start_dir - position not in DESCRIPTORS:
        raise BackupDamaged("something is behind the last member, or behind the directory")
    return entries


def _is_regular(entry: ZipInfo) -> bool:
    return stat.S_IFMT(entry.external_attr >> 16) in {0, stat.S_IFREG} and not entry.flag_bits & 1


def _find_end(source: IO[bytes], entry: ZipInfo) -> int:
    """The position behind a member's bytes, by its local header."""
    source.seek(entry.header_offset)
    local = source.read(LOCAL_BYTES)
    lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    return entry.header_offset + LOCAL_BYTES + lengths + entry.compress_size
