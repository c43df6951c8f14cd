"""Whether the time of an answer tells who has an account, in a project with PRIVATE_ACCOUNTS.

`python -m faults privacy [--samples 200]`. Addresses with and without an account are asked about in turns, over the whole
application in this process; the times of both are compared by a Mann-Whitney test. Fails where p is 0.01 or less.
"""

import asyncio
import logging
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx2
import structlog
import typer

from faults.in_process import running
from faults.processes import headers, make_key
from faults.restarts import UNLIMITED
from service.embedded.mongod import embedded_mongodb

PREFIX = "f_privacy_"
SETTINGS = UNLIMITED | {"EMAIL_VERIFICATION": "required", "PRIVATE_ACCOUNTS": "true"}
SETTINGS |= {"MAIL_REQUEST_LIMIT": "0", "CODE_LIMIT": "0"}
PASSWORD = "correct horse"
QUESTIONS: dict[str, dict[str, Any]] = {
    "login": {"password": "wrong horse"},
    "signup": {"password": PASSWORD},
    "verify-email": {},
    "forgot-password": {},
    "login-email": {},
}
LEAST = 0.01


def compare(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p of a Mann-Whitney test, by the normal approximation, which holds from some twenty samples on."""
    count, other = len(first), len(second)
    values = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks = sum(rank for rank, (_, group) in enumerate(values, 1) if group == 0)
    u = ranks - count * (count + 1) / 2
    deviation = math.sqrt(count * other * (count + other + 1) / 12)
    return math.erfc(abs(u - count * other / 2) / deviation / math.sqrt(2))


async def measure(http: httpx2.AsyncClient, key: str, *, samples: int) -> dict[str, float]:
    """Question → p. Each address is asked about once for each question, so that no limit is met."""
    for number in range(samples):
        body = {"email": f"known{number}@a.example", "password": PASSWORD}
        await http.post("/auth-collections/signup", json=body, headers=headers(key))
    found = {}
    for path, more in QUESTIONS.items():
        times: dict[str, list[float]] = {"known": [], "unknown": []}
        for number in range(samples):
            # The first of two is not always of the same kind.
            for kind in ("known", "unknown") if number % 2 else ("unknown", "known"):
                whose = kind if kind == "known" else f"{kind}-{path}-"
                times[kind].append(await _time(http, key, path, {"email": f"{whose}{number}@a.example", **more}))
        found[path] = compare(times["known"], times["unknown"])
    return found


async def _time(http: httpx2.AsyncClient, key: str, path: str, body: dict[str, Any]) -> float:
    started = time.perf_counter()
    await http.post(f"/auth-collections/{path}", json=body, headers=headers(key))
    return time.perf_counter() - started


def main(
    samples: Annotated[int, typer.Option(help="Addresses of each kind.", min=20)] = 200,
    cost: Annotated[int, typer.Option(help="bcrypt's; the less it is, the more is seen.", min=4, max=14)] = 8,
) -> None:
    """Compare the times of answers about addresses with and without an account."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found = asyncio.run(_run(samples, cost))
    for path, p in found.items():
        typer.echo(f"{path}: p = {p:.3f}")
    if any(p <= LEAST for p in found.values()):
        raise typer.Exit(1)


async def _run(samples: int, cost: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        _, key = await make_key(uri, PREFIX, **SETTINGS)
        async with running(uri, PREFIX, bcrypt_cost=cost) as (_, http):
            return await measure(http, key, samples=samples)
