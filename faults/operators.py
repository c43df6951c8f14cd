"""Operators' races at two processes of the service, and kills of a process under an operator's writes.

`python -m faults operators [--races 50] [--demotions 200] [--kills 100]`. One link makes one owner, one recovery code opens
one session, ten of a hundred codes are judged, one of two owners stays. After the kills every change has its audit entry,
and every entry its change or the status `begun`. The tests of `tests/web/operators` hold the small form of the races.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx2
import typer
from pymongo import MongoClient
from pymongo.database import Database

from faults.in_process import running
from faults.operator_kills import FAULTS, kill_writers
from faults.processes import running_service
from service.app import Application
from service.domain.accounts.factor_codes import code_at
from service.domain.operators.invitations import make_bootstrap
from service.embedded.mongod import embedded_mongodb
from service.storage.operator_records import OperatorDatabase

PREFIX = "f_operators_"
PASSWORD, FIRST, SECOND = "a long pass phrase", "first@example.com", "second@example.com"
SESSION, ACCEPT, OPERATORS = "/admin/v1/session", "/admin/v1/invitations/accept", "/admin/v1/operators"
PROCESSES, AT_ONCE, CODES, JUDGED = 2, 8, 100, 10
# Between two races these are as they were before the first.
OF_OPERATORS = ("operators", "operator_sessions", "operator_invitations", "counters")
TIMEOUT_SECONDS = 60
# Runs one race, and returns the statuses of its answers.
Race = Callable[[], Awaitable[Counter[int]]]


def main(
    races: Annotated[int, typer.Option(help="How many races of links, codes and recovery codes each.", min=0)] = 50,
    demotions: Annotated[int, typer.Option(help="How often two owners demote each other.", min=0)] = 200,
    kills: Annotated[int, typer.Option(help="How often the process is killed.", min=0)] = 100,
) -> None:
    """Race for links, codes and the last owner's role, and kill the service under an operator's writes."""
    failed = False
    with TemporaryDirectory() as name, embedded_mongodb(Path(name) / "data") as uri:
        if races or demotions:
            failed = asyncio.run(_race_all(uri, Path(name), races, demotions))
        if kills:
            outcome = kill_writers(uri, Path(name), kills)
            typer.echo(f"kills: {dict(outcome)}")
            failed = failed or any(outcome[fault] for fault in FAULTS)
    raise typer.Exit(int(failed))


@dataclass(frozen=True)
class Stage:
    """The service, its operators as they are stored, and one client for each of its processes."""

    app: Application
    system: Database[dict[str, Any]]
    clients: list[httpx2.AsyncClient]

    def empty(self) -> None:
        for name in OF_OPERATORS:
            self.system[name].delete_many({})
        for client in self.clients:
            client.cookies.clear()

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Afterwards the operators are as they are now."""
        kept = {name: list(self.system[name].find()) for name in OF_OPERATORS}
        yield
        self.empty()
        for name, records in kept.items():
            if records:
                self.system[name].insert_many(records)

    async def begin(self) -> str:
        """The token of a new link for the first owner."""
        made = await make_bootstrap(OperatorDatabase(self.app.services.base.databases), "http://x/")
        assert made is not None
        return (made.link or "").rpartition("/")[2]

    async def make_owner(self) -> None:
        """The first client is signed in as the only operator."""
        self.empty()
        body = {"token": await self.begin(), "name": "Olga", "password": PASSWORD, "email": FIRST}
        (await self.clients[0].post(ACCEPT, json=body)).raise_for_status()

    def in_turns(self, number: int) -> list[httpx2.AsyncClient]:
        return [self.clients[each % len(self.clients)] for each in range(number)]


async def race_links(stage: Stage) -> Race:
    """Many accept one link of the first owner."""

    async def race() -> Counter[int]:
        stage.empty()
        body = {"token": await stage.begin(), "name": "Olga", "password": PASSWORD}
        sent = (
            client.post(ACCEPT, json=body | {"email": f"o{number}@example.com"})
            for number, client in enumerate(stage.in_turns(AT_ONCE))
        )
        found = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert stage.system["operators"].count_documents({}) == found[201]
        return found

    return race


async def race_recovery_codes(stage: Stage) -> Race:
    """Many send one recovery code."""
    code = (await _begin_factors(stage))["recovery_codes"][0]
    return await _race_factor(stage, [{"recovery_code": code}] * AT_ONCE)


