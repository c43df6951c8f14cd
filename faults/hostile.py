"""One project that does its worst inside its limits, beside one that reads profiles: what the second one feels.

Lists with relations, texts for patterns, uploads, logins, sign-ins at a provider that never answers, and pairs of bounds
that one request or event multiplies (subscriptions, field rules, sets, snapshots), all at once, from a process of their
own. Phases with and without them take turns, so that both see the same machine; the figures are medians over the rounds.
The exit status is 1 where the p99 of the reader is more than `--ratio` times that alone, or a worker's memory has more
than `--memory` MiB. `python -m faults.hostile [--seconds 30] [--rounds 1] [--only lists,uploads]`.
"""

import argparse
import os
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults.attacks import ATTACKS, PAIRS, attacking
from faults.quantity.measure import Watch, cpu_seconds, mongod_of, peak
from faults.quantity.products import prepare
from faults.quantity.site import Site, running_site
from service.embedded.mongod import embedded_mongodb

READERS = 4


@dataclass(frozen=True, slots=True)
class Felt:
    """The latency of reads of profiles in milliseconds, and answers other than 200.

    `live` is of an answer without MongoDB.
    """

    requests: int
    failures: int
    p50: float
    p99: float
    slowest: float
    live: float

    def __str__(self) -> str:
        figures = f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, slowest {self.slowest:.0f} ms"
        return f"{self.requests} profiles, {self.failures} not 200; {figures}; p99 of /health/live {self.live:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each phase")
    parser.add_argument("--rounds", type=int, default=1, help="how often both phases take turns")
    parser.add_argument("--only", default=",".join(ATTACKS), help="only these attacks, with commas between")
    parser.add_argument("--each", action="store_true", help="one attack after the other in place of all at once")
    parser.add_argument("--ratio", type=float, default=3.0, help="of the reader's p99 beside the attacks to that alone")
    parser.add_argument("--memory", type=int, default=200, help="MiB that a worker may have resident")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--users", type=int, default=20_000, help="users of the hostile project")
    parser.add_argument("--bcrypt-cost", type=int, default=12, help="of passwords, as in production")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri, hanging_provider() as provider:
        site = running_site(
            uri,
            Path(folder),
            users=arguments.users,
            workers=arguments.workers,
            bcrypt_cost=arguments.bcrypt_cost,
            **provider_settings(provider),
        )
        attacks = [[name] for name in names] if arguments.each else [names]
        is_good = attack_all(uri, site, attacks, arguments)
    sys.exit(0 if is_good else 1)


def attack_all(
    uri: str, running: AbstractContextManager[Site], attacks: Sequence[Sequence[str]], arguments: argparse.Namespace
) -> bool:
    """Returns True if the other project stayed within bounds beside each attack."""
    with running as site:
        mongod = mongod_of(uri)
        if any(name in PAIRS for names in attacks for name in names):
            prepare(uri, site)
        read_profiles(site, 2)
        found = [compare(site, mongod, names, arguments) for names in attacks]
    return all(found)


def compare(site: Site, mongod: int, names: Sequence[str], arguments: argparse.Namespace) -> bool:
    """Prints the latencies alone and beside the attacks `names`, the ratio of the medians of p99, and the workers'
    memory.

    Returns True if both are within bounds and every read was answered.
    """
    seconds, rounds = arguments.seconds, arguments.rounds
    for pid in site.service.workers():
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    alone, beside = [], []
    answers: dict[str, Counter[int]] = {name: Counter() for name in names}
    for _ in range(rounds):
        with spending(site, mongod, {}):
            alone.append(read_profiles(site, seconds))
        show(f"alone:  {alone[-1]}")
        with attacking(site.service.port, site.hostile, names) as attack, spending(site, mongod, {"load": attack.pid}):
            beside.append(read_profiles(site, seconds))
        show(f"beside: {beside[-1]}")
        for name in names:
            answers[name] += attack.answers.get(name, Counter())
    quiet, loud = (statistics.median(each.p99 for each in phases) for phases in (alone, beside))
    failures = sum(each.failures for each in beside)
    show(
        f"{','.join(names)}: p99 {quiet:.1f} ms alone, {loud:.1f} ms beside: {loud / quiet:.1f} times; {failures} failed"
    )
    memory = [peak(pid) // 2**20 for pid in site.service.workers()]
    show(f"  peak of the workers' memory: {', '.join(f'{each} MiB' for each in memory)}")
    for name, statuses in answers.items():
        show(f"  {name:12} {dict(sorted(statuses.items()))}")
    return loud <= arguments.ratio * quiet and not failures and max(memory) <= arguments.memory


def show(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - figures for a person


@contextmanager
def spending(site: Site, mongod: int, others: Mapping[str, int]) -> Iterator[None]:
    """Prints how much of a CPU each process took meanwhile, and the machine's load."""
    workers = {f"worker {number}": pid for number, pid in enumerate(site.service.workers())}
    pids = {"mongod": mongod, **workers, "readers": os.getpid(), **others}
    before, started = {pid: cpu_seconds(pid) for pid in pids.values()}, time.monotonic()
    yield
    passed = time.monotonic() - started
    shares = ", ".join(f"{name} {(cpu_seconds(pid) - before[pid]) / passed:.0%}" for name, pid in pids.items())
    show(f"  CPU: {shares}; load average {os.getloadavg()[0]:.1f}")


@contextmanager
def hanging_provider() -> Iterator[str]:
    """The base URL of a provider that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=1_024) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def provider_settings(base: str) -> dict[str, str]:
    urls = {f"IDP_{name.upper()}_URL": f"{base}/{name}" for name in ("authorize", "token", "userinfo")}
    pages = {"IDP_REDIRECT_URL": f"{base}/callback", "IDP_COMPLETE_URL": f"{base}/done"}
    return urls | pages | {"IDP_CLIENT_ID": "client", "IDP_CLIENT_SECRET": "secret"}


def read_profiles(site: Site, seconds: float) -> Felt:
    """Several readers, each on one connection, with a short pause between requests."""
    port = site.service.port
    watches = [Watch(port, "/auth-collections/user", site.other.token) for _ in range(READERS)]
    live = [Watch(port, "/health/live", {}) for _ in range(READERS // 2)]
    _run_all([*watches, *live], seconds)
    times = sorted(each for watch in watches for each in watch.times)
    failures = sum(watch.failures for watch in watches)
    p50, p99 = (percentile(times, rank) for rank in (50, 99))
    return Felt(len(times), failures, p50, p99, times[-1], percentile([t for w in live for t in w.times], 99))


def percentile(times: Sequence[float], rank: int) -> float:
    return statistics.quantiles(times, n=100)[rank - 1]


def _run_all(watches: list[Watch], seconds: float) -> None:
    if not watches:
        time.sleep(seconds)
        return
    with watches[0].running():
        _run_all(watches[1:], seconds)


if __name__ == "__main__":
    main()
