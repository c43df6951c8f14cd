"""A small shop, of which much is missing: collections, and random documents in them as MongoDB keeps them."""

import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

Record = dict[str, Any]
Shop = Mapping[str, list[Record]]

NULLABLE = {"nullable": True}
TEXT = {"type": "string"} | NULLABLE
SCHEMAS: dict[str, Record] = {
    "companies": {"name": TEXT, "rating": {"type": "integer"} | NULLABLE},
    "buyers": {
        "city": TEXT,
        "born": {"type": "datetime"} | NULLABLE,
        "langs": {"type": "array", "items": {"type": "string"}},
        "home": {"type": "object", "properties": {"state": TEXT}},
        "company_id": {"type": "reference", "collection": "companies"} | NULLABLE,
    },
    "orders": {
        "status": TEXT,
        "paid": {"type": "boolean"} | NULLABLE,
        "total": {"type": "integer"} | NULLABLE,
        "price": {"type": "number"} | NULLABLE,
        "at": {"type": "datetime"} | NULLABLE,
        "tags": {"type": "array", "items": {"type": "string", "nullable": True}},
        "marks": {"type": "array", "items": {"type": "number"}},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": TEXT, "count": {"type": "integer"}}},
        },
        "extra": {"type": "object"},
        "buyer_id": {"type": "reference", "collection": "buyers"} | NULLABLE,
        "agent_id": {"type": "reference", "collection": "buyers"} | NULLABLE,
    },
}
CITIES = ("Paris", "Lyon", "Nice", "", "Åland")
# A schema change over the ages: from before clocks went by quarters of an hour until after this century's best years.
FIRST, DAYS = datetime(1965, 1, 1), 30_000  # noqa: DTZ001 - as MongoDB keeps it
GONE = "f" * 24


def make_shop(seed: int, orders: int, *, buyers: int = 12, companies: int = 4) -> Shop:
    """Records of each collection; some fields are null, some absent, some ids name nothing."""
    rnd = random.Random(seed)  # noqa: S311 - nothing secret
    makers: dict[str, tuple[int, Callable[[random.Random], Record]]] = {
        "companies": (companies, _company),
        "buyers": (buyers, lambda r: _buyer(r, companies)),
        "orders": (orders, lambda r: _order(r, buyers)),
    }
    return {name: [_record(rnd, number, make(rnd)) for number in range(n)] for name, (n, make) in makers.items()}


def _record(rnd: random.Random, number: int, data: Record) -> Record:
    kept = {name: value for name, value in data.items() if rnd.random() > 0.12}
    moment = _moment(rnd)
    times = {"created_at": moment, "updated_at": moment}
    return {"_id": f"{number:024x}", "data": kept, **times}


def _moment(rnd: random.Random) -> datetime:
    days = rnd.choice((rnd.random() * DAYS, 22_000 + rnd.random() * 200))
    return FIRST + timedelta(milliseconds=int(days * 86_400_000))


def _or_null(rnd: random.Random, value: Any) -> Any:
    return None if rnd.random() < 0.12 else value


def _id(rnd: random.Random, count: int) -> Any:
    return _or_null(rnd, GONE if rnd.random() < 0.1 else f"{rnd.randrange(count):024x}")


def _company(rnd: random.Random) -> Record:
    return {"name": _or_null(rnd, rnd.choice(("Ada", "Bull"))), "rating": _or_null(rnd, rnd.randint(-2, 2))}


def _buyer(rnd: random.Random, companies: int) -> Record:
    return {
        "city": _or_null(rnd, rnd.choice(CITIES)),
        "born": _or_null(rnd, _moment(rnd)),
        "langs": rnd.sample(("en", "fr", "de"), rnd.randint(0, 3)),
        "home": {"state": rnd.choice(("CA", "NY"))} if rnd.random() < 0.7 else {},
        "company_id": _id(rnd, companies),
    }


def _order(rnd: random.Random, buyers: int) -> Record:
    return {
        "status": _or_null(rnd, rnd.choice(("paid", "open", "gone"))),
        "paid": _or_null(rnd, rnd.random() < 0.5),
        "total": _or_null(rnd, rnd.choice((rnd.randint(-50, 50), 2**40))),
        "price": _or_null(rnd, rnd.choice((rnd.randint(-9, 9), round(rnd.uniform(-9, 9), 2), 0.3))),
        "at": _or_null(rnd, _moment(rnd)),
        "tags": [_or_null(rnd, rnd.choice("abc")) for _ in range(rnd.randint(0, 3))],
        "marks": [rnd.choice((1, 2, 2.5)) for _ in range(rnd.randint(0, 2))],
        "lines": [{"sku": rnd.choice("xy"), "count": rnd.randint(0, 3)} for _ in range(rnd.randint(0, 2))],
        "extra": rnd.choice(({}, {"note": "n"}, {"note": 7}, {"note": [1, "a"]}, {"note": {"deep": True}})),
        "buyer_id": _id(rnd, buyers),
        "agent_id": _id(rnd, buyers),
    }


# A collection in which nearly everything may stand, and much of it.
LARGE: dict[str, Record] = {
    "large": {
        "text": {"type": "string"},
        "other": {"type": "string"},
        "any": {"type": "any"},
        "list": {"type": "array"},
        "numbers": {"type": "array", "items": {"type": "number"}},
        "object": {"type": "object"},
        "number": {"type": "number"},
        "self_id": {"type": "reference", "collection": "large"},
    }
}
LENGTHS = (1, 900, 1_001, 200_000, 900_000)


def make_large(seed: int, count: int) -> list[Record]:
    """Records of up to a megabyte: long texts, long arrays, wide objects."""
    rnd = random.Random(seed)  # noqa: S311 - nothing secret
    return [_record(rnd, number, _large(rnd, count)) for number in range(count)]


def _large(rnd: random.Random, count: int) -> Record:
    values = (7, "a", True, None, 1e308, [1, [2]], {"a": {"b": [1]}}, "b" * rnd.choice(LENGTHS[:4]))
    return {
        "text": "t" * rnd.choice(LENGTHS),
        "other": rnd.choice("xy") * rnd.choice(LENGTHS[:2]),
        "any": rnd.choice(values),
        "list": [rnd.choice(values[:7]) for _ in range(rnd.choice((0, 3, 5_000)))],
        "numbers": [rnd.random() for _ in range(rnd.choice((0, 5, 5_000)))],
        "object": {f"name {n}": n for n in range(rnd.choice((0, 3, 300)))},
        "number": rnd.choice((0, -1e-308, 1.7e308, 2**53, 0.1)),
        "self_id": f"{rnd.randrange(count):024x}",
    }
