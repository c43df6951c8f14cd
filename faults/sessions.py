"""Tabs that refresh at once, and thieves who come after them; and what a refresh costs.

`python -m faults sessions [--sessions 1000] [--tabs 20]`. A session is lost where a tab is refused or is given another token
than the rest; a theft is missed where the token before the present one, whose successor was used, is answered. Fails unless
there are none. Both over HTTP, on two workers; the costs are those of one process without sockets.
"""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import httpx2
import orjson
import typer
from pydantic import SecretStr

from faults.commands import KEY
from faults.processes import headers, make_key, running_service
from service.app import Application, create_app
from service.domain.sessions.sessions import PASSWORD, Client
from service.embedded.mongod import embedded_mongodb
from service.observe.logging import configure_logging
from service.settings import Settings
from service.storage.account_states import NEW_ACCOUNT

PREFIX = "f_sessions_"
SETTINGS = {"ACCESS_TOKEN_LIFETIME": "900", "REFRESH_GRACE": "0", "LOGIN_LIMIT": "0", "AUTH_LIMIT": "0"}
SETTINGS |= {"REFRESH_LIMIT": "0", "TIER": "enterprise"}
ACCOUNT = {"email": "ann@example.com", "password": "correct horse"}
PROFILE, REFRESH = "/auth-collections/user", "/auth-collections/refresh"
# A worker writes down within a second what was used.
SETTLE_SECONDS = 3.0
AT_ONCE = 4
TRIES, LATER_SECONDS = 30, 0.2


@dataclass
class Report:
    """The outcome of the sessions."""

    sessions: int = 0
    refreshes: int = 0
    lost: int = 0
    missed: int = 0
    # Codes of answers that say to come back later, which a tab does.
    later: Counter[str] = field(default_factory=Counter)

    async def ask(self, client: httpx2.AsyncClient, method: str, path: str, **sent: Any) -> httpx2.Response:
        """The answer, asked for again where the service was busy."""
        for _ in range(TRIES):
            answer = await client.request(method, path, **sent)
            if answer.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
                break
            self.later[answer.json()["code"]] += 1
            await asyncio.sleep(LATER_SECONDS)
        return answer


async def storm(
    client: httpx2.AsyncClient, key: str, *, sessions: int, tabs: int, settle: Callable[[], Awaitable[object]]
) -> Report:
    """Opens so many sessions of one user, who is there; refreshes each in all its tabs at once; then steals each.

    `settle` returns when it is written down which tokens were used.
    """
    report = Report(sessions)
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> tuple[str, str]:
        async with places:
            return await _refresh_in_tabs(client, key, tabs, report)

    pairs = await asyncio.gather(*(one() for _ in range(sessions)))
    await settle()

    async def steal(parent: str, access: str) -> None:
        async with places:
            stolen = await report.ask(client, "POST", REFRESH, json={"refresh_token": parent})
            used = await report.ask(client, "GET", PROFILE, headers=_bearer(access))
            report.missed += (stolen.status_code, used.status_code) != (401, 401)

    await asyncio.gather(*(steal(*pair) for pair in pairs))
    return report


async def _refresh_in_tabs(client: httpx2.AsyncClient, key: str, tabs: int, report: Report) -> tuple[str, str]:
    """The refresh token that was used, and the access token that came of it and was used, too."""
    signed_in = await report.ask(client, "POST", "/auth-collections/login", json=ACCOUNT, headers=headers(key))
    parent: str = signed_in.json()["refresh_token"]
    sent = {"refresh_token": parent}
    answers = await asyncio.gather(*(report.ask(client, "POST", REFRESH, json=sent) for _ in range(tabs)))
    report.refreshes += len(answers)
    tokens = {answer.json().get("refresh_token") for answer in answers}
    access = answers[0].json().get("access_token", "none")
    used = await report.ask(client, "GET", PROFILE, headers=_bearer(access))
    good = len(tokens) == 1 and {answer.status_code for answer in [*answers, used]} == {200}
    report.lost += not good
    return parent, access


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@dataclass(frozen=True)
class Cost:
    """Seconds of this process's processor time for one request, each the median of some rounds."""

    profile: float
    refresh: float

    @property
    def ratio(self) -> float:
        return self.refresh / self.profile


