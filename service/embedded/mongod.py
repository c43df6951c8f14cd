"""A mongod of our own under DATA_DIR, shared by every process that names the same folder."""

import fcntl
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from pymongo.errors import PyMongoError

from service.embedded.access import Client, FolderAccess, connect_openly, read_access
from service.embedded.folder import (
    HOW_TO_GET_MONGODB,
    find_cause,
    find_process,
    is_listening,
    is_mongod,
    measure_log,
    mongod_binary,
    read_command_port,
    read_port,
    write_state,
)
from service.embedded.replica_set import START_TIMEOUT
from service.embedded.watchdog import watch_repeatedly
from service.errors import ConfigurationError
from service.process import raise_file_limit
from service.storage.server_settings import TRANSACTION_SECONDS

STOP_TIMEOUT = 30.0
LOOK_SECONDS = 0.02
CACHE_GB = 1
# mongod gets only the variables of its loader, its allocator and its time zone. The others may be secrets of the service.
ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "GLIBC_TUNABLES", "TZ")
# MongoDB's own are of 100 MB, and each start makes two: most of the time that a start takes, and of a small database's disk.
JOURNAL = "log=(file_max=16MB)"
# The files of a dropped collection stay open for as long as a read of the past may ask for them, by default five minutes:
# on a machine that allows 20,000 open files, mongod died of 70 collections dropped a second.
PAST_SECONDS = 60
PARAMETERS = {
    "diagnosticDataCollectionEnabled": "false",
    "minSnapshotHistoryWindowInSeconds": PAST_SECONDS,
    # MongoDB's own is 60 s, for which the documents of a killed server's transaction would be locked.
    "transactionLifetimeLimitSeconds": TRANSACTION_SECONDS,
}


@contextmanager
def embedded_mongodb(data_dir: Path) -> Iterator[str]:
    """The URI of the mongod of `data_dir`, which runs at least as long as the context.

    The first process to come starts it, later ones join it, the last to leave stops it; if it dies, it is started again.
    A mongod that outlived a killed process is joined. Raises ConfigurationError, with its own reason, when it cannot start.
    """
    folder = data_dir.absolute() / "mongodb"
    (folder / "db").mkdir(parents=True, exist_ok=True, mode=0o700)
    # The kernel drops a dead process's lock, so a crash never counts as a user.
    with (folder / "users.lock").open("a") as users:
        with _lock(folder / "start.lock"):
            fcntl.flock(users, fcntl.LOCK_SH)
            access = read_access(folder)
            port = _join(folder, access, users) or _start(folder, access)
        try:
            with watch_repeatedly(partial(_revive, folder, access)):
                yield access.uri(port)
        finally:
            with _lock(folder / "start.lock"):
                if _is_last(users) and _running_port(folder, access.connect):
                    _stop(folder)


def find_uri(data_dir: Path) -> str:
    """The URI at which the mongod of `data_dir` runs, or will run again. Raises OSError."""
    folder = data_dir.absolute() / "mongodb"
    return read_access(folder).uri(read_port(folder))


def _join(folder: Path, access: FolderAccess, users: IO[str]) -> int | None:
    """The port of the mongod that runs. The process that started it may have died before it was a primary with a user."""
    _await_orphan(folder)
    if (port := _running_port(folder, access.connect)) is not None:
        access.prepare(port)
    elif _running_port(folder, connect_openly):
        _end_open_server(folder, users)
    elif pid := find_process(folder):
        raise ConfigurationError(
            f"Process {pid} has the files of {folder / 'db'} open, and no MongoDB of this service answers; end that process"
        )
    return port


def _await_orphan(folder: Path) -> None:
    """Waits for a mongod that a killed process started last, and writes its port where that process could not."""
    deadline = time.monotonic() + START_TIMEOUT
    while (pid := find_process(folder)) and is_mongod(folder, pid) and time.monotonic() < deadline:
        if is_listening(port := read_command_port(folder, pid) or read_port(folder)):
            if port != read_port(folder):
                write_state(folder, pid, port)
            return
        time.sleep(LOOK_SECONDS)


