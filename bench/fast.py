"""CPU per request without each replacement of `service/fast`, ÷ that with all of them."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack

from bench.figures import Figure, Goal
from bench.load import Request, Requests
from bench.processes import service_process
from bench.sides import Costs, Side, interleave, mongodb_process, show_costs
from bench.stage import DOCUMENTS, create_document, declare_documents, list_users, staged
from service.fast import SWITCHES, WITHOUT
from service.settings import Settings

ALL = "all"
# A replacement that saves less on both sides of every request is deleted.
LEAST = Goal(">=", 1.05)


def measure_fast(settings: Settings, *, rounds: int, block: int) -> list[Figure]:
    """For each replacement the operation for which it saves most. Prints the cost of every operation."""
    with ExitStack() as servers:
        stage, _ = servers.enter_context(staged(settings))
        document = declare_documents(stage)[0]
        requests: dict[str, Requests] = {
            "list of 20": list_users(stage),
            "get a document": Request("GET", f"{DOCUMENTS}/{document}", stage.keyed),
            "create a document": create_document(stage),
        }
        sides = {ALL: Side(stage.server, requests)}
        for switch in SWITCHES:
            server = servers.enter_context(service_process(settings, **{WITHOUT: switch}))
            sides[switch] = Side(server, requests)
        costs = asyncio.run(interleave(sides, mongodb_process(settings), rounds=rounds, block=block))
    show_costs(costs, ALL)
    return [_most(switch, costs, f"{rounds} rounds of {block} requests") for switch in SWITCHES]


def _most(switch: str, costs: Mapping[str, Mapping[str, Costs]], note: str) -> Figure:
    """The figure of the operation that the replacement makes cheapest."""
    ratios = {name: sides[switch].ratio(sides[ALL]) for name, sides in costs.items()}
    name = max(ratios, key=lambda each: ratios[each])
    text = f"{name}, with MongoDB's: {costs[name][switch]}, with it {costs[name][ALL]}; {note}"
    return Figure(f"CPU per request without the fast {switch} ÷ with it", ratios[name], "x", LEAST, text)
