"""Tests that the time of an answer does not reveal accounts, in a project with PRIVATE_ACCOUNTS.

`python -m faults privacy [--samples 200]`. Addresses with an account of each kind and without one are asked about in
turns, over the whole application in this process; the times of each kind are compared with those of strangers by a
Mann-Whitney test. Fails if p is 0.01 or less, divided by the number of comparisons: one of a hundred is below it by
chance.
"""

import asyncio
import logging
import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import httpx2
import structlog
import typer

from faults.in_process import running
from faults.processes import headers, make_key
from faults.restarts import UNLIMITED
from service.domain.mail_flows.codes import count_mail, name_account
from service.embedded.mongod import embedded_mongodb
from service.services import Services
from service.storage.account_states import AccountState
from service.storage.users import NewUser

PREFIX = "f_privacy_"
SETTINGS = UNLIMITED | {"EMAIL_VERIFICATION": "required", "PRIVATE_ACCOUNTS": "true"}
SETTINGS |= {"MAIL_REQUEST_LIMIT": "0", "CODE_LIMIT": "0"}
PASSWORD = "correct horse"
QUESTIONS: dict[str, dict[str, Any]] = {
    "login": {"password": "wrong horse"},
    "signup": {"password": PASSWORD},
    "verify-email": {},
    "forgot-password": {},
    "login-email": {},
}
LEAST = 0.01
KINDS, STRANGER = ("known", "provider", "disabled", "limited"), "stranger"


def compare(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p of a Mann-Whitney test, by the normal approximation, which holds from some twenty samples on."""
    count, other = len(first), len(second)
    values = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks = sum(rank for rank, (_, group) in enumerate(values, 1) if group == 0)
    u = ranks - count * (count + 1) / 2
    deviation = math.sqrt(count * other * (count + other + 1) / 12)
    return math.erfc(abs(u - count * other / 2) / deviation / math.sqrt(2))


async def prepare(services: Services, key: str, *, samples: int) -> None:
    """Makes accounts of each kind. Every address was mailed before in this hour, and the limited ones have had all mails."""
    project = await services.base.projects.by_api_key(key)
    hashed, secret = await services.accounts.passwords.hash(PASSWORD, project.id), services.flows.key
    proven = AccountState(email_verified=True)

    async def count(email: str) -> bool:
        return await count_mail(services.limits, project, name_account(secret, project.id, email)) is not None

    for number in range(samples):
        for kind in KINDS:
            email = _address(kind, number)
            state = replace(proven, disabled=True) if kind == "disabled" else proven
            await project.users.insert(NewUser(email, email if kind == "provider" else hashed, {}, state=state))
            while await count(email) and kind == "limited":
                pass
        for path in QUESTIONS:
            await count(_address(path, number))


def _address(kind: str, number: int) -> str:
    return f"{kind}{number}@a.example"


async def measure(http: httpx2.AsyncClient, key: str, *, samples: int) -> dict[str, dict[str, float]]:
    """Question → kind → p. A stranger is asked about once, for whoever signs up is one no longer."""
    found = {}
    for path, more in QUESTIONS.items():
        times: dict[str, list[float]] = {kind: [] for kind in (*KINDS, STRANGER)}
        for number in range(samples):
            # None of them comes always first.
            for at in range(len(times)):
                kind = list(times)[(at + number) % len(times)]
                email = _address(kind if kind != STRANGER else path, number)
                times[kind].append(await _time(http, key, path, {"email": email, **more}))
        found[path] = {kind: compare(times[kind], times[STRANGER]) for kind in KINDS}
    return found


async def _time(http: httpx2.AsyncClient, key: str, path: str, body: dict[str, Any]) -> float:
    started = time.perf_counter()
    await http.post(f"/auth-collections/{path}", json=body, headers=headers(key))
    return time.perf_counter() - started


def main(
    samples: Annotated[int, typer.Option(help="Addresses of each kind.", min=20)] = 200,
    cost: Annotated[int, typer.Option(help="bcrypt's; the less it is, the more is seen.", min=4, max=14)] = 8,
) -> None:
    """Compare the times of answers about addresses with and without an account."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found = asyncio.run(_run(samples, cost))
    for path, kinds in found.items():
        typer.echo(f"{path}: " + ", ".join(f"{kind} p = {p:.3f}" for kind, p in kinds.items()))
    all_ = [p for kinds in found.values() for p in kinds.values()]
    if min(all_) <= LEAST / len(all_):
        raise typer.Exit(1)


async def _run(samples: int, cost: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        _, key = await make_key(uri, PREFIX, **SETTINGS)
        async with running(uri, PREFIX, bcrypt_cost=cost) as (app, http):
            await prepare(app.services, key, samples=samples)
            return await measure(http, key, samples=samples)
