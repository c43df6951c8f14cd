"""`scripts/fuzz --quantity`: sends each of the largest inputs, then drives pairs of bounds at once.

It names what another project felt too much of, and what the worker kept of it.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path

from faults.quantity.drive import MIB, Toll, measure_product
from faults.quantity.inputs import Input, every_input
from faults.quantity.measure import Cost, Gauge, gauging, mongod_of
from faults.quantity.products import PRODUCTS, Product, prepare
from faults.quantity.reasons import REASONS
from faults.quantity.site import running_site
from service import bounds
from service.embedded.mongod import embedded_mongodb

COSTS = Path(__file__).parents[2] / "docs/bound-costs.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/fuzz --quantity", description=__doc__)
    parser.add_argument("--users", type=int, default=5_000, help="users of the project that sends")
    parser.add_argument("--minutes", type=float, default=10.0, help="no new input is sent after so long")
    parser.add_argument("--ceiling", type=float, default=500.0, help="milliseconds that another project may wait")
    parser.add_argument("--only", default="", help="only inputs and pairs whose name matches this pattern")
    parser.add_argument("--pairs", action="store_true", help="only the pairs of bounds")
    parser.add_argument("--peak", type=float, default=200.0, help="MiB that the worker may have during a pair")
    parser.add_argument("--kept", type=float, default=30.0, help="MiB that the worker may keep of a pair")
    parser.add_argument("--write", action="store_true", help="keep the costs for docs/bounds.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        pid = mongod_of(uri)
        with running_site(uri, Path(folder), users=arguments.users) as site, gauging(site, pid) as gauge:
            end = time.monotonic() + arguments.minutes * 60
            inputs = () if arguments.pairs else every_input(site)
            chosen = (request for request in inputs if re.search(arguments.only, request.name))
            costs = {
                each.name: (each, report(each, gauge)) for each in takewhile(lambda _: time.monotonic() < end, chosen)
            }
            tolls = drive_pairs(uri, gauge, arguments)
    is_part = arguments.only or arguments.pairs
    missed = [] if is_part else unreached(request for request, _ in costs.values())
    print(f"bounds without an input: {', '.join(missed) or 'none'}")  # noqa: T201
    if arguments.write:
        COSTS.write_text(json.dumps(_kept(only=is_part) | by_bound(list(costs.values())), indent=2) + "\n")
    sys.exit(judge(costs, arguments.ceiling) | judge_pairs(tolls, arguments))


def drive_pairs(uri: str, gauge: Gauge, arguments: argparse.Namespace) -> dict[str, tuple[Product, Toll]]:
    """Measures each chosen pair of bounds and returns its cost."""
    chosen = [product for product in PRODUCTS if re.search(arguments.only, product.name)]
    if chosen:
        prepare(uri, gauge.site)
    tolls = {}
    for product in chosen:
        toll = measure_product(product, gauge, gauge.site.hostile)
        print(f"{' by '.join((product.name, *product.bounds)):80} {toll.status} {toll}", flush=True)  # noqa: T201
        tolls[product.name] = product, toll
    return tolls


def judge_pairs(tolls: dict[str, tuple[Product, Toll]], arguments: argparse.Namespace) -> int:
    """1 where another project waited too long, the worker had or kept too much, or a round was answered oddly."""
    faults: dict[str, Callable[[Product, Toll], bool]] = {
        f"longer than {arguments.ceiling:.0f} ms": lambda _, toll: toll.wait > arguments.ceiling,
        f"more than {arguments.peak:.0f} MiB": lambda _, toll: toll.peak > arguments.peak * MIB,
        f"kept more than {arguments.kept:.0f} MiB": lambda _, toll: toll.kept > arguments.kept * MIB,
        "answered otherwise": lambda product, toll: toll.status not in product.status,
    }
    found = {
        fault: [name for name, each in tolls.items() if is_at_fault(*each)] for fault, is_at_fault in faults.items()
    }
    for fault, names in found.items():
        print(f"pairs, {fault}: {', '.join(names) or 'none'}")  # noqa: T201
    return int(any(found.values()))


def _kept(*, only: object) -> dict[str, str]:
    """If only some inputs were chosen, the costs of the other bounds, as they were measured before."""
    known = {bound.what for bound in bounds.every_bound()}
    found: dict[str, str] = json.loads(COSTS.read_text()) if only else {}
    return {what: cost for what, cost in found.items() if what in known}


def report(request: Input, gauge: Gauge) -> Cost:
    cost = gauge.measure(request)
    odd = "" if cost.status in request.status else f" {cost.answer!r}"
    print(f"{request.name:44} {cost.status} {cost.seconds * 1000:7.0f} ms; {cost}{odd}", flush=True)  # noqa: T201
    return cost


def by_bound(costs: list[tuple[Input, Cost]]) -> dict[str, str]:
    """For each bound, as it is described, the cost of the input that another project felt most, or why there is none."""
    worst: dict[str, Cost] = {}
    for request, cost in costs:
        what = getattr(bounds, request.bound).what
        if what not in worst or cost.wait > worst[what].wait:
            worst[what] = cost
    reasons = {getattr(bounds, name).what: reason for name, reason in REASONS.items()}
    return reasons | {what: str(cost) for what, cost in worst.items()}


def unreached(sent: Iterable[Input]) -> list[str]:
    """The bounds at whose end no input was, and without a reason."""
    reached = {id(getattr(bounds, name)) for name in (*(request.bound for request in sent), *REASONS)}
    return [bound.what for bound in bounds.every_bound() if id(bound) not in reached]


def judge(costs: dict[str, tuple[Input, Cost]], ceiling: float) -> int:
    """1 where another project waited too long, or an input was not answered as it should be."""
    slow = [name for name, (_, cost) in costs.items() if cost.wait > ceiling]
    odd = [name for name, (request, cost) in costs.items() if cost.status not in request.status]
    worst = max(costs, key=lambda name: costs[name][1].wait, default="none")
    print(f"{len(costs)} inputs; another project waited longest for: {worst}")  # noqa: T201
    print(f"longer than {ceiling:.0f} ms: {slow or 'none'}; not answered as permitted: {odd or 'none'}")  # noqa: T201
    return int(bool(slow or odd))


if __name__ == "__main__":
    main()
