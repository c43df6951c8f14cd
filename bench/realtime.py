"""The cost of following: deliveries, latency and memory of many sockets, and the price for clients that do not follow.

Server, clients, the writer and MongoDB share the machine's cores; the notes say how many of them were busy.
"""

import asyncio
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle, repeat
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import httpx2
import uvloop
from pymongo import MongoClient

from bench.figures import Figure, Goal
from bench.population import FREE, populated_project
from bench.processes import MEBIBYTE, Server, service_process
from bench.scaling import busy_seconds
from bench.sides import mongodb_process
from bench.sockets import LiveClient, Received, follow, open_sockets
from bench.writer import Plan, write
from service.settings import Settings

PROJECT = "realtime"
SCHEMA = {"room": {"type": "string"}, "number": {"type": "integer"}, "text": {"type": "string"}}
# Makes a frame of about 0.4 KB.
TEXT = "x" * 120
KIBIBYTE = 1024
Record = dict[str, Any]


@dataclass(slots=True)
class Site:
    """A service with one project, and what comes over its sockets."""

    server: Server
    mongodb: Server
    workers: int
    key: str
    uri: str
    database: str
    received: Received = field(default_factory=Received)

    def declare(self, name: str, rooms: Sequence[str], *, realtime: bool = True) -> list[str]:
        """Creates the collection again, with one document in each room; returns their ids."""
        with httpx2.Client(base_url=self.server.url, headers={"x-api-key": self.key}, timeout=60) as http:
            http.delete(f"/api/collections/{name}")
            body = {"name": name, "schema": SCHEMA, "realtime": realtime}
            http.post("/api/collections", json=body).raise_for_status()
        ids = [f"{number:024x}" for number in range(len(rooms))]
        self.insert(name, [make_record(id_, room) for id_, room in zip(ids, rooms, strict=True)])
        return ids

    def insert(self, name: str, records: Sequence[Record]) -> None:
        with MongoClient[Record](self.uri) as client:
            client[self.database][f"c_{name}"].insert_many(records)

    def cpu_seconds(self) -> float:
        """The CPU seconds of the processes that answer."""
        if self.workers == 1:
            return self.server.cpu_seconds()
        return sum(Server(pid, 0).cpu_seconds() for pid in self.server.workers())

    async def connect(self, count: int) -> list[LiveClient]:
        return await open_sockets(self.server.port, self.received, count, key=self.key, workers=self.workers)

    def plan(self, name: str, ids: Sequence[str], events: int, rate: float) -> Plan:
        return Plan(self.uri, self.database, f"c_{name}", ids, events, rate)


def make_record(id_: str, room: str) -> Record:
    at = datetime.now(UTC).replace(tzinfo=None)
    return {
        "_id": id_,
        "data": {"room": room, "number": 0, "text": TEXT},
        "created_at": at,
        "updated_at": at,
        "version": 1,
    }


@contextmanager
def served(settings: Settings, *, workers: int = 1) -> Iterator[Site]:
    project, key = asyncio.run(populated_project(settings, PROJECT, 0, limits=FREE))
    with service_process(settings, "--workers", str(workers), TRUSTED_PROXIES="127.0.0.1") as server:
        database = project.database.database.name
        yield Site(server, mongodb_process(settings), workers, key, settings.database_uri, database)


@dataclass(frozen=True, slots=True)
class Run:
    """Some events and all their deliveries: milliseconds from the acknowledgement of each, and what it took."""

    deliveries: Sequence[float]
    last: Sequence[float]
    seconds: float
    cpu_seconds: float
    mongodb_seconds: float
    busy: float
    resyncs: int

    @property
    def rate(self) -> float:
        return len(self.deliveries) / self.seconds

    @property
    def cpu(self) -> float:
        """Microseconds of the service for a delivery."""
        return self.cpu_seconds * 1_000_000 / len(self.deliveries)

    def note(self) -> str:
        load = os.getloadavg()[0]
        return (
            f"{self.rate:,.0f} deliveries/s at {self.cpu:.1f} µs; of {os.cpu_count()} cores {self.busy:.2f} busy, service "
            f"{self.cpu_seconds / self.seconds:.2f}, mongod {self.mongodb_seconds / self.seconds:.2f}; "
            f"{self.resyncs} resyncs; load {load:.1f}"
        )


async def run(site: Site, plan: Plan, sockets: int) -> Run:
    """Writes by `plan`; returns when each event has reached `sockets` sockets, or no more events arrive."""
    site.received.clear()
    loop, expected = asyncio.get_running_loop(), plan.events * sockets
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        await loop.run_in_executor(pool, os.getpid)
        before, started = (site.cpu_seconds(), site.mongodb.cpu_seconds(), busy_seconds()), perf_counter()
        acknowledged = await loop.run_in_executor(pool, write, plan)
        await _await_quiet(site.received, expected)
        after = site.cpu_seconds(), site.mongodb.cpu_seconds(), busy_seconds()
    numbers = site.received.numbers
    seconds = max(moment for _, moment in numbers) - started
    deliveries = [(moment - acknowledged[number - plan.first]) * 1000 for number, moment in numbers]
    ends: dict[int, float] = {}
    for (number, _), late in zip(numbers, deliveries, strict=True):
        ends[number] = max(late, ends.get(number, late))
    service, mongodb, busy = (later - earlier for earlier, later in zip(before, after, strict=True))
    resyncs = site.received.frames[b"resync"]
    return Run(deliveries, list(ends.values()), seconds, service, mongodb, busy / seconds, resyncs)


