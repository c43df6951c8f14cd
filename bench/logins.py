"""Logins beside bcrypt itself, and what another request waits meanwhile."""

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles

import bcrypt

from bench.figures import Figure, Goal
from bench.load import Request, send_many
from bench.requests import Stage, staged
from service.settings import Settings

CORES = os.cpu_count() or 1
# Twice as many as can be hashed at once: there is always one that waits.
CONNECTIONS = 2 * CORES
HASHES = 8 * CORES
OTHER_PAUSE_SECONDS = 0.02
PASSWORD = b"correct horse"


def measure_logins(settings: Settings, *, rounds: int) -> list[Figure]:
    """Blocks of logins and of bare bcrypt take turns, each on all cores; then logins with profile requests beside them."""
    with staged(settings) as (stage, _):
        return asyncio.run(_measure(stage, settings.bcrypt_cost, rounds))


async def _measure(stage: Stage, cost: int, rounds: int) -> list[Figure]:
    hashed = bcrypt.hashpw(PASSWORD, bcrypt.gensalt(cost))
    login = _login(stage)
    await send_many(stage.server, login, CONNECTIONS, connections=CONNECTIONS)
    pairs = [(await _logins_a_second(stage, login), _hashes_a_second(hashed)) for _ in range(rounds)]
    ours, bare = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    return [
        Figure(
            "logins a second ÷ bcrypt checks a second",
            ratio,
            "x",
            Goal(">=", 0.95),
            f"{ours:.2f} logins, {bare:.2f} checks in {CORES} bare threads; {rounds} pairs of blocks of {HASHES}; cost {cost}",
        ),
        await _other(stage, login),
    ]


def _login(stage: Stage) -> Request:
    body = json.dumps({"email": "someone@example.com", "password": PASSWORD.decode()}).encode()
    return Request("POST", "/auth-collections/login", stage.keyed, body)


async def _logins_a_second(stage: Stage, login: Request) -> float:
    started = time.perf_counter()
    await send_many(stage.server, login, HASHES, connections=CONNECTIONS)
    return HASHES / (time.perf_counter() - started)


def _hashes_a_second(hashed: bytes) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(lambda _: bcrypt.checkpw(PASSWORD, hashed), range(HASHES)))
    return HASHES / (time.perf_counter() - started)


async def _other(stage: Stage, login: Request) -> Figure:
    """Profile requests, one after the other, while logins keep every core busy."""
    logins = asyncio.create_task(send_many(stage.server, login, 2 * HASHES, connections=CONNECTIONS))
    profile, times = Request("GET", "/auth-collections/user", stage.signed_in), list[float]()
    while not logins.done():
        times += await send_many(stage.server, profile, 1, connections=1)
        await asyncio.sleep(OTHER_PAUSE_SECONDS)
    await logins
    note = f"p50 {median(times):.1f} ms, {len(times)} profile requests while logins saturate the CPU"
    return Figure("p99 of another request meanwhile", quantiles(times, n=100)[98], "ms", Goal("<=", 500), note)
