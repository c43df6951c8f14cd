"""mongod stopped by SIGSTOP under load: every request is answered in time, memory stays, and all recovers."""

import asyncio
import json
import os
import signal
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from faults.processes import Service, headers, make_key, running_service
from faults.restarts import UNLIMITED
from faults.wire import Connection
from service.embedded.mongod import embedded_mongodb
from service.storage.client import OPERATION_TIMEOUT_MS

PREFIX = "f_freeze_"
CLIENTS = 300
DEADLINE_SECONDS = OPERATION_TIMEOUT_MS / 1000
MEGABYTE = 1_000_000


@dataclass
class Outcome:
    """The answers clients got while the database was stopped and afterwards; memory in bytes."""

    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    before: int = 0
    highest: int = 0
    recovered: float = 0.0

    def __str__(self) -> str:
        return (
            f"answers while stopped {dict(self.statuses)}, slowest {self.slowest:.2f} s (deadline {DEADLINE_SECONDS:.0f} s), "
            f"memory {self.before / MEGABYTE:.0f} MB, highest {self.highest / MEGABYTE:.0f} MB, "
            f"first success {self.recovered:.2f} s after SIGCONT"
        )


async def freeze(*, seconds: float = 30.0, clients: int = CLIENTS) -> Outcome:
    """Stops mongod for so long while clients ask without a pause, more of them than the service lets in."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        _, key = await make_key(uri, PREFIX, **UNLIMITED)
        pid = json.loads((Path(folder) / "mongodb" / "mongod.json").read_text())["pid"]
        with running_service(uri, Path(folder), DATABASE_PREFIX=PREFIX, LOG_LEVEL="error") as service:
            await _through(service, key, pid, outcome, seconds=seconds, clients=clients)
    return outcome


def halt(pid: int) -> None:
    """Returns once every thread of the process has stopped, which on a busy machine is not at once."""
    os.kill(pid, signal.SIGSTOP)
    threads = Path(f"/proc/{pid}/task")
    while any(each.read_text().rpartition(")")[2].split()[0] != "T" for each in threads.glob("*/stat")):
        time.sleep(0.01)


async def _through(service: Service, key: str, pid: int, outcome: Outcome, *, seconds: float, clients: int) -> None:
    connections = [Connection(service.port) for _ in range(clients)]
    await asyncio.gather(*(_ask(connection, key) for connection in connections))
    outcome.before = outcome.highest = service.memory()
    halt(pid)
    end = time.monotonic() + seconds
    try:
        watching = asyncio.create_task(_watch(service, outcome, end))
        await asyncio.gather(*(_load(connection, key, outcome, end) for connection in connections), watching)
    finally:
        os.kill(pid, signal.SIGCONT)
    resumed = time.monotonic()
    while await _ask(connections[0], key) != 200:  # noqa: ASYNC110 - asking is what ends the wait
        await asyncio.sleep(0.05)
    outcome.recovered = time.monotonic() - resumed
    for connection in connections:
        connection.close()


async def _ask(connection: Connection, key: str) -> int:
    path = "/auth-collections/users?limit=1&count=false"
    return (await connection.request("GET", path, headers=headers(key)))[0]


async def _load(connection: Connection, key: str, outcome: Outcome, end: float) -> None:
    while (started := time.monotonic()) < end:
        outcome.statuses[await _ask(connection, key)] += 1
        outcome.slowest = max(outcome.slowest, time.monotonic() - started)
        # As a client does that heeds Retry-After, if a hasty one.
        await asyncio.sleep(0.5)


async def _watch(service: Service, outcome: Outcome, end: float) -> None:
    while time.monotonic() < end:
        outcome.highest = max(outcome.highest, service.memory())
        await asyncio.sleep(0.5)