async def _await_quiet(received: Received, expected: int) -> None:
    """Waits until all events are there, or none arrived for two seconds: a client that must resume gets fewer."""
    count = -1
    while len(received.numbers) < expected and count != len(received.numbers):
        count = len(received.numbers)
        await asyncio.sleep(2.0)


def _p(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1]


def measure_room(settings: Settings, *, quick: bool) -> list[Figure]:
    """Deliveries of one worker."""
    with served(settings) as site:
        return uvloop.run(_thousand(site, 100 if quick else 1_000))


def measure_socket_memory(settings: Settings, *, quick: bool) -> list[Figure]:
    with served(settings) as site:
        return [uvloop.run(_memory(site, 500 if quick else 5_000))]


def measure_rooms(settings: Settings, *, quick: bool) -> list[Figure]:
    """Latency of as many sockets as one worker takes, on two."""
    with served(settings, workers=2) as site:
        return uvloop.run(_ten_thousand(site, 1_000 if quick else 10_000))


async def _thousand(site: Site, sockets: int) -> list[Figure]:
    """One worker, one room: as much as goes, and 20 events a second."""
    ids = site.declare("room", ["r"])
    clients = await site.connect(sockets)
    await follow(clients, site.received, repeat({"id": "r", "collection": "room", "where": {"room_eq": "r"}}))
    steady = await run(site, site.plan("room", ids, 200, 20), sockets)
    flood = await run(site, site.plan("room", ids, 1_000, 0), sockets)
    name = f"{sockets:,} sockets, one room, one worker"
    return [
        Figure(
            f"p50 of a delivery, {name}, 20 events/s", median(steady.deliveries), "ms", Goal("<=", 15), steady.note()
        ),
        Figure(f"p99 of a delivery, {name}, 20 events/s", _p(steady.deliveries, 99), "ms", Goal("<=", 60)),
        Figure(f"deliveries a second, {name}", flood.rate, "/s", Goal(">=", 40_000), flood.note()),
        Figure("CPU of a delivery", flood.cpu, "µs", Goal("<=", 12), f"{steady.cpu:.1f} at 20 events/s"),
    ]


async def _memory(site: Site, sockets: int) -> Figure:
    """After a first hundred, so that what is there only once does not count."""
    site.declare("room", ["a", "b", "c"])
    few, before = 100, await _open_with_three(site, 100)
    after = await _open_with_three(site, sockets)
    each = (after - before) * MEBIBYTE / KIBIBYTE / sockets
    note = f"{before:.0f} MiB with {few} sockets, {after:.0f} with {sockets:,} more; 3 subscriptions each"
    return Figure("memory of a socket with 3 subscriptions", each, "KiB", Goal("<=", 30), note)


async def _open_with_three(site: Site, sockets: int) -> float:
    """MiB of the worker, afterwards."""
    clients = await site.connect(sockets)
    for room in "abc":
        query = repeat({"id": room, "collection": "room", "where": {"room_eq": room}})
        await follow(clients, site.received, query)
    return site.server.memory()


async def _ten_thousand(site: Site, sockets: int) -> list[Figure]:
    """Two workers: rooms of twenty, then one room."""
    rooms = [f"r{number}" for number in range(sockets // 20)]
    ids, (one,) = site.declare("rooms", rooms), site.declare("hall", ["h"])
    started = perf_counter()
    clients = await site.connect(sockets)
    opened = perf_counter() - started
    queries = ({"id": "r", "collection": "rooms", "where": {"room_eq": room}} for room in cycle(rooms))
    await follow(clients, site.received, queries)
    followed = perf_counter() - started - opened
    small = await run(site, site.plan("rooms", ids, 3_000, 300), 20)
    await follow(clients, site.received, repeat({"id": "h", "collection": "hall"}))
    large = await run(site, site.plan("hall", [one], 40, 4), sockets)
    name = f"{sockets:,} sockets, two workers"
    began = f"opened in {opened:.0f} s, snapshots in {followed:.0f} s; "
    return [
        Figure(
            f"p99 to the last socket, {name}, {len(rooms)} rooms, 300 events/s",
            _p(small.last, 99),
            "ms",
            Goal("<=", 100),
            began + small.note(),
        ),
        Figure(
            f"p99 to the last socket, {name}, one room, 4 events/s",
            _p(large.last, 99),
            "ms",
            Goal("<=", 300),
            large.note(),
        ),
    ]