async def race_codes(stage: Stage) -> Race:
    """A hundred guess the second factor of one operator."""
    await _begin_factors(stage)
    return await _race_factor(stage, [{"totp": f"{number:06}"} for number in range(CODES)])


async def _begin_factors(stage: Stage) -> dict[str, Any]:
    """The owner gets a second factor."""
    await stage.make_owner()
    owner = stage.clients[0]
    secret = (await owner.post("/admin/v1/me/totp")).json()["secret"]
    done = await owner.post("/admin/v1/me/totp/confirm", json={"code": code_at(secret, time.time() - 30)})
    found: dict[str, Any] = done.raise_for_status().json()
    return found


async def _race_factor(stage: Stage, bodies: list[dict[str, str]]) -> Race:
    """Each client has shown the password, and sends its part of the bodies."""
    cookies = list[str]()
    for client in stage.clients:
        client.cookies.clear()
        (await client.post(SESSION, json={"email": FIRST, "password": PASSWORD})).raise_for_status()
        cookies.append("; ".join(f"{name}={value}" for name, value in client.cookies.items()))

    async def race() -> Counter[int]:
        with stage.as_before():
            for client in stage.clients:
                client.cookies.clear()
            sent = (
                client.post(f"{SESSION}/factor", json=body, headers={"cookie": cookies[number % len(cookies)]})
                for number, (client, body) in enumerate(zip(stage.in_turns(len(bodies)), bodies, strict=True))
            )
            return Counter(answer.status_code for answer in await asyncio.gather(*sent))

    return race


async def race_demotions(stage: Stage) -> Race:
    """Each of two owners takes the other's role."""
    await stage.make_owner()
    one, other = stage.clients
    invited = await one.post(OPERATORS, json={"email": SECOND, "roles": {"*": "owner"}})
    token = invited.raise_for_status().json()["invitation"]["link"].rpartition("/")[2]
    (await other.post(ACCEPT, json={"token": token, "name": "Otto", "password": PASSWORD})).raise_for_status()
    ids = {each["email"]: each["_id"] for each in stage.system["operators"].find()}
    jars = [dict(client.cookies.items()) for client in stage.clients]
    change = {"roles": {"*": "viewer"}}

    async def race() -> Counter[int]:
        with stage.as_before():
            for client, jar in zip(stage.clients, jars, strict=True):
                client.cookies.clear()
                client.cookies.update(jar)
            answers = await asyncio.gather(
                one.patch(f"{OPERATORS}/{ids[SECOND]}", json=change),
                other.patch(f"{OPERATORS}/{ids[FIRST]}", json=change),
            )
            assert stage.system["operators"].count_documents({"roles.*": "owner"}) == 1
            return Counter(answer.status_code for answer in answers)

    return race


# Each race by its name, with a status and the number of answers that must have it.
RACES: dict[str, tuple[Callable[[Stage], Awaitable[Race]], int, int]] = {
    "links": (race_links, 201, 1),
    "recovery codes": (race_recovery_codes, 200, 1),
    "codes": (race_codes, 401, JUDGED),
    "demotions": (race_demotions, 200, 1),
}


async def _race_all(uri: str, folder: Path, races: int, demotions: int) -> bool:
    """Returns True if a race had another outcome than the expected one."""
    failed = False
    async with _served(uri, folder) as stage:
        for name, (prepare, status, expected) in RACES.items():
            times = demotions if name == "demotions" else races
            race, found, odd = await prepare(stage), Counter[int](), 0
            for _ in range(times):
                statuses = await race()
                found += statuses
                odd += statuses[status] != expected
            typer.echo(f"{name}: {times} races, {odd} with other than {expected} x {status}; answers {dict(found)}")
            failed = failed or odd > 0
    return failed


@asynccontextmanager
async def _served(uri: str, folder: Path) -> AsyncIterator[Stage]:
    async with running(uri, PREFIX) as (app, _), AsyncExitStack() as opened:
        with MongoClient[dict[str, Any]](uri) as mongo, ExitStack() as processes:
            urls = [
                processes.enter_context(running_service(uri, folder, DATABASE_PREFIX=PREFIX, LOG_LEVEL="error")).url
                for _ in range(PROCESSES)
            ]
            clients = [await opened.enter_async_context(browse(url)) for url in urls]
            yield Stage(app, mongo[f"{PREFIX}system"], clients)


def browse(url: str) -> httpx2.AsyncClient:
    """A browser's tab of the console."""
    headers = {"origin": url, "sec-fetch-site": "same-origin"}
    return httpx2.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS)
