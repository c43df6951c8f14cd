"""Real processes for fault tests: the service under uvicorn, and mongod members. Each is ended by its own pid."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from pydantic import SecretStr

from faults.commands import KEY, NO_TLS, free_port
from faults.starts import Process, start_command
from service.domain.projects.admin import ProjectAdmin
from service.services import build_services
from service.settings import Settings

START_SECONDS = 180.0
STOP_SECONDS = 40.0


@dataclass(frozen=True)
class Service:
    """A running `auth-collections serve`."""

    process: Process
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def workers(self) -> list[int]:
        """The pids of its worker processes; its own where it has none."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if b"spawn_main" in _command_line(child)] or [pid]

    def memory(self) -> int:
        """Resident bytes of its workers together."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.workers())
        return pages * os.sysconf("SC_PAGE_SIZE")

    def terminate(self) -> float:
        """Sends SIGTERM and waits; returns the seconds it took. Kills what does not end, and fails."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(STOP_SECONDS)
        return time.monotonic() - started


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def start_service(
    uri: str, folder: Path, *, workers: int = 1, port: int = 0, files: str = "", **variables: str
) -> Service:
    """Starts one; `variables` are of its environment, and it may have `files` open, where that is given."""
    port = port or free_port()
    log = folder / f"service-{port}.log"
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    environment = kept | {"MONGODB_URI": uri, "SECRET_KEY": KEY, "BCRYPT_COST": "4", "DRAIN_SECONDS": "0", **variables}
    arguments = ["serve", "--port", str(port), "--workers", str(workers)]
    with log.open("ab") as output:
        if not files:
            return Service(start_command(arguments, environment, stdout=output, stderr=output), port, log)
        command = ["/bin/sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", sys.executable, "-m", "service", *arguments]
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)  # noqa: S603
        return Service(process, port, log)


@contextmanager
def running_service(
    uri: str, folder: Path, *, workers: int = 1, files: str = "", **variables: str
) -> Iterator[Service]:
    """One that answers, and that is gone afterwards."""
    service = start_service(uri, folder, workers=workers, port=0, files=files, **variables)
    try:
        wait_live(service)
        yield service
    finally:
        if service.process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                service.terminate()
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


def wait_live(service: Service) -> None:
    """Returns when every worker of `service` has had time to answer. Fails when it ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        if service.process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"The service did not start: {service.log.read_text()[-2000:]}")
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{service.url}/health/live", timeout=5, verify=NO_TLS).status_code == 200:
                return
        time.sleep(0.02)


@asynccontextmanager
async def administration(uri: str, prefix: str) -> AsyncIterator[ProjectAdmin]:
    """The administration of projects in the database of a service with this key and this DATABASE_PREFIX."""
    settings = Settings(mongodb_uri=SecretStr(uri), database_prefix=prefix, secret_key=SecretStr(KEY))
    services = build_services(settings)
    try:
        yield services.base.admin
    finally:
        await services.close()


async def make_key(uri: str, prefix: str, **settings: str) -> tuple[str, str]:
    """A new project's id and API key."""
    async with administration(uri, prefix) as admin:
        project, keys = await admin.create("Faults", None, settings)
        return project.id, keys.secret


def headers(key: str, **more: str) -> dict[str, Any]:
    return {"x-api-key": key, **more}
