"""Random filter trees, evaluated by the service and by a naive reference in Python; both must find the same.

`scripts/fuzz trees --count 10000` runs that many on a MongoDB of its own; the suite runs a few hundred.
"""

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
from pymongo.database import Database

from faults.in_process import serving_in_process
from service.bounds import MAX_CONDITIONS, MAX_LOOKUPS
from service.embedded.mongod import embedded_mongodb
from service.observe.logging import configure_logging

PREFIX = "f_trees_"
SEED = 20261121
MAX_DEPTH, MAX_URL = 5, 4_000
BEGINNING = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored
TEXTS = (
    "",
    "a",
    "Ab",
    "abba",
    "B",
    "b.a",
    "(b|a)",
    "a,b",
    "1",
    "true",
    "Émile",
    "émile",
    "2026-01-02",
    "$a",
    "ǅ",
    "x" * 40,
)
NUMBERS = (-1, 0, 1, 1.5, 2, 2.0, 3, 10**15)
SCHEMAS: dict[str, Any] = {
    "shelves": {"name": {"type": "string"}, "keeper_id": {"type": "reference", "collection": "users"}},
    "items": {
        "title": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "done": {"type": "boolean"},
        "at": {"type": "datetime"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"city": {"type": "string"}, "km": {"type": "number"}}},
        "extra": {"type": "any"},
        "owner_id": {"type": "reference", "collection": "users"},
        "shelf_id": {"type": "reference", "collection": "shelves"},
    },
}
# The fields of each kind of record: name in a filter, and what may be compared with it.
OWN: dict[str, dict[str, str]] = {
    "items": {
        "title": "text", "count": "whole", "price": "number", "done": "boolean", "at": "time", "tags": "text",
        "data.place.city": "text", "data.place.km": "number", "extra": "any", "data.extra.x": "any", "id": "id",
        "created_at": "time", "owner_id": "id", "shelf_id": "id",
    },
    "shelves": {"name": "text", "keeper_id": "id", "id": "id"},
    "users": {"name": "any", "age": "any", "tags": "any", "email": "email", "id": "id", "friend_id": "id", "nothing": "any"},
}  # fmt: skip
RELATIONS: dict[str, dict[str, str]] = {
    "items": {"owner": "users", "shelf": "shelves"},
    "shelves": {"keeper": "users"},
    "users": {"friend": "users"},
}
TEXTUAL = ("eq", "ne", "in", "isnull", "contains", "icontains", "startswith", "hasall")
OPERATORS: dict[str, tuple[str, ...]] = {
    "text": TEXTUAL,
    "id": TEXTUAL,
    "email": TEXTUAL,
    "whole": ("eq", "ne", "gt", "gte", "lt", "lte", "in", "isnull"),
    "number": ("eq", "ne", "gt", "gte", "lt", "lte", "in", "isnull"),
    "boolean": ("eq", "ne", "in", "isnull"),
    "time": ("eq", "ne", "gt", "gte", "lt", "lte", "in", "isnull"),
    "any": (*TEXTUAL, "gt", "gte", "lt", "lte"),
}

Record = dict[str, Any]
Records = Mapping[str, Mapping[str, Record]]


@dataclass
class Outcome:
    """The number of trees asked, the number that found some records but not all, and the trees that differ."""

    asked: int = 0
    telling: int = 0
    differing: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.asked} trees, {self.telling} found some records and not all, {len(self.differing)} differing"


