"""The time that the rewrites of aggregations save: each beside the pipeline one would write by hand, on the same
documents.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any

from pymongo import MongoClient
from pymongo.database import Database

from bench.figures import Figure, Goal
from bench.population import BATCH
from bench.processes import Server
from bench.sides import mongodb_process
from service.domain.aggregations.runs import read_rows
from service.query.aggregate.bind import bind_aggregation
from service.query.aggregate.grammar import read_aggregation
from service.query.aggregate.plan import FAST, command
from service.query.shapes import DocumentShape
from service.schema.fields import parse
from service.settings import Settings

DATABASE = "bench_aggregations"
FEW, BUYERS = 100_000, 10_000
BEGINNING = datetime(2025, 1, 1)  # noqa: DTZ001 - as MongoDB keeps it
FIVE_TIMES, TEN_SECONDS = Goal(">=", 5), Goal("<=", 10)
SCHEMAS: dict[str, Any] = {
    "buyers": {"city": {"type": "string"}},
    "orders": {
        "status": {"type": "string"},
        "total": {"type": "integer"},
        "at": {"type": "datetime"},
        "buyer_id": {"type": "reference", "collection": "buyers"},
    },
}
ORDERS = "c_orders"
LOOKED_UP: list[dict[str, Any]] = [
    {"$lookup": {"from": "c_buyers", "localField": "data.buyer_id", "foreignField": "_id", "as": "buyer"}},
    {"$unwind": {"path": "$buyer", "preserveNullAndEmptyArrays": True}},
]
PARTS: dict[str, Any] = {"n": {"$sum": 1}, "s": {"$sum": "$data.total"}}
Stages = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """An aggregation, and the pipeline by hand, whose rows have `_id`, and the values by their names."""

    name: str
    body: dict[str, Any]
    by_hand: Stages
    goal: Goal | None = None


def _month(field: str) -> dict[str, Any]:
    return {"$dateTrunc": {"date": field, "unit": "month", "timezone": "Europe/Paris"}}


VALUES = {"n": "count", "s": {"sum": "total"}}
CASES = (
    Case(
        "by a field of the buyer",
        {"group": {"k": "buyer.city"}, "values": VALUES},
        [*LOOKED_UP, {"$group": {"_id": "$buyer.data.city", **PARTS}}],
        FIVE_TIMES,
    ),
    Case(
        "by month, in Paris",
        {"group": {"k": {"field": "at", "every": "month", "timezone": "Europe/Paris"}}, "values": VALUES},
        [{"$group": {"_id": _month("$data.at"), **PARTS}}],
    ),
    Case(
        "different buyers of each status",
        {"group": {"k": "status"}, "values": {"n": {"count_distinct": "buyer_id"}}},
        [
            {"$group": {"_id": "$data.status", "n": {"$addToSet": "$data.buyer_id"}}},
            {"$project": {"n": {"$size": "$n"}}},
        ],
    ),
    Case(
        "by a field of the buyer and by month",
        {"group": {"k": "buyer.city", "m": {"field": "at", "every": "month"}}, "values": VALUES},
        [
            *LOOKED_UP,
            {"$group": {"_id": {"k": "$buyer.data.city", "m": {"$dateTrunc": {"date": "$data.at", "unit": "month"}}}, **PARTS}},
        ],
    ),
)  # fmt: skip


def measure_aggregations(settings: Settings, *, many: int, rounds: int) -> list[Figure]:
    """At 100,000 documents all cases; at `many` the first alone, for by hand it takes so long."""
    with MongoClient[dict[str, Any]](settings.database_uri) as client:
        database, mongodb = client[DATABASE], mongodb_process(settings)
        _fill(database, FEW)
        found = [figure for case in CASES for figure in _compare(database, mongodb, case, FEW, rounds)]
        _fill(database, many)
        return [*found, *_compare(database, mongodb, CASES[0], many, 1, limit=TEN_SECONDS)]


def _compare(
    database: Database[dict[str, Any]], mongodb: Server, case: Case, size: int, rounds: int, limit: Goal | None = None
) -> Iterator[Figure]:
    shapes: dict[str, DocumentShape] = {}
    shapes |= {name: DocumentShape(f"c_{name}", parse(schema), shapes.get) for name, schema in SCHEMAS.items()}
    bound = bind_aggregation(read_aggregation(case.body | {"limit": 1000}, ("body",)), shapes["orders"], ("body",))
    by_hand = {"aggregate": ORDERS, "pipeline": case.by_hand, "cursor": {"batchSize": 10_000}, "allowDiskUse": False}
    ours, plain = list[Cost](), list[Cost]()
    for _ in range(rounds):
        plain.append(_run(database, mongodb, by_hand))
        ours.append(_run(database, mongodb, command(bound, FAST)))
    rows = read_rows(ours[0].rows, bound)
    if sorted(row["n"] for row in rows) != sorted(row["n"] for row in plain[0].rows):
        raise AssertionError(f"{case.name}: the rows differ")
    note = f"{_shown(ours)} beside {_shown(plain)} by hand, median of {rounds}; {len(rows)} rows"
    ratio = median(cost.cpu for cost in plain) / max(median(cost.cpu for cost in ours), 0.001)
    yield Figure(f"aggregation of {size:,}, {case.name}: by hand ÷ ours, CPU", ratio, "x", case.goal, note)
    if limit is not None:
        yield Figure(f"aggregation of {size:,}, {case.name}", median(cost.seconds for cost in ours), "s", limit)


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock, and of MongoDB's processor."""

    seconds: float
    cpu: float
    rows: Sequence[dict[str, Any]]


def _run(database: Database[dict[str, Any]], mongodb: Server, asked: dict[str, Any]) -> Cost:
    cpu, began = mongodb.cpu_seconds(), perf_counter()
    rows = database.command(asked)["cursor"]["firstBatch"]
    return Cost(perf_counter() - began, mongodb.cpu_seconds() - cpu, rows)


def _shown(costs: Sequence[Cost]) -> str:
    return f"{median(c.seconds for c in costs) * 1000:,.0f} ms ({median(c.cpu for c in costs) * 1000:,.0f} of CPU)"


def _fill(database: Database[dict[str, Any]], count: int) -> None:
    """As many orders, kept from one run to the next."""
    if database[ORDERS].estimated_document_count() == count:
        return
    for name in ("buyers", "orders"):
        database[f"c_{name}"].drop()
    dice = random.Random(count)  # noqa: S311 - nothing secret
    buyers = ({"city": f"city {dice.randrange(50)}", "note": "x" * 200} for _ in range(BUYERS))
    _insert(database["c_buyers"], buyers)
    _insert(database[ORDERS], (_order(dice) for _ in range(count)))


def _order(dice: random.Random) -> dict[str, Any]:
    return {
        "status": dice.choice(("paid", "open", "gone")),
        "total": dice.randint(1, 1_000),
        "at": BEGINNING + timedelta(seconds=dice.randrange(365 * 86_400)),
        "buyer_id": f"{dice.randrange(BUYERS):024x}",
        "note": "word " * 10,
    }


def _insert(collection: Any, data: Iterator[dict[str, Any]]) -> None:
    moment = {"created_at": BEGINNING, "updated_at": BEGINNING}
    records = ({"_id": f"{number:024x}", "data": each, **moment} for number, each in enumerate(data))
    while some := list(islice(records, BATCH)):
        collection.insert_many(some, ordered=False)
