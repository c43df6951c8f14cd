"""Random aggregations, asked of a service: good ones give what the reference gives, and no large one makes it fail."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx2
from pymongo.database import Database

from faults.aggregations.drafts import Body, draft, draft_large
from faults.aggregations.reference import aggregate, is_equal
from faults.aggregations.shop import LARGE, SCHEMAS, Record, Shop, make_large, make_shop
from service.observe.metrics import CONNECTIONS_CLOSED

TRIES = 5
SIZES = (0, 1, 25, 60, 120)
# The codes a large aggregation may be refused with; any other is a fault.
TOO_LARGE = "aggregation_too_large"
REFUSALS = {TOO_LARGE, "query_too_slow", "busy"}


@dataclass(frozen=True, slots=True)
class Target:
    """A project without limits: how it is asked, and what is stored of it."""

    http: httpx2.AsyncClient
    headers: Mapping[str, str]
    database: Database[Record]

    async def ask(self, method: str, path: str, body: Any) -> httpx2.Response:
        return await self.http.request(method, path, json=body, headers=dict(self.headers), timeout=60)

    async def aggregate(self, collection: str, body: Body) -> httpx2.Response:
        return await self.ask("POST", f"/api/collections/{collection}/aggregate", body)

    async def declare(self) -> None:
        for name, schema in (SCHEMAS | LARGE).items():
            made = await self.ask("POST", "/api/collections", {"name": name, "schema": schema})
            made.raise_for_status()

    def fill(self, shop: Shop) -> None:
        for name, records in shop.items():
            self.database[f"c_{name}"].delete_many({})
            if records:
                self.database[f"c_{name}"].insert_many([dict(record) for record in records])


@dataclass(slots=True)
class Outcome:
    """The number of aggregations by status, and those whose answer differed from the reference."""

    answers: Counter[str] = field(default_factory=Counter)
    faults: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        answers = ", ".join(f"{count} {answer}" for answer, count in sorted(self.answers.items()))
        return f"{self.answers.total()} aggregations: {answers}; {len(self.faults)} not as they must be"


async def compare(target: Target, *, count: int, seed: int, starved: bool = False) -> Outcome:
    """Compares the rows of random aggregations over shops of several sizes with those of the reference.

    A MongoDB that is `starved` of memory may refuse them for lack of memory, and for nothing else.
    """
    outcome, each = Outcome(), max(1, min(50, count // len(SIZES)))
    for number in range(0, count, each):
        rnd = random.Random(f"{seed}/{number}")  # noqa: S311 - repeatable on purpose
        shop = make_shop(seed + number, SIZES[number // each % len(SIZES)])
        target.fill(shop)
        for _ in range(min(each, count - number)):
            body = draft(rnd)
            answer = await _ask_patiently(target, body)
            outcome.answers[str(answer.status_code)] += 1
            expected = _written(aggregate(body, shop))
            if starved and answer.json().get("code") == TOO_LARGE:
                continue
            if answer.status_code != httpx2.codes.OK or not is_equal(answer.json()["rows"], expected):
                outcome.faults.append((seed, number, body, answer.text[:500], expected[:3]))
    return outcome


async def _ask_patiently(target: Target, body: Body) -> httpx2.Response:
    """A machine that does much else may take long even for what is small."""
    for _ in range(TRIES):
        answer = await target.aggregate("orders", body)
        if answer.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
            break
    return answer


async def attack(target: Target, *, count: int, seed: int, records: int) -> Outcome:
    """Aggregations of as many keys and values as may be, over records nearly as large as may be."""
    outcome, dropped = Outcome(), _count_dropped()
    target.fill({"large": make_large(seed, records)})
    for number in range(count):
        body = draft_large(random.Random(f"{seed}/{number}"))  # noqa: S311 - repeatable on purpose
        answer = await target.aggregate("large", body)
        code = "rows" if answer.status_code == httpx2.codes.OK else str(answer.json()["code"])
        outcome.answers[code] += 1
        if code not in REFUSALS | {"rows"} or _count_dropped() != dropped:
            outcome.faults.append((seed, number, body, answer.text[:500]))
    return outcome


def _count_dropped() -> float:
    """The connections that MongoDB, or the way to it, has closed in the middle of something."""
    samples = (sample for metric in CONNECTIONS_CLOSED.collect() for sample in metric.samples)
    return sum(each.value for each in samples if each.name.endswith("_total") and each.labels["reason"] == "error")


def _written(rows: list[Record]) -> list[Record]:
    """The rows as an answer has them."""
    return [{name: _as_json(value) for name, value in row.items()} for row in rows]


def _as_json(value: Any) -> Any:
    return f"{value.isoformat('T', 'milliseconds')}Z" if isinstance(value, datetime) else value
