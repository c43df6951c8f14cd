"""The cost of followers for others: for writers, for requests beside an open stream, and for followers of another
collection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import repeat
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import uvloop
from pymongo import MongoClient

from bench.figures import Figure, Goal
from bench.load import Request, send_many
from bench.processes import MEBIBYTE
from bench.realtime import KIBIBYTE, Site, make_record, run, served
from bench.sides import MICROSECONDS, Cost, Costs
from bench.sockets import LiveClient, Received, follow, open_sockets
from service.settings import Settings

ROUNDS, BLOCK, WARM_UP = 30, 250, 300
# After the last socket of a worker has gone its stream ends with the next reply, which takes a second.
STREAM_ENDS_SECONDS = 1.5
HELLO_SECONDS = 5.0
LARGE_BYTES = 100_000
LARGE_EVENTS = 20
BATCH = 5_000
SMALL_BUFFER = 65_536


def measure_writes(settings: Settings, *, quick: bool) -> list[Figure]:
    with served(settings) as site:
        return asyncio.run(_writes(site, 9 if quick else ROUNDS, BLOCK))


def measure_stream(settings: Settings, *, quick: bool) -> list[Figure]:
    with served(settings) as site:
        return asyncio.run(_stream(site, 5 if quick else ROUNDS // 2, BLOCK))


def measure_beside_bulk(settings: Settings, *, quick: bool) -> list[Figure]:
    with served(settings) as site:
        return uvloop.run(_beside_bulk(site, 10_000 if quick else 100_000))


def measure_silent(settings: Settings, *, quick: bool) -> list[Figure]:
    with served(settings) as site:
        return uvloop.run(_silent(site, 50 if quick else 500))


async def _writes(site: Site, rounds: int, block: int) -> list[Figure]:
    """The same change of a document of a collection that is live, and of one that is not, in turns."""
    requests = {name: _change(site, name, is_live=name == "live") for name in ("plain", "live")}
    found: dict[str, list[Cost]] = {name: [] for name in requests}
    for number in range(rounds + 1):
        for name, request in requests.items():
            cost = await _cost(site, request, block if number else WARM_UP)
            found[name] += [cost] if number else []
    plain, live = Costs(found["plain"]), Costs(found["live"])
    note = f"{live} against {plain}, service + mongod; {rounds} pairs of {block}, one at a time, nobody follows"
    return [Figure("CPU of a change, live collection ÷ plain", live.ratio(plain), "x", Goal("<=", 1.10), note)]


async def _stream(site: Site, rounds: int, block: int) -> list[Figure]:
    """The same change of a document that has no follower, with and without a follower of another collection."""
    request = _change(site, "plain", is_live=False)
    site.declare("live", ["r"])
    await _cost(site, request, WARM_UP)
    closed, opened = list[Cost](), list[Cost]()
    for _ in range(rounds):
        closed.append(await _cost(site, request, block))
        (client,) = await site.connect(1)
        await follow([client], site.received, repeat({"id": "l", "collection": "live"}))
        opened.append(await _cost(site, request, block))
        client.close()
        await asyncio.sleep(STREAM_ENDS_SECONDS)
    on, off = Costs(opened), Costs(closed)
    note = f"{on} against {off}, service + mongod; {rounds} pairs of {block}, one at a time"
    return [
        Figure("CPU of a change with a stream open ÷ without", on.ratio(off), "x", Goal("<=", 1.02), note),
        Figure("the service's alone", on.server_ratio(off), "x"),
    ]


def _change(site: Site, name: str, *, is_live: bool) -> Request:
    (id_,) = site.declare(name, ["r"], realtime=is_live)
    target = f"/api/collections/{name}/documents/{id_}"
    return Request("PATCH", target, (("x-api-key", site.key),), b'{"increment": {"number": 1}}')


async def _cost(site: Site, request: Request, count: int) -> Cost:
    before = site.server.cpu_seconds(), site.mongodb.cpu_seconds()
    await send_many(site.server, request, count, connections=1)
    after = site.server.cpu_seconds(), site.mongodb.cpu_seconds()
    return Cost(*((later - earlier) * MICROSECONDS / count for earlier, later in zip(before, after, strict=True)))


async def _beside_bulk(site: Site, documents: int) -> list[Figure]:
    """W7: one command changes `documents` followed documents; other clients follow a room."""
    (id_,) = site.declare("room", ["r"])
    site.declare("bulk", ["none"])
    records = [make_record(f"{number:024x}", "b") for number in range(1, documents + 1)]
    for start in range(0, documents, BATCH):
        site.insert("bulk", records[start : start + BATCH])
    clients = await site.connect(20)
    await follow(clients, site.received, repeat({"id": "r", "collection": "room", "where": {"room_eq": "r"}}))
    other = replace(site, received=Received())
    await follow(await other.connect(1), other.received, repeat({"id": "b", "collection": "bulk", "limit": 10}))
    seconds = 10 + documents / 5_000
    found, took = await asyncio.gather(
        run(site, site.plan("room", [id_], round(20 * seconds), 20), 20), asyncio.to_thread(_update_all, site)
    )
    told = other.received.frames
    note = (
        f"update of {documents:,} in {took:.1f} s; its follower was told {told[b'changes']:,} changes and "
        f"{told[b'resync']} resyncs; p50 {median(found.deliveries):.1f}, slowest {max(found.deliveries):.0f} ms; {found.note()}"
    )
    p99 = quantiles(found.deliveries, n=100)[98]
    return [Figure(f"p99 of other rooms beside an update of {documents:,}", p99, "ms", Goal("<=", 500), note)]


def _update_all(site: Site) -> float:
    with MongoClient[dict[str, Any]](site.uri) as client:
        started = perf_counter()
        client[site.database]["c_bulk"].update_many({}, {"$inc": {"data.number": 1, "version": 1}})
        return perf_counter() - started


async def _silent(site: Site, sockets: int) -> list[Figure]:
    """W8: those who never say who they are, and those who never read."""
    (id_,) = site.declare("room", ["r"])
    await _settle(site)
    mute = await _growth(site, lambda: _say_nothing(site, sockets))
    closed = site.received.closed[4401]
    deaf = await _growth(site, lambda: _read_nothing(site, sockets, id_))
    note = f"{LARGE_EVENTS} changes of {LARGE_BYTES // 1000} KB each; 256 KiB and one frame may wait, for 30 s"
    return [
        Figure("sockets closed that said nothing", closed / sockets, "", Goal(">=", 1), f"of {sockets}, within 5 s"),
        Figure("memory of a socket that says nothing", mute / sockets, "KiB", Goal("<=", 30)),
        Figure("memory of a socket that does not read", deaf / sockets, "KiB", note=note),
    ]


async def _settle(site: Site) -> None:
    """Opens and closes 20 sockets first, so that costs that occur only once are not measured."""
    clients = await site.connect(20)
    await follow(clients, site.received, repeat({"id": "r", "collection": "room"}))
    for client in clients:
        client.close()


async def _growth(site: Site, work: Callable[[], Awaitable[object]]) -> float:
    before = site.server.memory()
    await work()
    return (site.server.memory() - before) * MEBIBYTE / KIBIBYTE


async def _say_nothing(site: Site, sockets: int) -> None:
    await open_sockets(site.server.port, site.received, sockets, key=None)
    await asyncio.sleep(HELLO_SECONDS + 2)


async def _read_nothing(site: Site, sockets: int, id_: str) -> list[LiveClient]:
    clients = await site.connect(sockets)
    await follow(clients, site.received, repeat({"id": "r", "collection": "room"}))
    for client in clients:
        client.stop_reading(SMALL_BUFFER)
    with MongoClient[dict[str, Any]](site.uri) as mongo:
        room = mongo[site.database]["c_room"]
        for number in range(LARGE_EVENTS):
            change = {"$set": {"data.number": number, "data.text": "x" * LARGE_BYTES}, "$inc": {"version": 1}}
            await asyncio.to_thread(room.update_one, {"_id": id_}, change)
            await asyncio.sleep(0.1)
    await asyncio.sleep(2)
    return clients
