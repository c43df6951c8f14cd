"""Logins beside bcrypt itself, and what another request waits meanwhile."""

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median, quantiles

import bcrypt

from bench.figures import Figure, Goal
from bench.load import Request, send_many
from bench.stage import Stage, staged
from service.settings import Settings

CORES = os.cpu_count() or 1
# Twice as many as can be hashed at once: there is always one that waits.
CONNECTIONS = 2 * CORES
HASHES = 8 * CORES
OTHER_PAUSE_SECONDS = 0.02
PASSWORD = b"correct horse"


@dataclass(frozen=True, slots=True)
class Block:
    """So many a second, and the CPU milliseconds that each took."""

    rate: float
    cpu: float


def measure_logins(settings: Settings, *, rounds: int) -> list[Figure]:
    """Blocks of logins and of bare bcrypt take turns, each on all cores; then logins with profile requests beside them."""
    with staged(settings) as (stage, _):
        return asyncio.run(_measure(stage, settings.bcrypt_cost, rounds))


async def _measure(stage: Stage, cost: int, rounds: int) -> list[Figure]:
    hashed = bcrypt.hashpw(PASSWORD, bcrypt.gensalt(cost))
    login = _login(stage)
    await send_many(stage.server, login, CONNECTIONS, connections=CONNECTIONS)
    pairs = [(await _logins(stage, login), _checks(hashed)) for _ in range(rounds)]
    return [
        _figure(
            "logins a second ÷ bcrypt checks a second", [(ours.rate, bare.rate) for ours, bare in pairs], "a second"
        ),
        # Other processes may use the machine too. CPU seconds are this process's own; the rate above is shared with
        # them.
        _figure("CPU of a bcrypt check ÷ CPU of a login", [(bare.cpu, ours.cpu) for ours, bare in pairs], "ms"),
        await _other(stage, login),
    ]


def _figure(name: str, pairs: list[tuple[float, float]], unit: str) -> Figure:
    one, other = (median(column) for column in zip(*pairs, strict=True))
    note = f"{one:.2f} and {other:.2f} {unit}; {len(pairs)} pairs of {HASHES} on {CORES} cores"
    return Figure(name, median(first / second for first, second in pairs), "x", Goal(">=", 0.95), note)


def _login(stage: Stage) -> Request:
    body = json.dumps({"email": "someone@example.com", "password": PASSWORD.decode()}).encode()
    return Request("POST", "/auth-collections/login", stage.keyed, body)


async def _logins(stage: Stage, login: Request) -> Block:
    started, before = time.perf_counter(), stage.server.cpu_seconds()
    await send_many(stage.server, login, HASHES, connections=CONNECTIONS)
    used = stage.server.cpu_seconds() - before
    return Block(HASHES / (time.perf_counter() - started), used * 1000 / HASHES)


def _checks(hashed: bytes) -> Block:
    started, before = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(lambda _: bcrypt.checkpw(PASSWORD, hashed), range(HASHES)))
    used = time.process_time() - before
    return Block(HASHES / (time.perf_counter() - started), used * 1000 / HASHES)


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
