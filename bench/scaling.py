"""The effect of more workers, services and members of a replica set: figures without a goal, for they depend on the
cores.
"""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

from pydantic import SecretStr

from bench.figures import Figure
from bench.load import CONNECTIONS, Request, send_many
from bench.processes import Server, service_process
from bench.stage import Stage, create_document, declare_documents, staged
from faults.members import replica_set
from service.settings import Settings

WARM_UP = 500
# Services that share their users must agree on it, for it is the issuer of their tokens.
SHARED = {"BASE_URL": "http://127.0.0.1:8000"}


def measure_workers(settings: Settings, *, rounds: int, block: int) -> list[Figure]:
    """Profile requests a second of one worker, of two in one service, and of two services with one each."""
    with ExitStack() as running:
        stage, _ = running.enter_context(staged(settings, **SHARED))
        pair = running.enter_context(service_process(settings, "--workers", "2", **SHARED))
        another = running.enter_context(service_process(settings, **SHARED))
        # The token is the first service's: the others must know it without having given it out.
        request = Request("GET", "/auth-collections/user", stage.signed_in)
        setups = {"1 worker": [stage.server], "2 workers": [pair], "2 services": [stage.server, another]}
        found = asyncio.run(_compare_rates(setups, request, rounds=rounds, block=block))
        memory = pair.worker_memory()
    figures = [
        Figure(f"profile requests a second, {name}", median(rates), "/s", note=_note(rounds, block, median(busy)))
        for name, (rates, busy) in found.items()
    ]
    return [*figures, Figure("resident memory of the larger of 2 workers", memory, "MiB", note="after all of these")]


def _note(rounds: int, block: int, busy: float) -> str:
    sent = f"{rounds} rounds of {block} over {CONNECTIONS} connections"
    return f"{sent}; with MongoDB and the client {busy:.2f} of {os.cpu_count()} cores were busy"


async def _compare_rates(
    setups: Mapping[str, Sequence[Server]], request: Request, *, rounds: int, block: int
) -> dict[str, tuple[list[float], list[float]]]:
    """Name → requests a second, and cores that were busy, in each round; the setups take turns."""
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in setups}
    for servers in setups.values():
        await _send(servers, request, WARM_UP)
    for _ in range(rounds):
        for name, servers in setups.items():
            started, busy = perf_counter(), busy_seconds()
            await _send(servers, request, block)
            took = perf_counter() - started
            found[name][0].append(block / took)
            found[name][1].append((busy_seconds() - busy) / took)
    return found


async def _send(servers: Sequence[Server], request: Request, count: int) -> None:
    """So many requests, spread evenly over `servers` as a proxy would."""
    share, connections = count // len(servers), CONNECTIONS // len(servers)
    await asyncio.gather(*(send_many(server, request, share, connections=connections) for server in servers))


def busy_seconds() -> float:
    """The seconds all cores of the machine have worked since it started (proc(5), /proc/stat: user nice system idle
    iowait ...).
    """
    ticks = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(ticks) - sum(ticks[3:5])) / os.sysconf("SC_CLK_TCK")


def measure_members(settings: Settings, *, rounds: int, block: int) -> list[Figure]:
    """The p50 of creating a document, one request at a time, on a replica set of one member and of three."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        stages = {}
        for count in (1, 3):
            members = running.enter_context(replica_set(folder, count))
            located = settings.model_copy(update={"mongodb_uri": SecretStr(members.uri)})
            stages[count], _ = running.enter_context(staged(located))
        times = asyncio.run(_compare_times(stages, rounds=rounds, block=block))
    note = f"all on one machine; {rounds} rounds of {block}, one at a time, acknowledged by a majority"
    return [
        Figure(f"p50 of creating a document, {count} member{'s' * (count > 1)}", median(found), "ms", note=note)
        for count, found in times.items()
    ]


async def _compare_times(stages: Mapping[int, Stage], *, rounds: int, block: int) -> dict[int, list[float]]:
    """Members → milliseconds of each request, the replica sets taking turns."""
    for stage in stages.values():
        declare_documents(stage)
    requests = {count: create_document(stage) for count, stage in stages.items()}
    times: dict[int, list[float]] = {count: [] for count in stages}
    for number in range(rounds + 1):
        for count, stage in stages.items():
            found = await send_many(stage.server, requests[count], block, connections=1)
            # The first round is the warm-up.
            times[count] += found if number else []
    return times
