"""The cost of access rules: a list by rule beside the same list by API key, and the keys and documents of each example."""

import asyncio
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
from pymongo import MongoClient
from pymongo.database import Database

from bench.checkouts import HERE, Checkout, running
from bench.figures import Figure, Goal
from bench.load import Request
from bench.population import BATCH
from bench.sides import Costs, Side, interleave, mongodb_process, show_costs
from bench.stage import Stage
from faults.rule_examples import read_example
from service.settings import Settings

PREFIX, AGAINST_PREFIX = "bench_rules_", "bench_there_"
MANY, FEW, PEOPLE = 100_000, 2_000, 20_000
# One record in so many is the user's own.
OWN_EVERY = 5_000
OWN_FEW = 5
# The collection of each example that lists are made of; the others of its schemas are what its rules look at.
MAIN = {
    1: "notes", 2: "posts", 3: "articles", 4: "comments", 5: "tasks", 6: "memberships",
    7: "messages", 8: "direct", 9: "listings", 10: "orders", 11: "posts", 12: "users",
}  # fmt: skip
KEY, USER, OTHER = "by key", "by rule", "by rule, other"
LIST = "the newest 20"
COST_GOAL = Goal("<=", 1.10)
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
Record = dict[str, Any]
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Project:
    """A project on the running service, and what is stored of it."""

    stage: Stage
    http: httpx2.Client
    database: Database[Record]

    def put(self, example: int) -> None:
        """Declares the collections of an example, fills them, saves its rules and builds the indexes they are advised."""
        schemas, rules = read_example(example)
        self.http.put("/api/rules", json={}).raise_for_status()
        for name in [each["name"] for each in self.http.get("/api/collections").json()["collections"]]:
            self.http.delete(f"/api/collections/{name}").raise_for_status()
        ids: dict[str, Sequence[str]] = {"users": [self.stage.user_id, *(f"{n:024x}" for n in range(1, PEOPLE))]}
        for name, schema in schemas.items():
            self.http.post("/api/collections", json={"name": name, "schema": schema}).raise_for_status()
            ids[name] = self._fill(name, schema, ids, MANY if name == MAIN[example] else FEW)
        self.http.put("/api/rules?indexes=true", json=rules, timeout=60).raise_for_status()

    def _fill(self, name: str, schema: Record, ids: Mapping[str, Sequence[str]], count: int) -> Sequence[str]:
        made = _records(schema, ids, count)
        while some := list(islice(made, BATCH)):
            self.database[f"c_{name}"].insert_many(some, ordered=False)
        return [f"{number:024x}" for number in range(count)]


def measure_rules(settings: Settings, *, rounds: int, block: int, against: Path | None = None) -> list[Figure]:
    """CPU of examples 2 and 5 by rule ÷ by key, and documents examined ÷ returned of all twelve.

    Prints what the same cost the checkout at `against`, where one is given; then only the examples 2 and 5 are measured.
    """
    with ExitStack() as stack:
        project = stack.enter_context(_running(Checkout(HERE, PREFIX), settings))
        other = stack.enter_context(_running(Checkout(against, AGAINST_PREFIX), settings)) if against else None
        costs = [each for example in (2, 5) for each in _costs(project, other, settings, rounds, block, example)]
        return costs if other else [*costs, *(_examined(project, example) for example in MAIN)]


@contextmanager
def _running(checkout: Checkout, settings: Settings) -> Iterator[Project]:
    with (
        running(checkout, settings, MANY) as stage,
        MongoClient[Record](settings.database_uri) as client,
        httpx2.Client(base_url=stage.server.url, headers=dict(stage.keyed), timeout=120) as http,
    ):
        yield Project(stage, http, client[checkout.database])


