"""Mixed load with connections that come and go, whole requests and half ones: what memory and descriptors do.

`python -m faults.soak [--minutes 10]` compares the end with the end of the first minute.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from faults.quantity.site import JSON, Site, Tenant, running_site
from faults.quantity.values import encode
from faults.samples import FORM_TYPE, account, file_part, form, png
from faults.wire import Broken, Connection, Refused
from service.embedded.mongod import embedded_mongodb

CLIENTS = 24
USERS = 2_000
UPLOAD_BYTES = 300_000
FIRST_SECONDS = 60.0
SEED = 20_261_121
THINGS = "/api/collections/things/documents"
# Connections of a hundred that end in the middle of a request.
CUT_SHORT = 20
# A freed byte may stay with the process; more than so much a minute is a leak.
MEBIBYTE = 2**20
Step = Callable[[Connection], Awaitable[tuple[int, dict[str, str]]]]


@dataclass(frozen=True, slots=True)
class Held:
    """Resources of the workers together: resident bytes, open descriptors."""

    memory: int
    descriptors: int

    def __str__(self) -> str:
        return f"{self.memory / MEBIBYTE:.0f} MiB, {self.descriptors} descriptors"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two requests of each client")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as uri,
        running_site(uri, Path(folder), users=USERS, workers=arguments.workers) as site,
    ):
        print(asyncio.run(soak(site, arguments.minutes * 60, arguments.pause)))  # noqa: T201 - figures for a person


async def soak(site: Site, seconds: float, pause: float) -> str:
    """Loads the service for so long, and says what it held at the three moments; prints what it holds each minute."""
    statuses: Counter[int] = Counter()
    start = held(site)
    dice = (random.Random(SEED + each) for each in range(CLIENTS))  # noqa: S311
    tasks = [asyncio.create_task(_client(site, statuses, each, pause)) for each in dice]
    began = time.monotonic()
    await asyncio.sleep(min(FIRST_SECONDS, seconds / 3))
    first = held(site)
    while (left := seconds - (time.monotonic() - began)) > 0:
        print(f"{time.monotonic() - began:5.0f} s: {held(site)}; {statuses.total()} requests", flush=True)  # noqa: T201
        await asyncio.sleep(min(FIRST_SECONDS, left))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(2)
    last = held(site)
    grown = (last.memory - first.memory) / MEBIBYTE
    return (
        f"{statuses.total()} requests {dict(sorted(statuses.items()))} (0: cut short by the client)\n"
        f"before {start}; after the first minute {first}; at the end {last}: {grown:+.1f} MiB since the first minute"
    )


def held(site: Site) -> Held:
    workers = site.service.workers()
    return Held(site.service.memory(), sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in workers))


async def _client(site: Site, statuses: Counter[int], dice: random.Random, pause: float) -> None:
    """Connections one after the other, each with some requests; some end within one."""
    every = steps(site.hostile, site.document, dice)
    while True:
        connection = Connection(site.service.port)
        cut = dice.randrange(100) < CUT_SHORT
        for last in reversed(range(dice.randint(1, 20))):
            patience = dice.uniform(0, 0.02) if cut and not last else 60
            try:
                status, _ = await asyncio.wait_for(dice.choice(every)(connection), patience)
            except (Broken, Refused, TimeoutError):
                status = 0
            statuses[status] += 1
            if status == 0:
                break
            await asyncio.sleep(pause)
        connection.close()
        await asyncio.sleep(pause)


def steps(tenant: Tenant, document: str, dice: random.Random) -> list[Step]:
    """The requests of the mix."""
    number = count(dice.randrange(10**9) * 1_000)
    key, token = tenant.key, tenant.token
    picture = file_part("picture", content=png(UPLOAD_BYTES))
    login = encode({"email": "first@example.com", "password": "correct horse"})

    def upload(connection: Connection) -> Awaitable[tuple[int, dict[str, str]]]:
        body = form(account(f"soak{next(number)}@example.com"), picture)
        return connection.request("POST", "/auth-collections/signup", headers=key | FORM_TYPE, body=body)

    def plain(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Step:
        return lambda connection: connection.request(method, path, headers=headers, body=body)

    value = encode({"data": {"value": "x" * 2_000}})
    return [
        plain("GET", "/auth-collections/user", token),
        plain("GET", "/auth-collections/users?limit=20&populate=r0", key),
        plain("GET", f"/auth-collections/users?limit=5&name_icontains={dice.randrange(USERS)}", key),
        plain("PUT", "/auth-collections/user", token | JSON, encode({"seen": dice.random()})),
        plain("POST", THINGS, key | JSON, value),
        plain("PATCH", f"{THINGS}/{document}", key | JSON, value),
        plain("POST", "/auth-collections/login", key | JSON, login),
        plain("POST", THINGS, key | JSON, b'{"data": {"value": '),
        plain("GET", "/nowhere", {"x-long": "a" * 10_000}),
        upload,
    ]


if __name__ == "__main__":
    main()
