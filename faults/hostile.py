"""One project that does its worst inside its limits, beside one that reads profiles: what the second one feels.

Lists with relations, texts for patterns, uploads, logins, and sign-ins at a provider that never answers, all at once, from
a process of their own. `python -m faults.hostile [--seconds 30]`.
"""

import argparse
import asyncio
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from faults.quantity.measure import Watch
from faults.quantity.site import JSON, RELATIONS, Site, Tenant, running_site
from faults.quantity.values import encode
from faults.samples import FORM_TYPE, account, file_part, form, png
from faults.wire import Broken, Connection, Refused
from service.bounds import MAX_LIMIT
from service.embedded.mongod import embedded_mongodb

READERS = 4
CLIENTS_OF_EACH = 8
UPLOAD_BYTES = 5_000_000
TEXT_BYTES = 60_000
Step = Callable[[Connection], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Felt:
    """What readers of profiles saw: milliseconds, and answers other than 200."""

    requests: int
    failures: int
    p50: float
    p99: float
    slowest: float

    def __str__(self) -> str:
        figures = f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, slowest {self.slowest:.0f} ms"
        return f"{self.requests} profiles, {self.failures} not answered by 200; {figures}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each of the two phases")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--users", type=int, default=20_000, help="users of the hostile project")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri, hanging_provider() as provider:
        settings = provider_settings(provider)
        with running_site(uri, Path(folder), users=arguments.users, workers=arguments.workers, **settings) as site:
            alone = read_profiles(site, arguments.seconds)
            print(f"alone:  {alone}", flush=True)  # noqa: T201 - figures for a person
            with attacking(site.service.port, site.hostile) as statuses:
                beside = read_profiles(site, arguments.seconds)
            print(f"beside: {beside}; p99 is {beside.p99 / alone.p99:.1f} times that alone")  # noqa: T201
            for name, answers in statuses.items():
                print(f"  {name:12} {dict(sorted(answers.items()))}")  # noqa: T201


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
    watches = [Watch(site.service.port, "/auth-collections/user", site.other.token) for _ in range(READERS)]
    _run_all(watches, seconds)
    times = sorted(each for watch in watches for each in watch.times)
    failures = sum(watch.failures for watch in watches)
    p50, p99 = (statistics.quantiles(times, n=100)[rank - 1] for rank in (50, 99))
    return Felt(len(times), failures, p50, p99, times[-1])


def _run_all(watches: list[Watch], seconds: float) -> None:
    if not watches:
        time.sleep(seconds)
        return
    with watches[0].running():
        _run_all(watches[1:], seconds)


@contextmanager
def attacking(port: int, tenant: Tenant) -> Iterator[dict[str, Counter[int]]]:
    """All attacks at once until the context ends; then how often each was answered with which status."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_attack_until_told, args=(theirs, port, tenant))
    process.start()
    statuses: dict[str, Counter[int]] = {}
    try:
        yield statuses
    finally:
        mine.send("end")
        if mine.poll(60):
            statuses.update(mine.recv())
        process.join(10)
        process.kill()


def _attack_until_told(pipe: Pipe, port: int, tenant: Tenant) -> None:
    asyncio.run(_attack(pipe, port, tenant))


async def _attack(pipe: Pipe, port: int, tenant: Tenant) -> None:
    statuses: dict[str, Counter[int]] = {name: Counter() for name in steps(tenant)}
    tasks = [
        asyncio.create_task(_repeat(port, step, statuses[name]))
        for name, step in steps(tenant).items()
        for _ in range(CLIENTS_OF_EACH)
    ]
    await asyncio.to_thread(pipe.recv)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    pipe.send(statuses)


async def _repeat(port: int, step: Step, statuses: Counter[int]) -> None:
    """One client; 0 counts connections that broke. What is refused is tried again a moment later, as clients do."""
    connection = Connection(port)
    while True:
        try:
            status = await step(connection)
        except (Broken, Refused):
            status = 0
        statuses[status] += 1
        if status in (0, 429, 503):
            await asyncio.sleep(0.05)


def steps(tenant: Tenant) -> dict[str, Step]:
    """Each attack by name, as one request of it."""
    number = count()
    related = "&".join(f"{name}.note_icontains=y" for name in RELATIONS[:3])
    lists = f"/auth-collections/users?limit={MAX_LIMIT}&{related}&populate={RELATIONS[0]}"
    text = encode({"data": {"text": "a" * TEXT_BYTES}})
    login = encode({"email": "first@example.com", "password": "wrong"})
    picture = file_part("picture", content=png(UPLOAD_BYTES))

    async def upload(connection: Connection) -> int:
        body = form(account(f"upload{next(number)}@example.com"), picture)
        return await _status(connection, "POST", "/auth-collections/signup", tenant.key | FORM_TYPE, body)

    async def sign_in(connection: Connection) -> int:
        begin = "/auth-collections/login-idp"
        status, _, body = await connection.exchange("GET", begin, headers=tenant.key)
        if status != 200:
            return status
        (state,) = parse_qs(urlsplit(json.loads(body)["url"]).query)["state"]
        path = f"/auth-collections/auth-idp-redirect/{tenant.project}?state={state}&code=x"
        return await _status(connection, "GET", path, {})

    return {
        "lists": lambda connection: _status(connection, "GET", lists, tenant.key),
        "patterns": lambda connection: _status(
            connection, "POST", "/api/collections/patterns/documents", tenant.key | JSON, text
        ),
        "logins": lambda connection: _status(connection, "POST", "/auth-collections/login", tenant.key | JSON, login),
        "uploads": upload,
        "sign-ins": sign_in,
    }


async def _status(connection: Connection, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> int:
    status, _ = await connection.request(method, path, headers=headers, body=body)
    return status


if __name__ == "__main__":
    main()
