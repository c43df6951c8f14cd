"""What sessions cost: a profile beside one of another checkout, and a refresh beside a profile."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx2

from bench.checkouts import HERE, Checkout, running
from bench.figures import Figure, Goal
from bench.load import Request
from bench.sides import Side, interleave, mongodb_process
from bench.stage import ACCOUNT, Stage
from service.settings import Settings

PREFIX, AGAINST_PREFIX = "bench_sessions_", "bench_before_"
USERS = 1_000
OURS, THEIRS = "this", "other"
PROFILE, REFRESH = "profile", "refresh"
PROFILE_GOAL, REFRESH_GOAL = Goal("<=", 1.06), Goal("<=", 1.5)
# With which refresh tokens are given, and the same one as often as is asked.
REFRESHING = {"ACCESS_TOKEN_LIFETIME": "900", "REFRESH_LIMIT": "0", "REFRESH_GRACE": "300"}

Requests = Mapping[str, Request | Sequence[Request]]


def measure_sessions(settings: Settings, *, rounds: int, block: int, against: Path | None = None) -> list[Figure]:
    """The second figure is there with a checkout from before there were sessions at `against` only.

    A refresh is one that many tabs ask for at once: the same token, again and again, which costs what the first one does.
    """
    mongodb, note = mongodb_process(settings), f"{rounds} rounds of {block} requests"
    with ExitStack() as sides:
        stage = sides.enter_context(running(Checkout(HERE, PREFIX), settings, USERS, REFRESHING))
        ours = Side(stage.server, {PROFILE: _profile(stage), REFRESH: _refresh(stage)})
        costs = asyncio.run(interleave({OURS: ours}, mongodb, rounds=rounds, block=block))
        refresh, profile = costs[REFRESH][OURS], costs[PROFILE][OURS]
        text = f"{refresh} of service and MongoDB, a profile {profile}; {note}"
        figures = [Figure("CPU, refresh ÷ profile", refresh.server_ratio(profile), "x", REFRESH_GOAL, text)]
        if against is not None:
            other = sides.enter_context(running(Checkout(against, AGAINST_PREFIX), settings, USERS))
            profiles = {OURS: Side(ours.server, {PROFILE: _profile(stage)}), THEIRS: _side(other)}
            both = asyncio.run(interleave(profiles, mongodb, rounds=rounds, block=block))[PROFILE]
            text = f"{both[OURS]} of service and MongoDB, the other {both[THEIRS]}; {note}"
            name = "CPU, profile ÷ that of the other checkout"
            figures.append(Figure(f"{name}, service", both[OURS].server_ratio(both[THEIRS]), "x", PROFILE_GOAL, text))
            figures.append(Figure(f"{name}, with MongoDB's", both[OURS].ratio(both[THEIRS]), "x", PROFILE_GOAL, text))
    return figures


def _side(stage: Stage) -> Side:
    return Side(stage.server, {PROFILE: _profile(stage)})


def _profile(stage: Stage) -> Request:
    return Request("GET", "/auth-collections/user", stage.signed_in)


def _refresh(stage: Stage) -> Request:
    with httpx2.Client(base_url=stage.server.url, headers=dict(stage.keyed), timeout=30) as http:
        signed_in = http.post("/auth-collections/login", json=ACCOUNT).raise_for_status().json()
    body = json.dumps({"refresh_token": signed_in["refresh_token"]}).encode()
    return Request("POST", "/auth-collections/refresh", (), body)