@dataclass(frozen=True)
class Target:
    """A project to ask: a client, its key, and its database."""

    http: httpx2.AsyncClient
    headers: Mapping[str, str]
    database: Database[Record]

    async def ask(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.http.request(method, path, headers=dict(self.headers), timeout=60, **kwargs)


async def compare(target: Target, *, count: int, seed: int = SEED) -> Outcome:
    """Asks `count` random trees of records that it writes into the project first."""
    chance, outcome = random.Random(seed), Outcome()  # noqa: S311 - repeatable on purpose
    for name, schema in SCHEMAS.items():
        answer = await target.ask("POST", "/api/collections", json={"name": name, "schema": schema})
        assert answer.status_code == 201, answer.text
    records = random_records(chance)
    for name, found in records.items():
        collection = target.database[name if name == "users" else f"c_{name}"]
        collection.delete_many({})
        collection.insert_many(map(dict, found.values()))
    for _ in range(count):
        await compare_one(target, records, chance, outcome)
    return outcome


async def compare_one(target: Target, records: Records, chance: random.Random, outcome: Outcome) -> None:
    kind = chance.choice(("items", "items", "users"))
    where, filters = random_where(chance, kind, records, depth=chance.randint(1, MAX_DEPTH)), Record()
    if chance.random() < 0.2:
        filters = {"id_ne": chance.choice(list(records[kind])), "created_at_gte": "2026-01-01"}
    wanted = [id_ for id_, each in sorted(records[kind].items()) if Reference(records).matches(where, kind, each)]
    wanted = [id_ for id_ in wanted if id_ != filters.get("id_ne")]
    answer = await ask(target, kind, where, filters)
    body = answer.json()
    name = "users" if kind == "users" else "documents"
    found = [each["id"] for each in body[name]] if answer.status_code == 200 else answer.text
    outcome.asked += 1
    outcome.telling += 0 < len(wanted) < len(records[kind])
    if found != wanted or body["total"] != len(wanted):
        outcome.differing.append((kind, where, filters, found, wanted))


async def ask(target: Target, kind: str, where: Record, filters: Record) -> httpx2.Response:
    """In a body, or in a query string where there are filters beside it, or chance has it so and it fits."""
    base = "/auth-collections/users" if kind == "users" else f"/api/collections/{kind}"
    listed = base if kind == "users" else f"{base}/documents"
    text = quote(json.dumps(where))
    if filters or (len(json.dumps(where)) % 3 == 0 and len(text) < MAX_URL):
        if len(text) > MAX_URL:
            where = {"and": [where, dict(filters)]}
            return await target.ask("QUERY", listed, json={"where": where, "limit": 1000})
        more = "".join(f"&{key}={value}" for key, value in filters.items())
        return await target.ask("GET", f"{listed}?limit=1000&where={text}{more}")
    method, path = ("POST", f"{base}/query") if len(text) % 2 else ("QUERY", listed)
    return await target.ask(method, path, json={"where": where, "limit": 1000})


class Reference:
    """Evaluates a tree by the text of `docs/queries.md`, one record after the other."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def matches(self, where: Record, kind: str, record: Record) -> bool:
        verdicts = []
        own, related = Record(), dict[str, Record]()
        for key, value in where.items():
            head, dot, rest = key.partition(".")
            if key in {"and", "or"}:
                found = [self.matches(each, kind, record) for each in value]
                verdicts.append(all(found) if key == "and" else any(found))
            elif key == "not":
                verdicts.append(not self.matches(value, kind, record))
            elif dot and head != "data":
                related.setdefault(head, {})[rest] = value
            else:
                own[key] = value
        verdicts += [self._condition(key, value, record) for key, value in own.items()]
        verdicts += [self._related(name, conditions, kind, record) for name, conditions in related.items()]
        return all(verdicts)

    def _related(self, name: str, conditions: Record, kind: str, record: Record) -> bool:
        target = RELATIONS[kind][name]
        ids = expanded(record, f"data.{name}_id")
        found = [self._records[target][id_] for id_ in ids if isinstance(id_, str) and id_ in self._records[target]]
        return any(self.matches(conditions, target, each) for each in found)

    def _condition(self, key: str, value: Any, record: Record) -> bool:
        name, _, operator = key.rpartition("_")
        named = {"id": "_id", "email": "email", "created_at": "created_at"}
        found = expanded(record, named.get(name, name if name.startswith("data.") else f"data.{name}"))
        if name == "email" and operator != "isnull":
            value = [each.lower() for each in value] if isinstance(value, list) else value.lower()
        return MEANINGS.get(operator, partial(compares, operator))(found, value)


def expanded(record: Record, path: str) -> list[Any]:
    """The value at a path, and the elements of an array there; empty, without even null, behind an array of plain
    values.
    """
    value: Any = record
    for part in path.split("."):
        if isinstance(value, list):
            return []
        if not isinstance(value, dict) or part not in value:
            return [None]
        value = value[part]
    return [value, *value] if isinstance(value, list) else [value]


def is_equal(stored: Any, wanted: Any) -> bool:
    if isinstance(stored, datetime):
        return bool(stored == as_time(wanted))
    return bracket(stored) == bracket(wanted) != "" and bool(stored == wanted)


def is_null(found: list[Any]) -> bool:
    return None in found and not any(isinstance(each, list) for each in found)


def is_any(found: list[Any], wanted: Any) -> bool:
    return any(is_equal(each, wanted) for each in found)


def texts(found: list[Any]) -> list[str]:
    return [each for each in found if isinstance(each, str)]


MEANINGS: dict[str, Callable[[list[Any], Any], bool]] = {
    "eq": is_any,
    "ne": lambda found, wanted: not is_any(found, wanted),
    "in": lambda found, wanted: any(is_any(found, each) for each in wanted),
    "hasall": lambda found, wanted: bool(wanted) and all(is_any(found, each) for each in wanted),
    "contains": lambda found, wanted: any(wanted in each for each in texts(found)),
    "icontains": lambda found, wanted: any(wanted.lower() in each.lower() for each in texts(found)),
    "startswith": lambda found, wanted: any(each.startswith(wanted) for each in texts(found)),
    "isnull": lambda found, wanted: is_null(found) is wanted,
}


def compares(operator: str, found: list[Any], wanted: Any) -> bool:
    compare = {"gt": gt, "gte": ge, "lt": lt, "lte": le}[operator]
    for stored in found:
        bound = as_time(wanted) if isinstance(stored, datetime) else wanted
        if bracket(stored) == bracket(bound) != "" and compare(stored, bound):
            return True
    return False


def bracket(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "text", datetime: "time"}
    return kinds.get(type(value), "")


def as_time(value: Any) -> Any:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def random_records(chance: random.Random) -> dict[str, dict[str, Record]]:
    ids = {name: [f"{start + n:024x}" for n in range(count)] for name, start, count in KINDS}
    made: dict[str, dict[str, Record]] = {}
    for name in ids:
        made[name] = {
            id_: {
                "_id": id_,
                **({"email": f"{chance.choice('abAB')}{number}@example.com".lower()} if name == "users" else {}),
                "data": dict(random_data(chance, name, ids)),
                "created_at": BEGINNING + timedelta(hours=number),
                "updated_at": BEGINNING + timedelta(hours=number),
            }
            for number, id_ in enumerate(ids[name])
        }
    return made


KINDS = (("users", 0x100, 25), ("shelves", 0x200, 8), ("items", 0x300, 60))


def random_data(chance: random.Random, name: str, ids: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Any]]:
    """About a quarter of the fields are not there."""
    for key, kind in OWN[name].items():
        if key in {"id", "email", "created_at", "nothing"} or "." in key or chance.random() < 0.25:
            continue
        yield key, random_stored(chance, name, key, kind, ids)
    if name == "items" and chance.random() < 0.7:
        yield "place", {"city": chance.choice(TEXTS), "km": chance.choice(NUMBERS)}


def random_stored(chance: random.Random, name: str, key: str, kind: str, ids: Mapping[str, Sequence[str]]) -> Any:
    if key.endswith("_id"):
        named = ids[RELATIONS[name][key.removesuffix("_id")]]
        one = chance.choice([*named, "f" * 24])
        return [one, chance.choice(named)] if name == "users" and chance.random() < 0.4 else one
    if name == "items" and key == "tags":
        return [chance.choice(TEXTS) for _ in range(chance.randrange(4))]
    match kind:
        case "text":
            return chance.choice(TEXTS)
        case "whole":
            return chance.choice([each for each in NUMBERS if isinstance(each, int)])
        case "number":
            return chance.choice(NUMBERS)
        case "boolean":
            return chance.random() < 0.5
        case "time":
            return BEGINNING + timedelta(hours=chance.randrange(60))
    scalar = chance.choice([*TEXTS, *NUMBERS, True, False, None])
    return chance.choice([scalar, scalar, [scalar, chance.choice(TEXTS)], [], {"x": scalar}])


def random_where(chance: random.Random, kind: str, records: Records, *, depth: int) -> Record:
    """A tree so deep, of few enough conditions, beside two filters, that follow relations few enough times."""
    while True:
        found = random_object(chance, kind, records, depth=depth)
        if sum(1 for _ in leaves(found)) <= MAX_CONDITIONS - 2 and lookups(found) <= MAX_LOOKUPS:
            return found


def lookups(where: Record) -> int:
    """The number of searches for related records a tree needs: one for each relation that an object follows."""
    hops, inner = set[tuple[str, ...]](), 0
    for key, value in where.items():
        if key in {"and", "or", "not"}:
            inner += sum(lookups(part) for part in ([value] if key == "not" else value))
        else:
            *relations, _ = key.partition(".data.")[0].split(".") if ".data." in key else key.split(".")
            hops |= {tuple(relations[: number + 1]) for number in range(len(relations))}
    return len(hops) + inner


def leaves(where: Record) -> Iterator[str]:
    for key, value in where.items():
        if key in {"and", "or", "not"}:
            for part in [value] if key == "not" else value:
                yield from leaves(part)
        else:
            yield key


def random_object(chance: random.Random, kind: str, records: Records, *, depth: int) -> Record:
    found = Record()
    for _ in range(chance.randint(1, 3)):
        word = chance.choice(("leaf", "leaf", "or", "and", "not"))
        if depth == 1 or word == "leaf":
            found |= random_condition(chance, kind, records)
        elif word == "not":
            found[word] = random_object(chance, kind, records, depth=depth - 1)
        else:
            parts = range(chance.randint(1, 2))
            found[word] = [random_object(chance, kind, records, depth=depth - 1) for _ in parts]
    return found


def random_condition(chance: random.Random, kind: str, records: Records) -> Record:
    path, here = "", kind
    while chance.random() < 0.3 and path.count(".") < 2:
        name, here_after = chance.choice(list(RELATIONS[here].items()))
        path, here = f"{path}{name}.", here_after
    name = chance.choice(list(OWN[here]))
    operator = chance.choice(OPERATORS[OWN[here][name]])
    return {f"{path}{name}_{operator}": random_value(chance, OWN[here][name], operator, records)}


def random_value(chance: random.Random, kind: str, operator: str, records: Records) -> Any:
    if operator == "isnull":
        return chance.random() < 0.5
    if operator in {"in", "hasall"}:
        return [random_value(chance, kind, "eq", records) for _ in range(chance.randrange(4))]
    if operator in {"contains", "icontains", "startswith"}:
        return chance.choice([each for each in TEXTS if each] + ["0", "exam", "A"])
    moment = (BEGINNING + timedelta(hours=chance.randrange(60))).isoformat()
    if operator not in {"eq", "ne"} and kind == "any":
        return chance.choice([*NUMBERS, moment, "2026-01-02"])
    values: dict[str, Sequence[Any]] = {
        "text": TEXTS,
        "id": [chance.choice(list(chance.choice(list(records.values()))))],
        "email": [chance.choice(list(records["users"].values()))["email"].upper(), "nobody@example.com"],
        "whole": [each for each in NUMBERS if isinstance(each, int)],
        "number": NUMBERS,
        "boolean": (True, False),
        "time": (moment, f"{moment}Z", f"{moment}+02:00"),
        "any": [*TEXTS, *NUMBERS, True, False],
    }
    return chance.choice(values[kind])


async def run(uri: str, *, count: int, seed: int) -> Outcome:
    """On a service of its own in this process."""
    configure_logging("error", "json")
    async with serving_in_process(uri, PREFIX) as served:
        return await compare(Target(served.http, served.headers, served.database), count=count, seed=seed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz trees", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        outcome = asyncio.run(run(uri, count=arguments.count, seed=arguments.seed))
    print(outcome)  # noqa: T201 - figures for a person
    for each in outcome.differing[:10]:
        print(each)  # noqa: T201
    return int(bool(outcome.differing))


if __name__ == "__main__":
    raise SystemExit(main())
