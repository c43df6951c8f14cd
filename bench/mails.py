"""The seconds from a request until its mail is at the mail server, and the CPU of a worker that sends mails and
refreshes sessions.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median, quantiles
from time import perf_counter

import httpx2

from bench.checkouts import HERE, Checkout, running
from bench.figures import Figure, Goal
from bench.load import send_many
from bench.sessions import REFRESHING, refreshes
from bench.stage import Stage
from faults.mail_server import Handed, mail_server
from service.settings import Settings

PREFIX = "bench_mails_"
USERS, WARM_UP, MAILS, REFRESHES = 1_000, 20, 200, 3_000
MAILED = REFRESHING | {"MAIL_FROM": "Bench <no-reply@bench.example>", "MAIL_REQUEST_LIMIT": "0"}
ARRIVAL_GOAL, MEMORY_GOAL = Goal("<=", 100), Goal("<=", 110)
ARRIVAL_SECONDS = 30


def measure_mails(settings: Settings) -> list[Figure]:
    """From a request for a code to the server's 250, one after the other, each with another address."""
    return asyncio.run(_measure(settings))


async def _measure(settings: Settings) -> list[Figure]:
    async with mail_server() as (handed, port), _stage(settings, port) as stage:
        arrivals = [await _arrival(stage, handed, number) for number in range(WARM_UP + MAILS)][WARM_UP:]
        await send_many(stage.server, refreshes(settings, stage), REFRESHES)
        memory = stage.server.memory()
    ninety_ninth = quantiles(arrivals, n=100)[-1]
    note = f"{MAILS} mails, one after the other; the slowest percent {ninety_ninth:.0f} ms"
    return [
        Figure("request for a mail → its server has it, p50", median(arrivals), "ms", ARRIVAL_GOAL, note),
        Figure("memory of a worker", memory, "MiB", MEMORY_GOAL, f"after those and {REFRESHES:,} refreshes"),
    ]


@asynccontextmanager
async def _stage(settings: Settings, port: int) -> AsyncIterator[Stage]:
    """`running`, while this process serves the mails."""
    stages = running(Checkout(HERE, PREFIX), settings, USERS, MAILED | {"SMTP_URL": f"smtp://127.0.0.1:{port}"})
    stage = await asyncio.to_thread(stages.__enter__)
    try:
        yield stage
    finally:
        await asyncio.to_thread(stages.__exit__, None, None, None)


async def _arrival(stage: Stage, handed: Handed, number: int) -> float:
    """Milliseconds."""
    body = {"email": f"somebody{number}@bench.example", "create": True}
    handed.changed.clear()
    async with httpx2.AsyncClient(base_url=stage.server.url, headers=dict(stage.keyed)) as http:
        started = perf_counter()
        (await http.post("/auth-collections/login-email", json=body)).raise_for_status()
        async with asyncio.timeout(ARRIVAL_SECONDS):
            await handed.changed.wait()
    return (perf_counter() - started) * 1000
