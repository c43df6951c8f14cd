"""The cost of sessions: a refresh beside a profile and beside the bare floor, and a profile beside that of another
checkout.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
from pymongo import MongoClient

from bench.checkouts import HERE, Checkout, running
from bench.figures import Figure, Goal
from bench.load import Request
from bench.processes import server_process
from bench.sides import Costs, Side, interleave, mongodb_process
from bench.stage import ACCOUNT, Stage
from service.domain.projects.secrets import derive_key
from service.domain.sessions.refresh_tokens import PURPOSE, RefreshToken, RefreshTokens
from service.settings import Settings

PREFIX, AGAINST_PREFIX = "bench_sessions_", "bench_before_"
USERS = 1_000
OURS, THEIRS, FLOOR = "this", "other", "floor"
PROFILE, REFRESH = "profile", "refresh"
PROFILE_GOAL, REFRESH_GOAL = Goal("<=", 1.06), Goal("<=", 1.5)
# With which refresh tokens are given, and more refreshes are allowed than are sent; the same token may be sent for so long.
REFRESHING = {"ACCESS_TOKEN_LIFETIME": "900", "REFRESH_LIMIT": "1000000", "REFRESH_GRACE": "300"}
# So many are refreshed in turn, far more than there are connections: no two refreshes of one meet.
SESSIONS = 128


def measure_sessions(settings: Settings, *, rounds: int, block: int, against: Path | None = None) -> list[Figure]:
    """Those of the other checkout are there with one from before there were sessions at `against` only.

    The floor is a bare function that sends MongoDB the least for each: one find, and one find beside one small change.
    """
    mongodb, note = mongodb_process(settings), f"{rounds} rounds of {block} requests"
    with ExitStack() as sides:
        stage = sides.enter_context(running(Checkout(HERE, PREFIX), settings, USERS, REFRESHING))
        floor = Side(sides.enter_context(_floor(settings, stage)), _bare_requests())
        ours = Side(stage.server, {PROFILE: _profile(stage), REFRESH: refreshes(settings, stage)})
        costs = asyncio.run(interleave({OURS: ours, FLOOR: floor}, mongodb, rounds=rounds, block=block))
        figures = _refresh_figures(costs, note)
        if against is not None:
            other = sides.enter_context(running(Checkout(against, AGAINST_PREFIX), settings, USERS))
            profiles = {OURS: Side(ours.server, {PROFILE: _profile(stage)}), THEIRS: _side(other)}
            both = asyncio.run(interleave(profiles, mongodb, rounds=rounds, block=block))[PROFILE]
            text = f"{both[OURS]} of service and MongoDB, the other {both[THEIRS]}; {note}"
            name = "CPU, profile ÷ that of the other checkout"
            figures.append(Figure(f"{name}, service", both[OURS].server_ratio(both[THEIRS]), "x", PROFILE_GOAL, text))
            figures.append(Figure(f"{name}, with MongoDB's", both[OURS].ratio(both[THEIRS]), "x", PROFILE_GOAL, text))
    return figures


def _refresh_figures(costs: dict[str, dict[str, Costs]], note: str) -> list[Figure]:
    refresh, profile = costs[REFRESH], costs[PROFILE]
    text = f"{refresh[OURS]} of service and MongoDB, a profile {profile[OURS]}; {note}"
    bare = f"{refresh[FLOOR]}, a bare profile {profile[FLOOR]}: what no refresh of two commands is below"
    added = refresh[OURS].median.server - profile[OURS].median.server
    least = refresh[FLOOR].median.server - profile[FLOOR].median.server
    name = "CPU, refresh ÷ profile"
    return [
        Figure(f"{name}, service", refresh[OURS].server_ratio(profile[OURS]), "x", REFRESH_GOAL, text),
        Figure(f"{name}, with MongoDB's", refresh[OURS].ratio(profile[OURS]), "x", None, text),
        Figure(f"{name}, bare, service", refresh[FLOOR].server_ratio(profile[FLOOR]), "x", None, bare),
        Figure(f"{name}, bare, with MongoDB's", refresh[FLOOR].ratio(profile[FLOOR]), "x", None, bare),
        Figure("CPU, refresh ÷ bare refresh", refresh[OURS].ratio(refresh[FLOOR]), "x", None, "with MongoDB's"),
        Figure("CPU of the service, refresh - profile", added, "µs", None, f"of which the bare floor has {least:.0f}"),
    ]


def _side(stage: Stage) -> Side:
    return Side(stage.server, {PROFILE: _profile(stage)})


def _profile(stage: Stage) -> Request:
    return Request("GET", "/auth-collections/user", stage.signed_in)


def refreshes(settings: Settings, stage: Stage) -> Iterator[Request]:
    """Each is sent the token that the one before it of its session was given, which the key tells beforehand."""
    if settings.secret_key is None:
        raise RuntimeError("The tokens are made with SECRET_KEY")
    tokens = RefreshTokens(derive_key(settings.secret, PURPOSE))
    signed_in = [_sign_in(stage) for _ in range(SESSIONS)]
    first = [tokens.read(each) for each in signed_in]
    for refreshed in count():
        for each in first:
            token = tokens.write(RefreshToken(each.project_id, each.sid, refreshed))
            yield Request("POST", "/auth-collections/refresh", (), json.dumps({"refresh_token": token}).encode())


def _sign_in(stage: Stage) -> str:
    with httpx2.Client(base_url=stage.server.url, headers=dict(stage.keyed), timeout=30) as http:
        return str(http.post("/auth-collections/login", json=ACCOUNT).raise_for_status().json()["refresh_token"])


def _floor(settings: Settings, stage: Stage) -> Any:
    """A floor that has as many sessions, with as much in them, in the same database."""
    database = Checkout(HERE, PREFIX).database
    with MongoClient[dict[str, Any]](settings.database_uri) as client:
        (session,) = client[database]["sessions"].find().limit(1)
        copies = [{**session, "_id": f"known{each}"} for each in range(SESSIONS)]
        client[database]["floor_sessions"].insert_many(copies)
    environment = {"FLOOR_URI": settings.database_uri, "FLOOR_DATABASE": database, "FLOOR_USER": stage.user_id}
    return server_process("bench.floor", environment=environment)


def _bare_requests() -> dict[str, Any]:
    bodies = [json.dumps({"id": f"known{each}"}).encode() for each in range(SESSIONS)]
    return {PROFILE: Request("GET", "/profile"), REFRESH: [Request("POST", "/refresh", (), each) for each in bodies]}
