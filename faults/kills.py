"""The primary killed again and again under writes: what was acknowledged is there, once."""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from faults.members import ReplicaSet, replica_set
from faults.processes import headers, make_key, running_service
from faults.restarts import UNLIMITED
from faults.wire import Broken, Connection

PREFIX = "f_kills_"
COLLECTIONS = "/api/collections"
SEED = 20_261_120


@dataclass
class Outcome:
    """The answers clients got, and the state of the database afterwards."""

    kills: int = 0
    restarted: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    without_retry_after: int = 0
    acknowledged: list[tuple[float, int]] = field(default_factory=list)
    broken: int = 0
    slowest: float = 0.0
    lost: int = 0
    duplicated: int = 0
    seconds: float = 0.0

    @property
    def longest_gap(self) -> float:
        times = sorted(moment for moment, _ in self.acknowledged)
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills in {self.seconds:.0f} s, {self.restarted} stuck members restarted, "
            f"answers {dict(self.statuses)}, 503 without Retry-After "
            f"{self.without_retry_after}, broken {self.broken}, lost {self.lost}, duplicated {self.duplicated}, "
            f"longest gap {self.longest_gap:.1f} s, slowest answer {self.slowest:.1f} s"
        )


async def kills(*, count: int = 100, rate: int = 200, seed: int = SEED) -> Outcome:
    """Kills the primary so often at random moments, and revives it, while documents arrive at `rate` a second.

    Each document carries a number, and is sent once: a number that is stored twice was written twice.
    """
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder, replica_set(Path(folder)) as members:
        project_id, key = await make_key(members.uri, PREFIX, **UNLIMITED)
        with running_service(
            members.uri, Path(folder), DATABASE_PREFIX=PREFIX, BCRYPT_COST="4", LOG_LEVEL="error"
        ) as service:
            await _declare(service.port, key)
            started = time.monotonic()
            done = asyncio.Event()
            writing = asyncio.create_task(_write(service.port, key, rate, outcome, done))
            await _kill(members, count, random.Random(seed), outcome)  # noqa: S311 - repeatable on purpose
            await asyncio.sleep(1)
            done.set()
            await writing
            outcome.seconds = time.monotonic() - started
        _compare(members.uri, project_id, outcome)
    return outcome


async def _declare(port: int, key: str) -> None:
    connection = Connection(port)
    body = json.dumps({"name": "things", "schema": {"number": {"type": "integer"}}}).encode()
    fields = headers(key, **{"content-type": "application/json"})
    status, _ = await connection.request("POST", COLLECTIONS, headers=fields, body=body)
    connection.close()
    assert status == 201


async def _kill(members: ReplicaSet, count: int, chance: random.Random, outcome: Outcome) -> None:
    for _ in range(count):
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        primary = await asyncio.to_thread(members.primary)
        await asyncio.to_thread(primary.kill)
        outcome.kills += 1
        await asyncio.sleep(chance.uniform(0.0, 1.0))
        primary.revive()
        outcome.restarted += await asyncio.to_thread(members.heal)
        if outcome.kills % 10 == 0:
            print(f"kills: {outcome.kills} so far, {dict(outcome.statuses)}", file=sys.stderr)  # noqa: T201


async def _write(port: int, key: str, rate: int, outcome: Outcome, done: asyncio.Event) -> None:
    idle: list[Connection] = []
    tasks: set[asyncio.Task[None]] = set()
    started, number = time.monotonic(), 0
    while not done.is_set():
        while number < (time.monotonic() - started) * rate:
            number += 1
            task = asyncio.create_task(_create(idle, port, key, number, outcome))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.005)
    await asyncio.gather(*tasks)
    for connection in idle:
        connection.close()


async def _create(idle: list[Connection], port: int, key: str, number: int, outcome: Outcome) -> None:
    connection = idle.pop() if idle else Connection(port)
    body = json.dumps({"data": {"number": number}}).encode()
    started = time.monotonic()
    fields = headers(key, **{"content-type": "application/json"})
    try:
        status, answer = await connection.request("POST", f"{COLLECTIONS}/things/documents", headers=fields, body=body)
    except Broken:
        outcome.broken += 1
        return
    idle.append(connection)
    outcome.slowest = max(outcome.slowest, time.monotonic() - started)
    outcome.statuses[status] += 1
    if status == 201:
        outcome.acknowledged.append((time.monotonic(), number))
    elif status == 503 and "retry-after" not in answer:
        outcome.without_retry_after += 1


def _compare(uri: str, project_id: str, outcome: Outcome) -> None:
    with MongoClient[dict[str, Any]](uri, readConcernLevel="majority") as client:
        documents = client[f"{PREFIX}p_{project_id}"]["c_things"].find({}, {"data.number": 1})
        stored = Counter(document["data"]["number"] for document in documents)
    outcome.lost = sum(number not in stored for _, number in outcome.acknowledged)
    outcome.duplicated = sum(times > 1 for times in stored.values())
