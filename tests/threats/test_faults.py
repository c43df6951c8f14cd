"""THREATS rows R1 to R4 in short; `scripts/faults` runs them at length."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import httpx2
import pytest

from faults.freeze import DEADLINE_SECONDS, freeze
from faults.kills import kills
from faults.processes import headers, make_key, running_service
from faults.realtime import realtime
from faults.restarts import CLIENTS, UNLIMITED, restarts
from faults.wire import Connection
from service.embedded.mongod import embedded_mongodb

RECOVERY_SECONDS = 60.0
MEGABYTE = 1_000_000
PREFIX = "f_faults_"


async def test_r1_a_start_without_mongodb_waits_for_it(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri:
        pass
    # The port is the same when it comes back.
    with running_service(uri, tmp_path, DATABASE_PREFIX=PREFIX) as service:
        async with httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
            assert (await client.get("/health/live")).status_code == 200
            away = await client.get("/health/ready")
            assert away.status_code == 503
            assert int(away.headers["retry-after"]) >= 1
            with embedded_mongodb(tmp_path) as again:
                assert again == uri
                returned = time.monotonic()
                while (await client.get("/health/ready")).status_code != 200:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                assert time.monotonic() - returned < RECOVERY_SECONDS
                _, key = await make_key(uri, PREFIX)
                answer = await client.get("/auth-collections/users", headers=headers(key))
                assert answer.status_code == 200


async def test_r1_an_embedded_mongodb_that_is_killed_comes_back_by_itself(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri, running_service(uri, tmp_path, DATABASE_PREFIX=PREFIX) as service:
        async with httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
            assert (await client.get("/health/ready")).status_code == 200
            os.kill(json.loads((tmp_path / "mongodb" / "mongod.json").read_text())["pid"], signal.SIGKILL)
            killed = time.monotonic()
            while (await client.get("/health/ready")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert time.monotonic() - killed < RECOVERY_SECONDS


async def test_r2_while_mongodb_hangs_requests_are_answered_in_time() -> None:
    outcome = await freeze(seconds=7, clients=40)
    assert outcome.statuses.keys() == {503}
    assert outcome.slowest < DEADLINE_SECONDS + 30
    assert outcome.highest - outcome.before < 30 * MEGABYTE
    assert outcome.recovered < RECOVERY_SECONDS


async def test_r3_killing_the_primary_loses_no_acknowledged_write() -> None:
    outcome = await kills(count=2, rate=40)
    assert (outcome.lost, outcome.duplicated, outcome.without_retry_after, outcome.broken) == (0, 0, 0, 0)
    assert outcome.statuses.keys() <= {201, 503}
    assert outcome.statuses[201] > 0


async def test_w10_followers_lose_nothing_to_broken_sockets_a_killed_primary_and_a_killed_worker() -> None:
    outcome = await realtime(reconnects=5, kills=1, worker_kills=1)
    assert (outcome.reconnects, outcome.kills, outcome.worker_kills) == (5, 1, 1)
    assert outcome.tally["resumed"] > 0
    assert outcome.is_good, str(outcome)


async def test_r4_sigterm_resets_no_request(mongodb_uri: str) -> None:
    outcome = await restarts(mongodb_uri, count=2)
    assert outcome.broken == {}
    # Each client has one connection at most in the queue of a socket that closes.
    assert outcome.unread <= CLIENTS * outcome.restarts
    assert outcome.statuses.keys() <= {200, 404, 503}
    assert outcome.slowest_stop < 30


@pytest.mark.parametrize("workers", [2])
async def test_r4_several_workers_stop_as_gracefully(mongodb_uri: str, workers: int) -> None:
    outcome = await restarts(mongodb_uri, count=1, workers=workers)
    assert outcome.broken == {}


async def test_r4_an_idle_connection_may_finish_what_it_sends(mongodb_uri: str, tmp_path: Path) -> None:
    """A kept connection that is silent when the server stops gets an answer to its next request, and then its end."""
    _, key = await make_key(mongodb_uri, PREFIX, **UNLIMITED)
    with running_service(mongodb_uri, tmp_path, DATABASE_PREFIX=PREFIX, DRAIN_SECONDS="3") as service:
        connection = Connection(service.port)
        path = "/auth-collections/users?limit=1"
        await connection.request("GET", path, headers=headers(key))
        stopping = asyncio.create_task(asyncio.to_thread(service.terminate))
        answers = [await connection.request("GET", path, headers=headers(key))]
        while answers[-1][1].get("connection") != "close":
            await asyncio.sleep(0.1)
            answers.append(await connection.request("GET", path, headers=headers(key)))
        await stopping
    assert {status for status, _ in answers} == {200}
