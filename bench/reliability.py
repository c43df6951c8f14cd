"""The promises that hold while things break: the long forms of the fault tests as figures, each on a MongoDB of its
own.
"""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from bench.figures import Figure, Goal
from faults import kills, limits
from faults.aborts import FAULTS, abort_uploads
from faults.processes import headers, make_key, running_service
from faults.restarts import UNLIMITED
from faults.uploads import UserPictures
from service.embedded.mongod import embedded_mongodb

NONE = Goal("<=", 0)
LIMIT, SIGNUPS = 1_000, 50
PREFIX = "reliability_"
SEED = 4


def measure_reliability(*, quick: bool) -> Iterator[Figure]:
    """Every value is a count of what must not happen."""
    yield asyncio.run(_beyond_the_limit())
    yield asyncio.run(_signups_too_many())
    yield asyncio.run(_lost_writes(10 if quick else 100))
    yield _left_by_uploads(100 if quick else 1_000)
    yield _failures(1_500 if quick else 12_000)


async def _beyond_the_limit() -> Figure:
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        count = await limits.auth(uri, limit=LIMIT)
    return Figure(f"requests beyond a limit of {LIMIT:,}", count.passed - LIMIT, "", NONE, f"two workers: {count}")


async def _signups_too_many() -> Figure:
    """One e-mail, at once."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        _, key = await make_key(uri, PREFIX, **UNLIMITED)
        with running_service(uri, Path(folder), DATABASE_PREFIX=PREFIX, BCRYPT_COST="4", LOG_LEVEL="error") as service:
            statuses = await _sign_up(f"http://127.0.0.1:{service.port}", key)
    note = f"{statuses.count(201)} of {SIGNUPS} at once succeeded, {statuses.count(400)} were refused"
    return Figure("signups beyond the one, with one e-mail", statuses.count(201) - 1, "", NONE, note)


async def _sign_up(url: str, key: str) -> list[int]:
    form = {"email": "someone@example.com", "password": "correct horse"}
    async with httpx2.AsyncClient(base_url=url, headers=headers(key), timeout=30) as client:
        sent = [client.post("/auth-collections/signup", json=form) for _ in range(SIGNUPS)]
        return [answer.status_code for answer in await asyncio.gather(*sent)]


async def _lost_writes(count: int) -> Figure:
    outcome = await kills.kills(count=count)
    name = f"acknowledged writes lost or doubled over {count} kills of the primary"
    return Figure(name, outcome.lost + outcome.duplicated, "", NONE, str(outcome))


def _left_by_uploads(uploads: int) -> Figure:
    report = abort_uploads(uploads, seed=SEED, target=UserPictures())
    note = ", ".join(f"{name}: {count}" for name, count in report.items())
    return Figure(
        f"left after {uploads:,} aborted uploads and a sweep", sum(report[each] for each in FAULTS), "", NONE, note
    )


def _failures(requests: int) -> Figure:
    """It ends with the first, so there is at most one to count."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "--log-level=ERROR", "tests/test_fuzz.py"],
        env={**os.environ, "FUZZ_REQUESTS": str(requests)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    said = re.search(r"fuzz: \d+ requests.*", done.stdout)
    note = said.group() if said else done.stdout[-300:]
    return Figure(f"failures at {requests:,} odd requests", int(done.returncode != 0), "", NONE, note)
