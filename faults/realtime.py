"""Breaks sockets, kills the primary and kills workers, under writes, and checks the messages of the followers.

`python -m faults realtime [--reconnects 100] [--kills 100] [--workers 20]`. A replica set of one member and a service
of two workers. After every tenth fault the writes pause: once each follower has the event of a last document, its
records must be those that a list finds then. Fails unless no record was lost, doubled or wrong.
"""

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer

from faults.follower import LIMIT, Follower
from faults.members import ReplicaSet, replica_set
from faults.processes import Service, headers, make_key, running_service
from faults.restarts import UNLIMITED
from faults.waiting import until

PREFIX = "f_realtime_"
SEED = 20_261_122
COLLECTION = "/api/collections/things"
SCHEMA = {"room": {"type": "string"}, "number": {"type": "integer"}}
ROOMS = ("r0", "r1", "r2")
QUERIES: tuple[dict[str, Any], ...] = (*({"room_eq": room} for room in ROOMS), {"room_in": ["r0", "r2"]}, {}, {})
WRITERS = 4
# So many documents of each writer: all of them are within one snapshot.
OWN = 40
PAUSE_SECONDS = 0.02
PATIENCE_SECONDS = 90.0
FAULTS_TO_A_LOOK = 10


@dataclass
class Outcome:
    """The faults and writes of a run, and the messages of the followers."""

    reconnects: int = 0
    kills: int = 0
    worker_kills: int = 0
    writes: int = 0
    refused: int = 0
    looks: int = 0
    wrong: int = 0
    tally: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0

    @property
    def is_good(self) -> bool:
        return not self.wrong and not self.faults.total()

    def __str__(self) -> str:
        told = ", ".join(f"{count} {name}" for name, count in sorted(self.tally.items()))
        return (
            f"{self.reconnects} reconnects, {self.kills} kills of the primary, {self.worker_kills} of a worker; "
            f"{self.writes} writes acknowledged, {self.refused} not; told {told}; {self.looks} states looked at, "
            f"{self.wrong} wrong; told wrongly {dict(+self.faults) or 0}; slowest to be whole again {self.longest:.1f} s"
        )


