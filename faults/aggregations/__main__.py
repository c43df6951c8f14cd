"""`scripts/fuzz aggregations`: random ones beside a plain program, with little memory, too; and large ones; nothing fails."""

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from pymongo import MongoClient

from faults.aggregations.compare import Outcome, Target, attack, compare
from faults.aggregations.shop import Record
from faults.in_process import serving_in_process
from service.embedded.mongod import embedded_mongodb
from service.observe.logging import configure_logging

PREFIX = "f_aggregations_"
SEED = 20261121
SHOWN = 10
# MongoDB's settings for the memory of a `$group`, one for each of its two engines; in bytes.
GROUP_MEMORY = (
    "internalDocumentSourceGroupMaxMemoryBytes",
    "internalQuerySlotBasedExecutionHashAggApproxMemoryUseInBytesBeforeSpill",
)
LITTLE_MEMORY = 6_000


@asynccontextmanager
async def running_target(uri: str) -> AsyncIterator[Target]:
    """A project on a service of its own in this process."""
    async with serving_in_process(uri, PREFIX) as served:
        target = Target(served.http, served.headers, served.database)
        await target.declare()
        yield target


@contextmanager
def starving(uri: str) -> Iterator[None]:
    """MongoDB's groups have little memory meanwhile, so that the rewrites run out of it, and often the plain way, too."""
    with MongoClient[Record](uri) as client:
        before = {name: client.admin.command({"getParameter": 1, name: 1})[name] for name in GROUP_MEMORY}
        client.admin.command({"setParameter": 1} | dict.fromkeys(GROUP_MEMORY, LITTLE_MEMORY))
        try:
            yield
        finally:
            client.admin.command({"setParameter": 1} | before)


async def run(uri: str, arguments: argparse.Namespace) -> list[Outcome]:
    async with running_target(uri) as target:
        compared = await compare(target, count=arguments.count, seed=arguments.seed)
        with starving(uri):
            starved = await compare(target, count=arguments.count // 5, seed=arguments.seed, starved=True)
        large = await attack(target, count=arguments.large, seed=arguments.seed, records=arguments.records)
        return [compared, starved, large]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz aggregations", description=__doc__)
    parser.add_argument("--count", type=int, default=5_000, help="aggregations beside the reference")
    parser.add_argument("--large", type=int, default=500, help="aggregations of large records")
    parser.add_argument("--records", type=int, default=40, help="how many large records")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    configure_logging("error", "json")
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        outcomes = asyncio.run(run(uri, arguments))
    for outcome in outcomes:
        print(outcome)  # noqa: T201 - figures for a person
        for fault in outcome.faults[:SHOWN]:
            print(fault)  # noqa: T201
    return int(any(outcome.faults for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
