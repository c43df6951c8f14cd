"""`scripts/fuzz --quantity`: sends each of the largest inputs, and names what another project felt too much of."""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from faults.quantity.inputs import Input, every_input
from faults.quantity.measure import Cost, Gauge, gauging, mongod_of
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
    parser.add_argument("--only", default="", help="only inputs whose name matches this pattern")
    parser.add_argument("--write", action="store_true", help="keep the costs for docs/bounds.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        pid = mongod_of(uri)
        with running_site(uri, Path(folder), users=arguments.users) as site, gauging(site, pid) as gauge:
            end = time.monotonic() + arguments.minutes * 60
            chosen = (request for request in every_input(site) if re.search(arguments.only, request.name))
            costs = {
                each.name: (each, report(each, gauge)) for each in takewhile(lambda _: time.monotonic() < end, chosen)
            }
    missed = [] if arguments.only else unreached(request for request, _ in costs.values())
    print(f"bounds without an input: {', '.join(missed) or 'none'}")  # noqa: T201
    if arguments.write:
        COSTS.write_text(json.dumps(_kept(only=arguments.only) | by_bound(list(costs.values())), indent=2) + "\n")
    sys.exit(judge(costs, arguments.ceiling))


def _kept(*, only: str) -> dict[str, str]:
    """Where few were asked for, the costs of the other bounds, as they were measured before."""
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
