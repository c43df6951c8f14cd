"""The seconds without any write after the primary is killed, by the replica set's electionTimeoutMillis."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx2
from pydantic import SecretStr

from bench.figures import Figure
from bench.load import Request
from bench.stage import create_document, declare_documents, staged
from faults.members import ReplicaSet, replica_set
from service.settings import Settings

# The second is what docker/replica-set.js sets, the last is MongoDB's default.
ELECTION_MS = (1_000, 3_000, 10_000)


def measure_elections(settings: Settings, *, rounds: int) -> Iterator[Figure]:
    """From the kill of a primary to the next document that is created, for one client that tries again at once."""
    for milliseconds in ELECTION_MS:
        with tempfile.TemporaryDirectory() as folder, replica_set(Path(folder), election_ms=milliseconds) as members:
            located = settings.model_copy(update={"mongodb_uri": SecretStr(members.uri)})
            with staged(located) as (stage, _), httpx2.Client(base_url=stage.server.url, timeout=60) as http:
                declare_documents(stage)
                request = create_document(stage)
                found = [_kill_primary(members, http, request) for _ in range(rounds)]
        gaps, slowest, refused = zip(*found, strict=True)
        note = f"up to {max(gaps):.1f} s; slowest answer {max(slowest):.1f} s, {sum(refused)} of 503; {rounds} kills"
        yield Figure(f"no writes after a kill, electionTimeoutMillis {milliseconds:,}", median(gaps), "s", note=note)


def _kill_primary(members: ReplicaSet, http: httpx2.Client, request: Request) -> tuple[float, float, int]:
    """Seconds without a write, those of the slowest answer, and how many answers were 503."""
    primary = members.primary()
    primary.kill()
    killed, slowest, refused = perf_counter(), 0.0, 0
    while (answer := _post(http, request)).status_code != 201:
        if answer.status_code != 503:
            raise RuntimeError(f"{answer.status_code}: {answer.text[:200]}")
        slowest, refused = max(slowest, answer.elapsed.total_seconds()), refused + 1
    gap = perf_counter() - killed
    primary.revive()
    members.heal()
    return gap, max(slowest, answer.elapsed.total_seconds()), refused


def _post(http: httpx2.Client, request: Request) -> httpx2.Response:
    headers = {**dict(request.headers), "content-type": "application/json"}
    return http.post(request.target, content=request.body, headers=headers)
