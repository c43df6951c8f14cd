"""Races for proofs that work once, by several requests at the same time, at two processes of the service.

`python -m faults once [--kind svc-code …] [--races 10000] [--at-once 4]`. A code, the nonce of an ID token, or a second
factor is won twice if two of the requests that send it get a token. Fails unless each is won exactly once.
"""

import asyncio
import logging
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import httpx2
import structlog
import typer

from faults.factors import Holders
from faults.in_process import asking, running
from faults.mailed import Mailbox
from faults.processes import headers, make_key, running_service
from faults.provider import CLIENT_ID, Account, Provider, running_provider
from faults.provider.accounts import person
from faults.provider.state import Grant
from faults.restarts import UNLIMITED
from service.app import Application
from service.domain.projects.lookup import CACHE_SECONDS
from service.domain.sessions.sessions import PROVIDER
from service.domain.sign_in.native import begin_native
from service.embedded.mongod import embedded_mongodb
from service.errors import Unavailable
from service.storage.users import FIRST_VERSION

PREFIX = "f_once_"
# That of RFC 7636, appendix B.
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
ACCOUNT = {"email": "ann@example.com", "password": "correct horse"}
RACES_AT_ONCE = 8
ATTEMPTS = 5
PROCESSES = 2
# A worker of a busy machine takes its time.
TIMEOUT_SECONDS = 60

# Makes what works once, and says how it is asked for: the path, and the body of all, or of each of them.
Asked = tuple[str, dict[str, Any] | list[dict[str, Any]]]
Make = Callable[[], Awaitable[Asked]]


@dataclass
class Report:
    """The outcome of the races.

    A race without a winner, in which MongoDB was too slow for a request, is `undecided`.
    """

    races: int = 0
    lost: int = 0
    twice: int = 0
    undecided: int = 0
    statuses: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        fates = f"{self.twice} won twice, {self.lost} by nobody, {self.undecided} undecided"
        return f"{self.races} races: {fates}; answers {dict(self.statuses)}"


async def race(clients: Sequence[httpx2.AsyncClient], key: str, make: Make, *, races: int, at_once: int) -> Report:
    """So many races of so many requests each, which the clients send in turns."""
    report, places = Report(races), asyncio.Semaphore(RACES_AT_ONCE)

    async def one() -> None:
        async with places:
            path, body = await _patiently(make)
            senders = zip(
                islice(cycle(clients), at_once), cycle(body if isinstance(body, list) else [body]), strict=False
            )
            answers = await asyncio.gather(
                *(http.post(path, json=sent, headers=headers(key)) for http, sent in senders)
            )
        codes = [answer.status_code for answer in answers]
        won, cut = codes.count(httpx2.codes.OK), httpx2.codes.SERVICE_UNAVAILABLE in codes
        report.statuses.update(codes)
        report.twice += won > 1
        report.lost += won == 0 and not cut
        report.undecided += won == 0 and cut

    await asyncio.gather(*(one() for _ in range(races)))
    return report


async def _patiently(make: Make) -> Asked:
    """On a machine that is busy with other things MongoDB may take too long now and then."""
    for _ in range(ATTEMPTS - 1):
        with suppress(Unavailable):
            return await make()
    return await make()


async def make_codes(app: Application, key: str) -> Make:
    """Codes of one user, who signs up."""
    project = await app.services.base.projects.by_api_key(key)
    async with asking(app) as http:
        made = await http.post("/auth-collections/signup", json=ACCOUNT, headers=headers(key))
    user_id = made.json()["user"]["id"]

    async def make() -> tuple[str, dict[str, Any]]:
        issue = app.services.sessions.exchange_codes.issue
        code = await issue(project, user_id, FIRST_VERSION, amr=PROVIDER, challenge=CHALLENGE)
        return "/auth-collections/token", {"code": code, "code_verifier": VERIFIER}

    return make