async def measure_cost(app: Application, key: str, *, requests: int, rounds: int) -> Cost:
    """The cost of refreshes, each with the refresh token of the one before it, and of profiles in between."""
    project = await app.services.base.projects.by_api_key(key)
    user = await project.users.find_by_email(ACCOUNT["email"])
    if user is None:
        raise RuntimeError("Nobody signed up")
    client = Client("", "")
    grant = await app.services.sessions.open(project, user.id, user.version, client, state=NEW_ACCOUNT, amr=PASSWORD)
    access, refresh = grant.access_token, grant.refresh_token
    profiles, refreshes = list[float](), list[float]()
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(requests):
            await _call(app, "GET", PROFILE, (b"authorization", b"Bearer " + access.encode()))
        profiles.append((time.process_time() - started) / requests)
        started = time.process_time()
        for _ in range(requests):
            body = orjson.dumps({"refresh_token": refresh})
            answer = await _call(app, "POST", REFRESH, (b"content-type", b"application/json"), body)
            refresh = orjson.loads(answer)["refresh_token"]
        refreshes.append((time.process_time() - started) / requests)
    return Cost(median(profiles), median(refreshes))


async def _call(app: Application, method: str, path: str, header: tuple[bytes, bytes], body: bytes = b"") -> bytes:
    """The body of the answer. Raises RuntimeError for whatever is not answered 200."""
    answer = bytearray()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message.get("status", 200) != httpx2.codes.OK:
            raise RuntimeError(f"{path}: {message}")
        answer.extend(message.get("body", b""))

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [header]}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http", "root_path": ""}
    await app({**scope, "raw_path": path.encode(), "http_version": "1.1", "asgi": {"version": "3.0"}}, receive, send)
    return bytes(answer)


def main(
    sessions: Annotated[int, typer.Option(help="How many sessions.", min=1)] = 1_000,
    tabs: Annotated[int, typer.Option(help="How many tabs of each refresh at once.", min=1)] = 20,
) -> None:
    """Refresh in many tabs at once, steal each session's token, and measure what a refresh costs."""
    report, cost = asyncio.run(_run(sessions, tabs))
    typer.echo(
        f"{report.sessions} sessions, {report.refreshes} refreshes: {report.lost} lost; {report.missed} thefts missed; "
        f"{report.later.total()} answers to come back later {dict(report.later)}"
    )
    millis = f"{cost.refresh * 1000:.2f} ms against {cost.profile * 1000:.2f} ms"
    typer.echo(f"processor time of a refresh against a profile's: {cost.ratio:.2f} ({millis})")
    if report.lost or report.missed:
        raise typer.Exit(1)


async def _run(sessions: int, tabs: int) -> tuple[Report, Cost]:
    with tempfile.TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        _, key = await make_key(uri, PREFIX, **SETTINGS)
        settings = {"DATABASE_PREFIX": PREFIX, "LOG_LEVEL": "error", "BCRYPT_COST": "4"}
        with running_service(uri, Path(folder), workers=2, **settings) as service:
            async with httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
                await client.post("/auth-collections/signup", json=ACCOUNT, headers=headers(key))
                wait = partial(asyncio.sleep, SETTLE_SECONDS)
                report = await storm(client, key, sessions=sessions, tabs=tabs, settle=wait)
        # Lines for people would cost more than what is measured.
        configure_logging("error", "json")
        app = create_app(Settings(mongodb_uri=SecretStr(uri), database_prefix=PREFIX, secret_key=SecretStr(KEY)))
        async with app.router.lifespan_context(app):
            cost = await measure_cost(app, key, requests=500, rounds=7)
        return report, cost
