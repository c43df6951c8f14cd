"""The cost of a request on both sides: the CPU of the server that answers it, and that of the MongoDB it asks.

The sides of a comparison take turns in blocks of a quarter of a second, so that other work of the machine meets all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pymongo import MongoClient
from rich.console import Console
from rich.table import Table

from bench.load import Requests, send_many
from bench.processes import Server
from service.settings import Settings

WARM_UP = 300
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of CPU for one request, of the server and of MongoDB."""

    server: float
    mongodb: float

    @property
    def both(self) -> float:
        return self.server + self.mongodb


@dataclass(frozen=True, slots=True)
class Side:
    """A running server, and what to send it for each operation."""

    server: Server
    requests: Mapping[str, Requests]


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of one operation on one side, in each round."""

    rounds: Sequence[Cost]

    @property
    def median(self) -> Cost:
        return Cost(median(each.server for each in self.rounds), median(each.mongodb for each in self.rounds))

    def server_ratio(self, other: "Costs") -> float:
        """The median of the rounds' ratios, of the servers alone."""
        return median(one.server / two.server for one, two in zip(self.rounds, other.rounds, strict=True))

    def ratio(self, other: "Costs") -> float:
        """The median of the rounds' ratios, of server and MongoDB together."""
        return median(one.both / two.both for one, two in zip(self.rounds, other.rounds, strict=True))

    def __str__(self) -> str:
        return f"{self.median.server:.0f} + {self.median.mongodb:.0f} µs"


def mongodb_process(settings: Settings) -> Server:
    """The mongod that `settings` name, which must run on this machine."""
    with MongoClient[dict[str, object]](settings.database_uri) as client:
        pid = client.admin.command("serverStatus")["pid"]
        _, port = client.address or ("", 0)
    return Server(pid, port)


async def interleave(
    sides: Mapping[str, Side], mongodb: Server, *, rounds: int, block: int
) -> dict[str, dict[str, Costs]]:
    """Operation → side → what it cost. Every side must have the same operations."""
    operations = list(next(iter(sides.values())).requests)
    costs: dict[str, dict[str, list[Cost]]] = {name: {side: [] for side in sides} for name in operations}
    for side in sides.values():
        for name in operations:
            await send_many(side.server, side.requests[name], WARM_UP)
    for _ in range(rounds):
        for name in operations:
            for key, side in sides.items():
                costs[name][key].append(await _measure(side.server, mongodb, side.requests[name], block))
    return {name: {side: Costs(found) for side, found in each.items()} for name, each in costs.items()}


async def _measure(server: Server, mongodb: Server, request: Requests, count: int) -> Cost:
    before = server.cpu_seconds(), mongodb.cpu_seconds()
    await send_many(server, request, count)
    after = server.cpu_seconds(), mongodb.cpu_seconds()
    spent = [(later - earlier) * MICROSECONDS / count for earlier, later in zip(before, after, strict=True)]
    return Cost(*spent)


def show_costs(costs: Mapping[str, Mapping[str, Costs]], floor: str) -> None:
    """Prints a line for each operation and side: microseconds a request, and the ratios to the side called `floor`."""
    headings = ("operation", "side", "service µs", "mongod µs", "both", "service ÷ floor", "both ÷ floor")
    table = Table(*headings)
    for name, sides in costs.items():
        for side, found in sides.items():
            each = found.median
            micros = [f"{value:.0f}" for value in (each.server, each.mongodb, each.both)]
            ratios = [f"{value:.2f}" for value in (found.server_ratio(sides[floor]), found.ratio(sides[floor]))]
            table.add_row(name, side, *micros, *ratios)
    Console(width=120).print(table)
