"""Addresses at which servers of one DATA_DIR answer. A server holds a lock on the file with its address while it runs."""

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The file with the address of the server that started last.
LAST = "base_url"
# The folder with a file for each server.
SERVERS = "servers"


@contextmanager
def announced_address(folder: Path, address: str) -> Iterator[None]:
    """Commands on this folder know `address` as one of a running server while the context lasts. Raises OSError.

    The lock ends with the process, so that a server that was killed is not taken for a running one.
    """
    servers = folder / SERVERS
    servers.mkdir(exist_ok=True)
    name = secrets.token_hex(8)
    draft, path = servers / f"{name}.new", servers / name
    with draft.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(address)
        file.flush()
        draft.replace(path)
        _keep_last(folder, address)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def list_addresses(folder: Path) -> list[str]:
    """The addresses of the servers that run, the one that started last first; each once."""
    files = sorted(filter(_is_locked, (folder / SERVERS).glob("[0-9a-f]" * 16)), key=_read_start, reverse=True)
    return list(dict.fromkeys(address for file in files if (address := _read(file))))


def read_last_address(folder: Path) -> str | None:
    """The address of the server that started last, whether it still runs or not."""
    return _read(folder / LAST) or None


def _keep_last(folder: Path, address: str) -> None:
    draft = folder / f"{LAST}.{secrets.token_hex(4)}"
    draft.write_text(address)
    draft.replace(folder / LAST)


def _is_locked(path: Path) -> bool:
    """True if the server that wrote this file runs. The file of another one is removed."""
    with suppress(FileNotFoundError), path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        with suppress(OSError):
            path.unlink()
    return False


def _read_start(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0


def _read(path: Path) -> str:
    with suppress(FileNotFoundError):
        return path.read_text().strip()
    return ""