def _costs(
    project: Project, other: Project | None, settings: Settings, rounds: int, block: int, example: int
) -> Iterator[Figure]:
    """The newest 20, and a creation, by a user under the rules and by key; the list by key has a filter that finds the same."""
    project.put(example)
    same = {2: "&status_eq=published", 5: f"&team_id_in={','.join(_teams(project))}"}
    sides = {
        USER: Side(project.stage.server, _requests(project, example, project.stage.signed_in)),
        KEY: Side(project.stage.server, _requests(project, example, project.stage.keyed, same[example])),
    }
    if other is not None:
        other.put(example)
        sides[OTHER] = Side(other.stage.server, _requests(other, example, other.stage.signed_in))
    costs = asyncio.run(interleave(sides, mongodb_process(settings), rounds=rounds, block=block))
    show_costs(costs, KEY)
    for operation, found in costs.items():
        text = f"{found[USER]} of service and MongoDB, by key {found[KEY]}; {rounds} rounds of {block} requests"
        for name, ratio in (("service", Costs.server_ratio), ("with MongoDB's", Costs.ratio)):
            goal = COST_GOAL if LIST in operation else None
            figure = f"CPU, {operation}: by rule ÷ by key, {name}"
            yield Figure(figure, ratio(found[USER], found[KEY]), "x", goal, text)


def _requests(project: Project, example: int, headers: Headers, query: str = "") -> dict[str, Request]:
    path = f"/api/collections/{MAIN[example]}/documents"
    newest = f"{path}?limit=20&count=false&sort_by=created_at&sort_order=desc{query}"
    data: Record = {"title": "A title"}
    if example == 2:
        # Rules set the author; the key's owner names one.
        data |= {"author_id": project.stage.user_id} if headers == project.stage.keyed else {}
    else:
        data["team_id"] = _teams(project)[0]
    create = Request("POST", path, headers, json.dumps({"data": data}).encode())
    return {f"example {example}, {LIST}": Request("GET", newest, headers), f"example {example}, create": create}


def _teams(project: Project) -> Sequence[str]:
    memberships = project.database["c_memberships"]
    if not memberships.estimated_document_count():
        return ()
    mine = {"data.user_id": project.stage.user_id}
    return sorted({each["data"]["team_id"] for each in memberships.find(mine)})


def _examined(project: Project, example: int) -> Figure:
    """One list of 20 by the user, by MongoDB's profiler."""
    project.put(example)
    name = MAIN[example]
    path = "/auth-collections/users" if name == "users" else f"/api/collections/{name}/documents"
    list_ = f"{path}?limit=20&count=false"
    signed_in = dict(project.stage.signed_in)
    with httpx2.Client(base_url=project.stage.server.url, headers=signed_in, timeout=60) as user:
        user.get(list_).raise_for_status()
        project.database.command("profile", 2)
        found = user.get(list_).raise_for_status().json()
        project.database.command("profile", 0)
    rows = list(project.database["system.profile"].find({"ns": {"$not": {"$regex": "system"}}}))
    project.database["system.profile"].drop()
    docs, keys = sum(each.get("docsExamined", 0) for each in rows), sum(each.get("keysExamined", 0) for each in rows)
    returned = len(found.get("documents", found.get("users", [])))
    spent = sum(each["millis"] for each in rows)
    text = (
        f"{docs} documents and {keys} keys examined, {returned} returned, {len(rows)} commands, {spent} ms, of {MANY:,}"
    )
    return Figure(f"example {example}, {name}: documents examined ÷ returned", docs / max(1, returned), "x", note=text)


def _records(schema: Record, ids: Mapping[str, Sequence[str]], count: int) -> Iterator[Record]:
    """Random records, of which a few name the user who asks."""
    rnd = random.Random(count)  # noqa: S311 - nothing secret
    for number in range(count):
        own = number < OWN_FEW if count == FEW else number % OWN_EVERY == 0
        data = {name: _value(rnd, definition, ids, own) for name, definition in schema.items()}
        moment = BEGINNING + timedelta(seconds=number)
        yield {"_id": f"{number:024x}", "data": data, "created_at": moment, "updated_at": moment}


def _value(rnd: random.Random, definition: Record, ids: Mapping[str, Sequence[str]], own: bool) -> Any:
    match definition:
        case {"type": "reference", "collection": "users"}:
            return ids["users"][0] if own else rnd.choice(ids["users"])
        case {"type": "reference", "collection": collection}:
            return rnd.choice(ids[collection])
        case {"enum": values}:
            return rnd.choice(values)
        case {"type": "boolean"}:
            return rnd.random() < 0.5
        case {"type": "number"}:
            return rnd.random() * 100
        case {"type": "array"}:
            return [ids["users"][0] if own else rnd.choice(ids["users"]), rnd.choice(ids["users"])]
    return f"text {rnd.randint(0, 99)}"