class Site:
    """A service, those who write and those who follow."""

    def __init__(self, members: ReplicaSet, service: Service, key: str, outcome: Outcome, seed: int) -> None:
        self.members = members
        self.service = service
        self.outcome = outcome
        self.chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self.followers = [Follower(service.port, key, "things", where, self.chance) for where in QUERIES]
        self._client = httpx2.AsyncClient(base_url=service.url, headers=headers(key), timeout=60)
        self._may_write = asyncio.Event()
        self._resting = 0
        self._number = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        declared = {"name": "things", "schema": SCHEMA, "realtime": True}
        assert (await self._client.post("/api/collections", json=declared)).status_code == 201
        self._may_write.set()
        self._tasks = [asyncio.create_task(each.run()) for each in self.followers]
        self._tasks += [asyncio.create_task(self._write()) for _ in range(WRITERS)]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        found = await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()
        for each in self.followers:
            self.outcome.tally += each.tally
            self.outcome.faults += each.faults
        for error in found:
            if isinstance(error, Exception):
                raise error

    async def _write(self) -> None:
        own: list[str] = []
        while True:
            if not self._may_write.is_set():
                self._resting += 1
                await self._may_write.wait()
                self._resting -= 1
            await self._write_one(own)
            await asyncio.sleep(self.chance.uniform(0, 2 * PAUSE_SECONDS))

    async def _write_one(self, own: list[str]) -> None:
        self._number += 1
        data = {"room": self.chance.choice(ROOMS), "number": self._number}
        act = self.chance.random()
        if len(own) < OWN and (act < 0.3 or not own):
            answer = await self._send("POST", "/documents", {"data": data})
            own += [answer["id"]] if answer is not None else []
        elif act < 0.4:
            # One that may be deleted, or not, is left alone.
            await self._send("DELETE", f"/documents/{own.pop(self.chance.randrange(len(own)))}")
        else:
            changed = data if act < 0.6 else {"number": self._number}
            await self._send("PATCH", f"/documents/{self.chance.choice(own)}", {"data": changed})

    async def _send(self, method: str, path: str, body: object = None) -> Any:
        """The answer; None where there was none, so that it may have been written or not."""
        with suppress(httpx2.TransportError):
            answer = await self._client.request(method, f"{COLLECTION}{path}", json=body)
            if answer.is_success:
                self.outcome.writes += 1
                return answer.json() if answer.content else {}
            assert answer.status_code == 503, answer.text
        self.outcome.refused += 1
        await asyncio.sleep(PAUSE_SECONDS)
        return None

    async def look(self) -> None:
        """Compares what each has with a list, while nothing is written."""
        started = time.monotonic()
        self._may_write.clear()
        await until(lambda: self._resting == WRITERS)
        last = {room: (await self._insist("POST", "/documents", {"data": {"room": room}}))["id"] for room in ROOMS}
        for each in self.followers:
            await until(partial(self._has, each, last))
            listed = await self._insist("POST", "/query", {"where": each.where, "limit": LIMIT})
            self.outcome.looks += 1
            self.outcome.wrong += {doc["id"]: doc for doc in listed["documents"]} != each.records
        for each in last.values():
            await self._insist("DELETE", f"/documents/{each}")
        self.outcome.longest = max(self.outcome.longest, time.monotonic() - started)
        self._may_write.set()

    def _has(self, follower: Follower, last: dict[str, str]) -> bool:
        rooms = follower.where.get("room_in") or [follower.where.get("room_eq")]
        return all(id_ in follower.records for room, id_ in last.items() if room in rooms or rooms == [None])

    async def _insist(self, method: str, path: str, body: object = None) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (answer := await self._send(method, path, body)) is None:
            assert time.monotonic() < deadline
        return answer

    async def reconnect(self) -> None:
        await asyncio.sleep(self.chance.uniform(0, 0.1))
        self.outcome.reconnects += self.chance.choice(self.followers).drop()

    async def kill_primary(self) -> None:
        await asyncio.sleep(self.chance.uniform(0.1, 0.6))
        (member,) = self.members.members
        await asyncio.to_thread(member.kill)
        await asyncio.sleep(self.chance.uniform(0, 0.2))
        member.revive()
        await asyncio.to_thread(self.members.primary)
        self.outcome.kills += 1

    async def kill_worker(self) -> None:
        """The service starts another one in its place."""
        await asyncio.sleep(self.chance.uniform(0.5, 1))
        before = self.service.workers()
        pid = self.chance.choice(before)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: len(found := self.service.workers()) == len(before) and pid not in found)
        self.outcome.worker_kills += 1


async def _repeat(site: Site, fault: Callable[[], Awaitable[None]], done: Callable[[], int], count: int) -> None:
    looked = 0
    while done() < count:
        await fault()
        if done() // FAULTS_TO_A_LOOK > looked or done() == count:
            looked = done() // FAULTS_TO_A_LOOK
            await site.look()
            print(f"realtime: {site.outcome}", file=sys.stderr)  # noqa: T201


async def realtime(*, reconnects: int = 100, kills: int = 100, worker_kills: int = 20, seed: int = SEED) -> Outcome:
    outcome = Outcome()
    workers = 2 if worker_kills else 1
    with tempfile.TemporaryDirectory() as name, replica_set(folder := Path(name), 1) as members:
        _, key = await make_key(members.uri, PREFIX, **UNLIMITED)
        settings = {"DATABASE_PREFIX": PREFIX, "LOG_LEVEL": "error"}
        with running_service(members.uri, folder, workers=workers, **settings) as service:
            site = Site(members, service, key, outcome, seed)
            await site.open()
            try:
                await _repeat(site, site.reconnect, lambda: outcome.reconnects, reconnects)
                await _repeat(site, site.kill_primary, lambda: outcome.kills, kills)
                await _repeat(site, site.kill_worker, lambda: outcome.worker_kills, worker_kills)
            finally:
                await site.close()
    return outcome


def main(
    reconnects: Annotated[int, typer.Option(help="How many sockets are cut.", min=0)] = 100,
    kills: Annotated[int, typer.Option(help="How often the primary is killed.", min=0)] = 100,
    workers: Annotated[int, typer.Option(help="How often a worker is killed.", min=0)] = 20,
    seed: Annotated[int, typer.Option(help="Of what is done when.")] = SEED,
) -> None:
    """Break what followers depend on, and compare their records with the stored ones."""
    outcome = asyncio.run(realtime(reconnects=reconnects, kills=kills, worker_kills=workers, seed=seed))
    typer.echo(f"realtime: {outcome}")
    if not outcome.is_good:
        raise typer.Exit(1)