async def make_tokens(app: Application, key: str, provider: Provider) -> Make:
    """ID tokens of one person, each with the nonce of a flow of its own."""
    project = await app.services.base.projects.by_api_key(key)
    settings = {"CLIENT_ID": CLIENT_ID, "ISSUER": provider.issuer()}
    await app.services.base.providers.set(project.id, "race", "oidc", settings)
    project = await app.services.base.projects.by_api_key(key)
    account = Account(person("race"), in_id_token=True)

    async def make() -> tuple[str, dict[str, Any]]:
        start = await begin_native(app.services.sign_in, project, "race")
        token = provider.id_token(Grant(account, "standard", {"client_id": CLIENT_ID, "nonce": start.nonce}))
        return "/auth-collections/login-id-token", {"flow_id": start.flow_id, "id_token": token}

    return make


class Kind(StrEnum):
    """The proofs that are raced for."""

    SVC_CODE = "svc-code"
    NONCE = "nonce"
    MAILED_CODE = "mailed-code"
    MAILED_LINK = "mailed-link"
    TOTP = "totp"
    RECOVERY_CODE = "recovery-code"


def main(
    races: Annotated[int, typer.Option(help="How many races of each kind.", min=1)] = 10_000,
    at_once: Annotated[int, typer.Option(help="How many ask for the same at once.", min=2)] = 4,
    kind: Annotated[list[Kind] | None, typer.Option(help="What for; everything by default.")] = None,
) -> None:
    """Race for codes of sign-ins, nonces of ID tokens, codes and links of mails, and for second factors."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    failed = asyncio.run(_run(kind or list(Kind), races, at_once))
    if failed:
        raise typer.Exit(1)


async def _run(kinds: Sequence[Kind], races: int, at_once: int) -> bool:
    """Returns True if a proof was won twice, or by no request."""
    failed = False
    async with _served() as (app, clients, key):
        with running_provider() as provider:
            for kind in kinds:
                make = await _maker(kind, app, clients[0], key, provider, at_once)
                started = time.monotonic()
                report = await race(clients, key, make, races=races, at_once=at_once)
                seconds = time.monotonic() - started
                typer.echo(f"{kind.value}: {report}; {len(clients)} processes, {seconds:.0f} s")
                failed = failed or bool(report.twice or report.lost)
    return failed


async def _maker(
    kind: Kind, app: Application, http: httpx2.AsyncClient, key: str, provider: Provider, at_once: int
) -> Make:
    match kind:
        case Kind.SVC_CODE:
            return await make_codes(app, key)
        case Kind.NONCE:
            make = await make_tokens(app, key, provider)
            # The processes remember the project as it was.
            await asyncio.sleep(CACHE_SECONDS + 1)
            return make
        case Kind.MAILED_CODE:
            return Mailbox(app, http, key).make_code
        case Kind.MAILED_LINK:
            return Mailbox(app, http, key).make_link
        case Kind.TOTP:
            return Holders(app, await app.services.base.projects.by_api_key(key), at_once).make_totp
        case Kind.RECOVERY_CODE:
            return Holders(app, await app.services.base.projects.by_api_key(key), at_once).make_recovery_code


@asynccontextmanager
async def _served() -> AsyncIterator[tuple[Application, list[httpx2.AsyncClient], str]]:
    """An application to make things with, and two processes that are asked, each by a client of its own."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as processes:
        folder = Path(name)
        uri = processes.enter_context(embedded_mongodb(folder / "data"))
        _, key = await make_key(uri, PREFIX, **UNLIMITED, CODE_LIMIT="0", EMAIL_VERIFICATION="optional")
        served = [
            processes.enter_context(running_service(uri, folder, DATABASE_PREFIX=PREFIX, LOG_LEVEL="error"))
            for _ in range(PROCESSES)
        ]
        async with running(uri, PREFIX) as (app, _), AsyncExitStack() as opened:
            clients = [httpx2.AsyncClient(base_url=each.url, timeout=TIMEOUT_SECONDS) for each in served]
            yield app, [await opened.enter_async_context(each) for each in clients], key
