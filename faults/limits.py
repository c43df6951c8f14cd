"""Limits on real workers: how many requests pass, also when a worker is killed in between."""

import asyncio
import os
import signal
import tempfile
from collections import Counter
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from faults.processes import Service, headers, make_key, running_service

PREFIX = "f_limits_"


@dataclass(frozen=True)
class Count:
    """The number of answers by status; 0 stands for a connection that broke."""

    statuses: Counter[int]

    @property
    def passed(self) -> int:
        return sum(n for status, n in self.statuses.items() if status not in {0, 429, 503})

    def __str__(self) -> str:
        return f"passed {self.passed}; by status {dict(sorted(self.statuses.items()))}"


async def logins(uri: str, *, requests: int = 100, workers: int = 2) -> Count:
    """So many parallel logins, each on a connection of its own, against the default of 20 an hour."""
    _, key = await make_key(uri, PREFIX, LOGIN_LIMIT="20")
    with tempfile.TemporaryDirectory() as folder, _service(uri, folder, workers) as service:
        limits = httpx2.Limits(max_connections=requests, max_keepalive_connections=requests)
        async with httpx2.AsyncClient(base_url=service.url, limits=limits, timeout=60) as client:
            body = {"email": "nobody@example.com", "password": "x"}
            tasks = [client.post("/auth-collections/login", json=body, headers=headers(key)) for _ in range(requests)]
            return Count(Counter(response.status_code for response in await asyncio.gather(*tasks)))


async def auth(uri: str, *, requests: int = 5000, limit: int = 1000, workers: int = 2, kills: int = 0) -> Count:
    """So many requests over 32 connections against AUTH_LIMIT; `kills` workers are killed on the way."""
    _, key = await make_key(uri, PREFIX, AUTH_LIMIT=str(limit), TIER="pro")
    statuses: Counter[int] = Counter()
    remaining = iter(range(requests))
    kill_at = {limit * (i + 1) // (kills + 1) for i in range(kills)}
    with tempfile.TemporaryDirectory() as folder, _service(uri, folder, workers) as service:

        async def client_loop(client: httpx2.AsyncClient) -> None:
            for _ in remaining:
                if (passed := statuses[200]) and any(passed >= at for at in kill_at):
                    kill_at.discard(min(kill_at))
                    os.kill(service.workers()[0], signal.SIGKILL)
                statuses[await _status(client, key)] += 1

        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
        clients = [httpx2.AsyncClient(base_url=service.url, limits=limits, timeout=30) for _ in range(32)]
        await asyncio.gather(*(client_loop(client) for client in clients))
        for client in clients:
            await client.aclose()
    return Count(statuses)


async def _status(client: httpx2.AsyncClient, key: str) -> int:
    with suppress(httpx2.TransportError):
        response = await client.get("/auth-collections/users?limit=1&count=false", headers=headers(key))
        return response.status_code
    # A killed worker's port stays open for its siblings; a moment later the next request finds one of them.
    await asyncio.sleep(0.05)
    return 0


def _service(uri: str, folder: str, workers: int) -> AbstractContextManager[Service]:
    return running_service(uri, Path(folder), workers=workers, DATABASE_PREFIX=PREFIX, LOG_LEVEL="error")
