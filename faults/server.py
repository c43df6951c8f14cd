"""The service as a process of its own on a real socket, for what no client inside the process can show."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from pymongo import MongoClient
from pymongo.database import Database

from faults.commands import KEY, NO_TLS, free_port
from faults.samples import FORM_TYPE
from faults.starts import NOWHERE, Process, run_command, start_command, stop
from faults.waiting import wait_until

START_SECONDS = 180.0
UNLIMITED = ("TIER=enterprise", "DAILY_LIMIT=0", "SIGNUP_LIMIT=0", "LOGIN_LIMIT=0", "AUTH_LIMIT=0", "FILE_LIMIT=0")
# A server whose requests have so long to end when it stops; workers learn it from their parent.
IMPATIENT = """
import sys
from service.server.run import serve_http
from service.server.timeouts import ConnectionTimeouts
from service.settings import read_settings
if __name__ == "__main__":
    port, workers, stop = map(int, sys.argv[1:])
    serve_http(read_settings(), host="127.0.0.1", port=port, workers=workers, timeouts=ConnectionTimeouts(stop=stop))
"""
NO_LIMITS = [f"--set={setting}" for setting in UNLIMITED]


@dataclass
class Server:
    """A running service with one project; `database` is what is really stored of it."""

    process: Process
    environment: dict[str, str]
    port: int
    project_id: str
    key: str
    database: Database[dict[str, Any]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        headers = {"x-api-key": self.key, **kwargs.pop("headers", {})}
        return httpx2.request(method, f"{self.url}{path}", headers=headers, timeout=60, verify=NO_TLS, **kwargs)

    def signup(self, body: bytes) -> httpx2.Response:
        """A signup with the form `body`."""
        return self.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)

    def signup_head(self, length: int) -> bytes:
        """The head of a signup whose form has, or is said to have, so many bytes."""
        lines = [
            "POST /auth-collections/signup HTTP/1.1",
            f"host: 127.0.0.1:{self.port}",
            f"x-api-key: {self.key}",
            f"content-type: {FORM_TYPE['content-type']}",
            f"content-length: {length}",
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def command(self, *arguments: str) -> str:
        """The output of a command of the service, on the same database."""
        return run(self.environment, *arguments)

    def sweep(self) -> str:
        """Makes every unfinished upload look an hour old, and sweeps."""
        self.database["uploads"].update_many({}, {"$set": {"touched": datetime(2020, 1, 1, tzinfo=UTC)}})
        return self.command("sweep")

    def workers(self) -> list[int]:
        """The processes that answer requests: the children of the service's own."""
        pid = self.process.pid
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def kill(self) -> None:
        """As a machine that fails: no process gets to clean up."""
        for pid in [*self.workers(), self.process.pid]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(
    uri: str, prefix: str, *, workers: int = 1, port: int | None = None, stop_seconds: int | None = None
) -> Iterator[Server]:
    """A service on the MongoDB of `uri` with a new project, which is gone afterwards.

    With `stop_seconds` its requests have so long to end when it stops, instead of what people get.
    """
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DATA_DIR"},
        "MONGODB_URI": uri,
        "DATABASE_PREFIX": prefix,
        "SECRET_KEY": KEY,
        "BCRYPT_COST": "4",
        "DRAIN_SECONDS": "0",
        "LOG_LEVEL": "error",
    }
    project = json.loads(run(environment, "project", "create", "Files", "--json", *NO_LIMITS))
    chosen = port or free_port()
    with MongoClient[dict[str, Any]](uri) as client:
        database = client[f"{prefix}p_{project['project_id']}"]
        server = Server(
            start(environment, chosen, workers, stop_seconds),
            environment,
            chosen,
            project["project_id"],
            project["api_key"],
            database,
        )
        try:
            wait_until(lambda: is_live(server), START_SECONDS)
            yield server
        finally:
            stop(server.process)
            client.drop_database(database)
            client[f"{prefix}system"]["projects"].delete_one({"_id": project["project_id"]})


def start(environment: dict[str, str], port: int, workers: int, stop_seconds: int | None = None) -> Process:
    if stop_seconds is None:
        return start_command(["serve", "--port", str(port), "--workers", str(workers)], environment)
    command = [sys.executable, "-c", IMPATIENT, str(port), str(workers), str(stop_seconds)]
    impatient = environment | {"BASE_URL": f"http://127.0.0.1:{port}"}
    return subprocess.Popen(command, env=impatient, stdout=NOWHERE, stderr=NOWHERE)  # noqa: S603


def run(environment: dict[str, str], *arguments: str) -> str:
    result = run_command(arguments, environment)
    result.check_returncode()
    return result.stdout


def is_live(server: Server) -> bool:
    try:
        return server.request("GET", "/health/ready").status_code == 200
    except httpx2.TransportError:
        return False


def peak_memory(pid: int) -> int:
    """The most memory a process was ever resident in, in bytes (proc(5), VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
