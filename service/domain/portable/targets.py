"""A file for a backup: it is there under its name when it is whole, and never before."""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from service.errors import ConfigurationError, StoreFull

PART = ".part"
MODE = 0o600
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FileTarget:
    """Writes `<path>.part`, which takes the place of `path` at the end. Readable by its owner only. A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(path.name + PART)
        self._descriptor = -1

    def __enter__(self) -> "FileTarget":
        """Raises ConfigurationError where the file cannot be made, or another process is writing it."""
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._part, flags, MODE)
            os.fchmod(self._descriptor, MODE)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file that was opened may have been published, and so unlocked, since.
            if not os.path.samestat(os.fstat(self._descriptor), self._part.lstat()):
                raise BlockingIOError
        except BlockingIOError:
            self._close()
            raise ConfigurationError(f"{self._part}: another process is writing this file") from None
        except OSError as error:
            self._close()
            raise _refusal(self._part, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        """Removes what was written, unless it was published."""
        if self._descriptor >= 0:
            with suppress(OSError):
                self._part.unlink()
            self._close()

    def begin(self) -> "FileTarget":
        """Empties the file: the sink of the next attempt."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return self

    def write(self, data: bytes) -> None:
        """Raises ConfigurationError; StoreFull where the disk, a quota or the size of files is exhausted."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise _refusal(self._part, error) from None

    def publish(self) -> None:
        """Gives the file its name, once it is on the disk."""
        try:
            os.fsync(self._descriptor)
            self._part.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise _refusal(self._path, error) from None
        self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refusal(path: Path, error: OSError) -> ConfigurationError:
    refused = StoreFull if error.errno in FULL else ConfigurationError
    return refused(f"{path}: {error.strerror}")
