"""What the service takes before and beside its requests: time to start, and memory."""

import asyncio
import json
import os
import signal
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

from bench.figures import Figure, Goal
from bench.load import Request, send_many
from bench.processes import POLL_SECONDS, service_process
from bench.stage import staged
from service.settings import Settings

WARM_REQUESTS = 2_000


def measure_start(settings: Settings, *, rounds: int) -> list[Figure]:
    """From the command to the first answer of /health/ready: MongoDB started with it, on the data that is there."""
    stopped = [_start(settings) for _ in range(rounds)]
    # The first of these starts comes after a stop, and counts for nothing.
    killed = [_start(settings, then_kill=True) for _ in range(rounds + 1)][1:]
    note = f"embedded MongoDB and service, from the command to ready; {rounds} starts on the data of this benchmark"
    return [
        Figure("start, with data there", median(stopped), "s", Goal("<=", 2), note),
        Figure(
            "start after kill -9",
            median(killed),
            "s",
            Goal("<=", 2),
            "of the service and of its MongoDB; else as above",
        ),
    ]


def _start(settings: Settings, *, then_kill: bool = False) -> float:
    """The seconds of one start, which ends as it is told to: stopped, or killed together with its MongoDB."""
    started = perf_counter()
    with service_process(settings) as server:
        seconds = perf_counter() - started
        if then_kill:
            state = json.loads((settings.data_dir / "mongodb" / "mongod.json").read_text())
            for pid in (server.pid, state["pid"]):
                _kill(pid)
    return seconds


def _kill(pid: int) -> None:
    """Returns when the process holds nothing any more; one whose parent has not asked after it stays as a zombie."""
    os.kill(pid, signal.SIGKILL)
    status = Path(f"/proc/{pid}/stat")
    while status.exists() and ") Z " not in status.read_text():
        sleep(POLL_SECONDS)


def measure_memory(settings: Settings) -> list[Figure]:
    """Of each of two workers, after some thousand requests."""
    with staged(settings, "--workers", "2") as (stage, _):
        request = Request("GET", "/auth-collections/users?limit=20", stage.keyed)
        asyncio.run(send_many(stage.server, request, WARM_REQUESTS))
        resident = stage.server.worker_memory()
    return [
        Figure(
            "resident memory per worker", resident, "MiB", Goal("<=", 110), f"after {WARM_REQUESTS} lists of 20 users"
        )
    ]
