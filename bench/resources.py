"""What the service takes before and beside its requests: time to start, and memory."""

import asyncio
from statistics import median
from time import perf_counter

from bench.figures import Figure, Goal
from bench.load import Request, send_many
from bench.processes import service_process
from bench.requests import staged
from service.settings import Settings

WARM_REQUESTS = 2_000


def measure_start(settings: Settings, *, rounds: int) -> list[Figure]:
    """From the command to the first answer of /health/ready: MongoDB started with it, on the data that is there."""
    times = []
    for _ in range(rounds):
        started = perf_counter()
        with service_process(settings):
            times.append(perf_counter() - started)
    note = f"embedded MongoDB and service, from the command to ready; {rounds} starts on the data of this benchmark"
    return [Figure("start, with data there", median(times), "s", Goal("<=", 2), note)]


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