def _end_open_server(folder: Path, users: IO[str]) -> None:
    """Ends a mongod that an older version of the service left running without a password."""
    if not _is_last(users):
        raise ConfigurationError(
            f"An older version of the service uses the MongoDB of {folder.parent}, which has no password yet; stop it first"
        )
    _stop(folder)
    fcntl.flock(users, fcntl.LOCK_SH)


@contextmanager
def keep_mongod(data_dir: Path) -> Iterator[None]:
    """Keeps the mongod of `data_dir` running while this context lasts. For a worker, beside its parent."""
    with (data_dir.absolute() / "mongodb" / "users.lock").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield


def _revive(folder: Path, access: FolderAccess) -> None:
    """Starts a mongod that died, on its port. A mongod that cannot be started is tried again; its log has the cause."""
    with suppress(ConfigurationError, PyMongoError), _lock(folder / "start.lock"):
        if find_process(folder) is None:
            _start(folder, access)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_last(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _running_port(folder: Path, connect_to: Callable[[int], Client]) -> int | None:
    """The port of this folder's mongod, if one answers there; another server on the same port is not taken for it."""
    port = read_port(folder)
    if not is_listening(port):
        return None
    try:
        with connect_to(port) as client:
            options = client.admin.command("getCmdLineOpts")["parsed"]
            return port if options.get("storage", {}).get("dbPath") == str(folder / "db") else None
    except PyMongoError:
        return None


def _start(folder: Path, access: FolderAccess) -> int:
    port = _free_port(read_port(folder))
    command = [
        *(
            str(mongod_binary()),
            "--dbpath",
            str(folder / "db"),
            "--port",
            str(port),
            "--bind_ip",
            "127.0.0.1",
            "--nounixsocket",
        ),
        *access.options,
        *("--logpath", str(folder / "mongod.log"), "--logappend", "--quiet"),
        *("--wiredTigerCacheSizeGB", str(CACHE_GB), "--wiredTigerEngineConfigString", JOURNAL),
        *(part for name, value in PARAMETERS.items() for part in ("--setParameter", f"{name}={value}")),
    ]
    raise_file_limit()
    log_bytes = measure_log(folder)
    pid = _spawn(command, folder / "mongod.out")
    write_state(folder, pid, port)
    _await_listening(pid, port, folder, log_bytes)
    access.prepare(port)
    return port


def _spawn(command: list[str], output: Path) -> int:
    """The pid of a process that may outlive this one; a group of its own keeps Ctrl-C in the terminal from it.

    In a session of its own Linux would schedule it as a group beside all of the service (sched_autogroup), and beside
    busy threads of the service a short call of MongoDB's then waits for hundreds of milliseconds.
    """
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return os.posix_spawn(command[0], command, environment, file_actions=files, setpgroup=0)


def _free_port(preferred: int) -> int:
    for port in (preferred, 0):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise ConfigurationError("No free port on 127.0.0.1 for the embedded MongoDB")


def _await_listening(pid: int, port: int, folder: Path, log_bytes: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while not is_listening(port):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            raise ConfigurationError(_reason(os.waitstatus_to_exitcode(status), folder, log_bytes))
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            raise ConfigurationError(
                f"The embedded MongoDB did not answer within {START_TIMEOUT:.0f} s; see {folder / 'mongod.log'}"
            )
        time.sleep(LOOK_SECONDS)


def _reason(status: int, folder: Path, log_bytes: int) -> str:
    """One line for a mongod that ended at once: the error of the loader, or the first one that mongod logged."""
    said = (folder / "mongod.out").read_text(errors="replace").strip().splitlines()
    if any("shared librar" in line or "Library not loaded" in line for line in said):
        missing = said[0].rpartition("mongod: ")[2]
        return f"mongod cannot run here: {missing}. Install that library, or: {HOW_TO_GET_MONGODB}"
    cause = find_cause(folder, log_bytes)
    return f"mongod ended with status {status}{f': {cause}' if cause else ''}; see {folder / 'mongod.log'}"


def _stop(folder: Path) -> None:
    """Ends this folder's mongod, which has answered, and waits until its files are closed."""
    if not (pid := find_process(folder)) or not is_mongod(folder, pid):
        return
    port = read_port(folder)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT
    while (find_process(folder) is not None or is_listening(port)) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
