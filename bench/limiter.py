"""What counting requests under limits adds to them."""

import asyncio
from dataclasses import replace

from bench.figures import Figure, Goal
from bench.load import Request
from bench.population import FREE, populated_project
from bench.requests import USERS, Scenario, compare, staged
from service.settings import Settings

GOAL = Goal("<=", 1.05)


def measure_limiter(settings: Settings, *, rounds: int, block: int) -> list[Figure]:
    """The same list of 20 in a project whose limits are never reached, and in one that has none, on one server."""
    _, unlimited = asyncio.run(populated_project(settings, "unlimited", USERS, limits=FREE))
    with staged(settings) as (stage, _):
        target = "/auth-collections/users?limit=20&count=false"
        counted = Request("GET", target, stage.keyed)
        scenario = Scenario("limits on ÷ off", counted, replace(counted, headers=(("x-api-key", unlimited),)))
        found = asyncio.run(compare(scenario, stage.server, stage.server, rounds=rounds, block=block))
    return [replace(found, name="CPU per request, list of 20: limits on ÷ off", goal=GOAL)]
