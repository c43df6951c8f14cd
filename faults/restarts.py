"""Restarts by SIGTERM under load: what was read is answered."""

import asyncio
import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from faults.processes import Service, headers, make_key, start_service, wait_live
from faults.wire import Broken, Connection, Refused

PREFIX = "f_restarts_"
CLIENTS = 16
LOAD_SECONDS = 0.7
# A new connection that was in the queue of the kernel when its socket closed.
UNREAD = "on a fresh connection after 0 bytes"
UNLIMITED = {"SIGNUP_LIMIT": "0", "LOGIN_LIMIT": "0", "AUTH_LIMIT": "0", "FILE_LIMIT": "0", "TIER": "enterprise"}


@dataclass
class Outcome:
    """Answers by status, connections that were refused, and how open ones broke.

    `unread` counts those that broke before anybody had read of them: the kernel had taken them, and the service was gone.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    unread: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    slowest_stop: float = 0.0
    restarts: int = 0

    def __str__(self) -> str:
        return (
            f"{self.restarts} restarts, answers {dict(self.statuses)}, {self.refused} connections refused, "
            f"{self.unread} never read, read and reset {self.broken.total()} {dict(self.broken) or ''}; "
            f"slowest stop {self.slowest_stop:.2f} s"
        )


async def restarts(uri: str, *, count: int = 50, workers: int = 1) -> Outcome:
    """Stops and starts the service so often, on one port, while clients call it without a pause.

    Half of the clients open a connection for each request; every fourth request is a login, which takes a hash.
    """
    _, key = await make_key(uri, PREFIX, **UNLIMITED)
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        port = 0
        for _ in range(count):
            service = start_service(
                uri,
                Path(folder),
                workers=workers,
                port=port,
                DATABASE_PREFIX=PREFIX,
                BCRYPT_COST="8",
                DRAIN_SECONDS="1",
                LOG_LEVEL="error",
            )
            port = service.port
            try:
                await _one_life(service, key, outcome)
            finally:
                if service.process.poll() is None:
                    service.process.kill()
    return outcome


async def _one_life(service: Service, key: str, outcome: Outcome) -> None:
    await asyncio.to_thread(wait_live, service)
    stopped = asyncio.Event()
    clients = [
        asyncio.create_task(_client(service.port, key, outcome, stopped, keep=number % 2 == 0))
        for number in range(CLIENTS)
    ]
    await asyncio.sleep(LOAD_SECONDS)
    started = time.monotonic()
    await asyncio.to_thread(service.terminate)
    outcome.slowest_stop = max(outcome.slowest_stop, time.monotonic() - started)
    outcome.restarts += 1
    stopped.set()
    await asyncio.gather(*clients)


async def _client(port: int, key: str, outcome: Outcome, stopped: asyncio.Event, *, keep: bool) -> None:
    connection = Connection(port)
    number = 0
    while not stopped.is_set():
        number += 1
        try:
            outcome.statuses[await _call(connection, key, number)] += 1
        except Refused:
            outcome.refused += 1
            await asyncio.sleep(0.02)
        except Broken as broken:
            if str(broken).endswith(UNREAD):
                outcome.unread += 1
            else:
                outcome.broken[str(broken)] += 1
        if not keep:
            connection.close()
    connection.close()


async def _call(connection: Connection, key: str, number: int) -> int:
    if number % 4:
        path = "/auth-collections/users?limit=1&count=false"
        return (await connection.request("GET", path, headers=headers(key)))[0]
    body = json.dumps({"email": "nobody@example.com", "password": "x"}).encode()
    fields = headers(key, **{"content-type": "application/json"})
    return (await connection.request("POST", "/auth-collections/login", headers=fields, body=body))[0]
