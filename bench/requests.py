"""CPU per request, of the service and of MongoDB: a checkout, or two of them, beside the bare floor, block for block."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pymongo import IndexModel, MongoClient
from pymongo.database import Database

from bench.checkouts import HERE, Checkout, running
from bench.figures import Figure, Goal
from bench.floor import OLDER
from bench.load import Request
from bench.processes import server_process
from bench.sides import Costs, Side, interleave, mongodb_process, show_costs
from bench.stage import (
    CHANGE,
    CHANGED,
    COLLECTION,
    DOCUMENT,
    DOCUMENTS,
    Stage,
    change_documents,
    create_document,
    declare_documents,
    list_users,
)
from service.settings import Settings

PREFIX, AGAINST_PREFIX = "bench_here_", "bench_there_"
USERS = 20_000
OURS, THEIRS, FLOOR = "this", "other", "floor"
SERVICE_GOAL, BOTH_GOAL, POPULATE_GOAL = Goal("<=", 1.35), Goal("<=", 1.20), Goal("<=", 1.9)
LIST, POPULATE = "list of 20", "list with populate"

FLOOR_REQUESTS: dict[str, Request | Sequence[Request]] = {
    "profile": Request("GET", "/profile"),
    LIST: Request("GET", "/list"),
    POPULATE: Request("GET", "/populate"),
    "list with total": Request("GET", "/total"),
    "create a document": Request("POST", "/create", (), DOCUMENT),
    "get a document": Request("GET", "/get"),
    "list documents": Request("GET", "/documents"),
    "change a document": [
        Request("PATCH", "/change", (), json.dumps({"id": f"known{each}", "data": CHANGE}).encode())
        for each in range(CHANGED)
    ],
}


def measure_requests(settings: Settings, *, rounds: int, block: int, against: Path | None = None) -> list[Figure]:
    """For each operation the service ÷ the floor, alone and with MongoDB's share.

    Prints what it cost each side, the checkout at `against` among them.
    """
    here = Checkout(HERE, PREFIX)
    with ExitStack() as running_sides:
        stage = running_sides.enter_context(running(here, settings, USERS))
        sides = {OURS: Side(stage.server, service_requests(stage))}
        if against is not None:
            other = running_sides.enter_context(running(Checkout(against, AGAINST_PREFIX), settings, USERS))
            sides[THEIRS] = Side(other.server, service_requests(other))
        environment = _prepare_floor(settings, here, stage)
        floor = running_sides.enter_context(server_process("bench.floor", environment=environment))
        sides[FLOOR] = Side(floor, FLOOR_REQUESTS)
        costs = asyncio.run(interleave(sides, mongodb_process(settings), rounds=rounds, block=block))
    note = f"{rounds} rounds of {block} requests"
    show_costs(costs, FLOOR)
    return list(_figures(costs, note))


def service_requests(stage: Stage) -> dict[str, Request | Sequence[Request]]:
    """The operations, in the order of FLOOR_REQUESTS."""
    documents = declare_documents(stage)
    found: list[Request | Sequence[Request]] = [
        Request("GET", "/auth-collections/user", stage.signed_in),
        list_users(stage),
        list_users(stage, "count=false&populate=referred_by"),
        list_users(stage, f"age_gte={OLDER}"),
        create_document(stage),
        Request("GET", f"{DOCUMENTS}/{documents[0]}", stage.keyed),
        Request("GET", f"{DOCUMENTS}?count=false&limit=20", stage.keyed),
        change_documents(stage, documents),
    ]
    return dict(zip(FLOOR_REQUESTS, found, strict=True))


def _prepare_floor(settings: Settings, here: Checkout, stage: Stage) -> dict[str, str]:
    """The floor reads the same users, and documents of a collection of the same validator and indexes."""
    with MongoClient[dict[str, Any]](settings.database_uri) as client:
        _copy_documents(client[here.database])
    return {"FLOOR_URI": settings.database_uri, "FLOOR_DATABASE": here.database, "FLOOR_USER": stage.user_id}


def _copy_documents(database: Database[dict[str, Any]]) -> None:
    (source,) = (each for each in database.list_collections() if each["name"].endswith(COLLECTION))
    floor = database.create_collection("floor_documents", **source["options"])
    indexes = database[source["name"]].index_information()
    models = [IndexModel(index.pop("key"), name=name, **_options(index)) for name, index in indexes.items()]
    floor.create_indexes(models)
    moment = datetime(2026, 1, 1, 12, 0, 0, 5000, tzinfo=UTC)
    known = {**json.loads(DOCUMENT), "created_at": moment, "updated_at": moment}
    floor.insert_many({"_id": f"known{each}", **known} for each in range(CHANGED))


def _options(index: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in index.items() if name not in {"v", "ns"}}


def _figures(costs: Mapping[str, Mapping[str, Costs]], note: str) -> Iterator[Figure]:
    """The figures of this checkout; those of the other one are in the table that was printed."""
    for name, sides in costs.items():
        ours, floor = sides[OURS], sides[FLOOR]
        text = f"{ours} of service and MongoDB, the floor {floor}; {note}"
        yield Figure(f"CPU per request, {name}: service ÷ floor", ours.server_ratio(floor), "x", SERVICE_GOAL, text)
        yield Figure(f"CPU per request, {name}: with MongoDB's ÷ floor", ours.ratio(floor), "x", BOTH_GOAL, text)
    ratio = costs[POPULATE][OURS].ratio(costs[LIST][OURS])
    text = f"service and MongoDB; the floor's {costs[POPULATE][FLOOR].ratio(costs[LIST][FLOOR]):.2f} x; {note}"
    yield Figure("CPU per request, list with populate ÷ without", ratio, "x", POPULATE_GOAL, text)
