"""The CPU that limits add to a request."""

import asyncio
from dataclasses import replace

from bench.figures import Figure, Goal
from bench.population import FREE, populated_project
from bench.sides import Side, interleave, mongodb_process
from bench.stage import USERS, list_users, staged
from service.settings import Settings

GOAL = Goal("<=", 1.05)


def measure_limiter(settings: Settings, *, rounds: int, block: int) -> list[Figure]:
    """The same list of 20 in a project whose limits are never reached, and in one that has none, on one server."""
    _, unlimited = asyncio.run(populated_project(settings, "unlimited", USERS, limits=FREE))
    with staged(settings) as (stage, _):
        sides = {
            name: Side(stage.server, {"list": list_users(each)})
            for name, each in (("on", stage), ("off", replace(stage, api_key=unlimited)))
        }
        costs = asyncio.run(interleave(sides, mongodb_process(settings), rounds=rounds, block=block))["list"]
    note = f"{costs['on']} of service and MongoDB, without limits {costs['off']}; {rounds} rounds of {block} requests"
    ratio = costs["on"].server_ratio(costs["off"])
    return [Figure("CPU per request, list of 20: limits on ÷ off", ratio, "x", GOAL, note)]
