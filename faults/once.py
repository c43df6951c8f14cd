"""What works once, asked for by several at the same time.

`python -m faults once [--races 10000] [--at-once 4]`. A code, or the nonce of an ID token, is won twice where two of
those who send it get a token. Fails unless each is won by exactly one.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx2
import structlog
import typer
from pydantic import SecretStr

from faults.commands import KEY
from faults.mailed import Mailbox
from faults.processes import headers, make_key
from faults.provider import CLIENT_ID, Account, Provider, running_provider
from faults.provider.accounts import person
from faults.provider.state import Grant
from faults.restarts import UNLIMITED
from service.app import Application, create_app
from service.domain.sessions.sessions import PROVIDER
from service.embedded.mongod import embedded_mongodb
from service.settings import Settings
from service.storage.users import FIRST_VERSION

PREFIX = "f_once_"
# That of RFC 7636, appendix B.
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
ACCOUNT = {"email": "ann@example.com", "password": "correct horse"}
RACES_AT_ONCE = 8

# Makes what works once, and says how it is asked for: path and body.
Make = Callable[[], Awaitable[tuple[str, dict[str, Any]]]]


@dataclass
class Report:
    """What became of the races."""

    races: int = 0
    lost: int = 0
    twice: int = 0

    def __str__(self) -> str:
        return f"{self.races} races: {self.twice} won twice, {self.lost} by nobody"


async def race(http: httpx2.AsyncClient, key: str, make: Make, *, races: int, at_once: int) -> Report:
    """So many races of so many requests each."""
    report, places = Report(races), asyncio.Semaphore(RACES_AT_ONCE)

    async def one() -> None:
        async with places:
            path, body = await make()
            answers = await asyncio.gather(*(http.post(path, json=body, headers=headers(key)) for _ in range(at_once)))
        won = [answer.status_code for answer in answers].count(httpx2.codes.OK)
        report.twice += won > 1
        report.lost += won == 0

    await asyncio.gather(*(one() for _ in range(races)))
    return report


async def make_codes(app: Application, key: str) -> Make:
    """Codes of one user, who signs up."""
    project = await app.services.projects.by_api_key(key)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as http:
        made = await http.post("/auth-collections/signup", json=ACCOUNT, headers=headers(key))
    user_id = made.json()["user"]["id"]

    async def make() -> tuple[str, dict[str, Any]]:
        issue = app.services.exchange_codes.issue
        code = await issue(project, user_id, FIRST_VERSION, amr=PROVIDER, challenge=CHALLENGE)
        return "/auth-collections/token", {"code": code, "code_verifier": VERIFIER}

    return make


async def make_tokens(app: Application, key: str, provider: Provider) -> Make:
    """ID tokens of one person, each with the nonce of a flow of its own."""
    project = await app.services.projects.by_api_key(key)
    settings = {"CLIENT_ID": CLIENT_ID, "ISSUER": provider.issuer()}
    await app.services.providers.set(project.id, "race", "oidc", settings)
    project = await app.services.projects.by_api_key(key)
    account = Account(person("race"), in_id_token=True)

    async def make() -> tuple[str, dict[str, Any]]:
        start = await app.services.native_sign_in.begin(project, "race")
        token = provider.id_token(Grant(account, "standard", {"client_id": CLIENT_ID, "nonce": start.nonce}))
        return "/auth-collections/login-id-token", {"flow_id": start.flow_id, "id_token": token}

    return make


def main(
    races: Annotated[int, typer.Option(help="How many races of each kind.", min=1)] = 10_000,
    at_once: Annotated[int, typer.Option(help="How many ask for the same at once.", min=2)] = 4,
) -> None:
    """Race for codes of sign-ins, for nonces of ID tokens, and for codes and links of mails."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    reports = asyncio.run(_run(races, at_once))
    for kind, report in reports.items():
        typer.echo(f"{kind}: {report}")
    if any(report.twice or report.lost for report in reports.values()):
        raise typer.Exit(1)


async def _run(races: int, at_once: int) -> dict[str, Report]:
    async with _served() as (app, http, key):
        codes = await race(http, key, await make_codes(app, key), races=races, at_once=at_once)
        with running_provider() as provider:
            make = await make_tokens(app, key, provider)
            nonces = await race(http, key, make, races=races, at_once=at_once)
        mailbox = Mailbox(app, http, key)
        mailed = await race(http, key, mailbox.make_code, races=races, at_once=at_once)
        links = await race(http, key, mailbox.make_link, races=races, at_once=at_once)
        return {"svc-code": codes, "nonce": nonces, "code of a mail": mailed, "link of a mail": links}


@asynccontextmanager
async def _served() -> AsyncIterator[tuple[Application, httpx2.AsyncClient, str]]:
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        _, key = await make_key(uri, PREFIX, **UNLIMITED, CODE_LIMIT="0", EMAIL_VERIFICATION="optional")
        settings = Settings(
            mongodb_uri=SecretStr(uri),
            database_prefix=PREFIX,
            secret_key=SecretStr(KEY),
            bcrypt_cost=4,
            log_level="error",
        )
        app = create_app(settings)
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://x") as http,
        ):
            yield app, http, key
