"""Server processes that are measured from outside: their start, their CPU seconds, their memory."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from service.settings import Settings

READY_SECONDS = 60
POLL_SECONDS = 0.005
NANOSECONDS = 10**9
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Server:
    """A running server process on 127.0.0.1."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """Time on a CPU so far, of all threads that live, to the nanosecond.

        The clock of /proc/<pid>/stat ticks a hundred times a second, too coarse for requests of a quarter of a millisecond
        (Linux, Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat").
        """
        return sum(map(_nanoseconds, Path(f"/proc/{self.pid}/task").iterdir())) / NANOSECONDS

    def memory(self, name: str = "VmRSS") -> float:
        """Resident MiB now, or with `VmHWM` the most there ever was."""
        return _memory(self.pid, name)

    def workers(self) -> list[int]:
        """The processes that uvicorn spawned, without Python's resource tracker."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in children if "resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_text()]

    def worker_memory(self) -> float:
        """Resident MiB of the largest worker."""
        return max(_memory(pid, "VmRSS") for pid in self.workers())


def _nanoseconds(task: Path) -> int:
    """A thread that ended while they were listed had nothing to add."""
    try:
        return int((task / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _memory(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")) / MEBIBYTE


@contextmanager
def service_process(settings: Settings, *arguments: str, **environment: str) -> Iterator[Server]:
    """The service as an operator starts it, on the database of `settings` and with `environment` on top."""
    given = {"DATABASE_PREFIX": settings.database_prefix, "DATA_DIR": str(settings.data_dir)}
    if settings.mongodb_uri and settings.secret_key:
        given["MONGODB_URI"] = settings.mongodb_uri.get_secret_value()
        given["SECRET_KEY"] = settings.secret_key.get_secret_value()
    with server_process("service", "serve", *arguments, environment=given | environment) as server:
        yield server


@contextmanager
def server_process(
    module: str,
    *arguments: str,
    environment: Mapping[str, str],
    directory: Path | None = None,
    python: str = sys.executable,
) -> Iterator[Server]:
    """`python -m <module> <arguments> --port <free port>` in `directory`, ready to answer, until the context ends."""
    port = _free_port()
    command = [python, "-m", module, *arguments, "--port", str(port)]
    # Log lines are made and written, as in production, and thrown away.
    process = subprocess.Popen(  # noqa: S603 - our own modules
        command,
        cwd=directory,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        server = Server(process.pid, port)
        _await_ready(server, process)
        yield server
    finally:
        process.terminate()
        process.wait()


def _await_ready(server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not _is_ready(server):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not become ready")
        time.sleep(POLL_SECONDS)


def _is_ready(server: Server) -> bool:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", server.port)):
            return False
    return httpx2.get(f"{server.url}/health/ready", timeout=READY_SECONDS).status_code == 200


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
