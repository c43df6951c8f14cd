"""Loads one project up to all its limits at once, from a process of its own."""

import asyncio
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection as Pipe
from urllib.parse import parse_qs, urlsplit

from faults.quantity.products import BY_NAME
from faults.quantity.site import JSON, RELATIONS, Tenant
from faults.quantity.values import encode
from faults.samples import FORM_TYPE, account, file_part, form, png
from faults.wire import Broken, Connection, Refused
from service.bounds import MAX_LIMIT

# Pairs of bounds: rounds of `faults.quantity.products`, whose collections must have been prepared.
PAIRS = ("subscriptions", "live field rules", "sets", "snapshots")
ATTACKS = ("lists", "patterns", "logins", "uploads", "sign-ins", *PAIRS)
CLIENTS_OF_EACH = 8
# A pair's round opens sockets of one user, who may have ten.
CLIENTS_OF_PAIRS = 2
UPLOAD_BYTES = 5_000_000
TEXT_BYTES = 60_000
Step = Callable[[Connection], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Attack:
    """The process that attacks, and how often each attack was answered with which status: 0 for a broken connection."""

    pid: int
    answers: dict[str, Counter[int]] = field(default_factory=dict)


@contextmanager
def attacking(port: int, tenant: Tenant, names: Sequence[str] = ATTACKS) -> Iterator["Attack"]:
    """The named attacks at once, from a process of their own, until the context ends; then how they were answered."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, port, tenant, tuple(names)))
    process.start()
    attack = Attack(process.pid or 0)
    try:
        mine.recv()
        yield attack
    finally:
        mine.send("end")
        if mine.poll(60):
            attack.answers.update(mine.recv())
        process.join(10)
        process.kill()


def _run(pipe: Pipe, port: int, tenant: Tenant, names: Sequence[str]) -> None:
    asyncio.run(_attack(pipe, port, tenant, names))


async def _attack(pipe: Pipe, port: int, tenant: Tenant, names: Sequence[str]) -> None:
    chosen = {name: step for name, step in steps(tenant).items() if name in names}
    statuses: dict[str, Counter[int]] = {name: Counter() for name in chosen}
    tasks = [
        asyncio.create_task(_repeat(port, step, statuses[name]))
        for name, step in chosen.items()
        for _ in range(CLIENTS_OF_PAIRS if name in PAIRS else CLIENTS_OF_EACH)
    ]
    pipe.send("begun")
    await asyncio.to_thread(pipe.recv)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    pipe.send(statuses)


async def _repeat(port: int, step: Step, statuses: Counter[int]) -> None:
    """One client; status 0 counts connections that broke.

    It repeats a refused request a moment later, as clients do.
    """
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
    # No address twice, in whichever process.
    number = count(time.time_ns())
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

    def pair(name: str) -> Step:
        return lambda connection: BY_NAME[name].run(connection.port, tenant)

    return {name: pair(name) for name in PAIRS} | {
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
