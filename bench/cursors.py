"""Pages far behind the first, by cursor and by offset, of a collection of many documents: what MongoDB reads, and how long."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from pymongo import IndexModel, MongoClient, monitoring
from pymongo.collection import Collection
from starlette.applications import Starlette

from bench.asgi import call
from bench.commands import CommandRecorder
from bench.figures import Figure, Goal
from bench.population import FREE
from service.app import create_app
from service.query.cursor import write_cursor
from service.services import build_services
from service.settings import Settings

Record = dict[str, Any]

PATH = "/api/collections/rows"
SCHEMA: dict[str, Record] = {
    "n": {"type": "integer", "index": True},
    "word": {"type": "string"},
    "free": {"type": "any"},
}
BEGINNING = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored
BATCH, PAGE, ROUNDS = 10_000, 20, 7
# The records before the page, of a million documents; an offset further back takes longer than a list may.
DEEP = (90_000, 500_000)
GOAL = Goal("<=", 2 * PAGE)


@dataclass(frozen=True, slots=True)
class Order:
    """One way to sort the documents, and the sort keys by which its cursors are written."""

    name: str
    sort_by: str
    keys: tuple[tuple[str, int], ...]


ORDERS = (
    Order("by created_at", "created_at", (("created_at", 1), ("_id", 1))),
    Order("by an indexed field, descending", "-n", (("data.n", -1), ("_id", -1))),
)


def measure_cursors(settings: Settings, *, documents: int) -> list[Figure]:
    recorder = CommandRecorder()
    # Before the service connects: a client takes the listeners that are there when it is made.
    monitoring.register(recorder)
    return asyncio.run(_measure(settings, recorder, documents))


async def _measure(settings: Settings, recorder: CommandRecorder, documents: int) -> list[Figure]:
    services = build_services(settings)
    project, keys = await services.base.admin.create("Cursors", None, FREE)
    await services.close()
    app = create_app(settings)
    with MongoClient[Record](settings.database_uri) as client:
        database = client[f"{settings.database_prefix}p_{project.id}"]
        try:
            async with app.router.lifespan_context(app):
                probe = Probe(app, {"x-api-key": keys.secret}, recorder, database["c_rows"])
                await probe.fill(documents)
                return await probe.figures(documents)
        finally:
            client.drop_database(database.name)


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks the application for lists, and MongoDB how it found them."""

    app: Starlette
    headers: dict[str, str]
    recorder: CommandRecorder
    stored: Collection[Record]

    async def fill(self, documents: int) -> None:
        """Indexes come after the documents: building them once is faster than keeping them up to date."""
        body = json.dumps({"name": "rows", "schema": SCHEMA}).encode()
        status, answer = await call(self.app, "/api/collections", "", self.headers, body=body)
        if status != 201:
            raise RuntimeError(f"not declared: {answer!r}")
        indexes = {name: each["key"] for name, each in self.stored.index_information().items() if name != "_id_"}
        self.stored.drop_indexes()
        rows = _rows(documents)
        while some := list(islice(rows, BATCH)):
            self.stored.insert_many(some, ordered=False, bypass_document_validation=True)
        self.stored.create_indexes([IndexModel(key, name=name) for name, key in indexes.items()])

    async def figures(self, documents: int) -> list[Figure]:
        found = []
        for order in ORDERS:
            for deep in (each for each in DEEP if each < documents):
                found += [await self._compare(order, deep, documents)]
        return [*found, *[await self._distinct(name, documents) for name in ("word", "free")]]

    async def _compare(self, order: Order, deep: int, documents: int) -> Figure:
        asked = {"sort_by": order.sort_by, "limit": str(PAGE), "count": "none"}
        by_offset, ids = await self._ask({**asked, "offset": str(deep)})
        by_cursor, same = await self._ask({**asked, "cursor": await self._cursor(order, asked, deep)})
        if ids != same:
            raise RuntimeError(f"{order.name}: the cursor leads to another page than the offset")
        text = f"{by_cursor}; by offset {by_offset}; behind {deep:,} of {documents:,}"
        return Figure(f"a page of {PAGE} {order.name}: keys examined by cursor", by_cursor.keys, "", GOAL, text)

    async def _cursor(self, order: Order, asked: dict[str, str], deep: int) -> str:
        """The cursor of a client that has read `deep` records."""
        _, body = await call(
            self.app, f"{PATH}/documents", urlencode({**asked, "limit": "1", "cursor": "*"}), self.headers
        )
        text = json.loads(body)["next"]
        (last,) = self.stored.find().sort(list(order.keys)).skip(deep - 1).limit(1)
        return write_cursor(json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))[0], order.keys, last)

    async def _ask(self, query: dict[str, str]) -> tuple["Cost", list[str]]:
        times, ids = [], list[str]()
        for _ in range(ROUNDS):
            self.recorder.reset()
            started = perf_counter()
            status, body = await call(self.app, f"{PATH}/documents", urlencode(query), self.headers)
            times.append((perf_counter() - started) * 1000)
            if status != 200:
                raise RuntimeError(f"{query}: {body!r}")
            ids = [each["id"] for each in json.loads(body)["documents"]]
        return Cost(self._keys_examined(), median(times)), ids

    def _keys_examined(self) -> int:
        """The keys that MongoDB examines for the last page command."""
        finds = [command for _, command in self.recorder.commands if command.get("find") == self.stored.name]
        asked = {name: finds[-1][name] for name in ("find", "filter", "sort", "limit", "skip") if name in finds[-1]}
        explained = self.stored.database.command("explain", asked, verbosity="executionStats")
        return int(explained["executionStats"]["totalKeysExamined"])

    async def _distinct(self, name: str, documents: int) -> Figure:
        times = []
        for _ in range(ROUNDS):
            started = perf_counter()
            status, body = await call(self.app, f"{PATH}/distinct", urlencode({"field": name}), self.headers)
            times.append((perf_counter() - started) * 1000)
        text = f"{documents:,} documents; {status}: {body[:80]!r}"
        return Figure(f"distinct values of a field that is {SCHEMA[name]['type']}", median(times), "ms", note=text)


@dataclass(frozen=True, slots=True)
class Cost:
    """One page: keys of indexes that MongoDB examined, and the median of the request's milliseconds."""

    keys: int
    milliseconds: float

    def __str__(self) -> str:
        return f"{self.keys:,} keys, {self.milliseconds:.1f} ms"


def _rows(count: int) -> Iterator[Record]:
    for number in range(count):
        moment = BEGINNING + timedelta(milliseconds=number)
        data = {"n": number * 7919 % count // 3, "word": f"word {number % 5}", "free": number % 5}
        yield {"_id": f"{number:024x}", "data": data, "created_at": moment, "updated_at": moment, "version": 1}
