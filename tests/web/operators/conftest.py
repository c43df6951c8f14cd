"""Operators as browsers and pipelines: an owner at the console, and others with any roles."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from service.domain.operators.invitations import make_bootstrap
from service.services import Services
from service.storage.operator_records import OperatorDatabase
from tests.conftest import BASE_URL

ORIGIN = "https://service.test"
OF_PAGE = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
PASSWORD = "a long pass phrase"


@dataclass
class Console:
    """A browser with its cookies, or a program with a token."""

    http: httpx2.AsyncClient
    headers: dict[str, str] = field(default_factory=lambda: dict(OF_PAGE))

    async def request(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.http.request(method, path, headers=self.headers | kwargs.pop("headers", {}), **kwargs)

    async def get(self, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.request("GET", path, **kwargs)

    async def post(self, path: str, body: Any = None, **kwargs: Any) -> httpx2.Response:
        return await self.request("POST", path, json=body, **kwargs)

    async def delete(self, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.request("DELETE", path, **kwargs)

    async def sign_in(self, email: str = "owner@example.com", password: str = PASSWORD) -> httpx2.Response:
        return await self.post("/admin/v1/session", {"email": email, "password": password})

    async def confirm(self, password: str = PASSWORD, **proof: str) -> httpx2.Response:
        return await self.post("/admin/v1/session/confirm", {"password": password, **proof})

    async def token(self, *scopes: str, days: int = 90) -> str:
        made = await self.post("/admin/v1/me/tokens", {"name": "pipeline", "scopes": list(scopes), "days": days})
        assert made.status_code == 201, made.text
        return str(made.json()["token"])


def token_of(link: str) -> str:
    return link.rpartition("/")[2]


Browse = Callable[[], Console]


@pytest.fixture
async def browse(running_app: Starlette, emptied: None, services: Services) -> AsyncIterator[Browse]:
    """Makes browsers, which are closed after the test. Nothing of operators is left then."""
    # The test before removed the deployment's id, which this process remembers and another one would make again.
    database, known = OperatorDatabase(services.base.databases), await services.operators.deployment_id()
    await database.find_deployment_id(known)
    clients: list[httpx2.AsyncClient] = []

    def make() -> Console:
        transport = httpx2.ASGITransport(app=running_app)
        clients.append(httpx2.AsyncClient(transport=transport, base_url=ORIGIN))
        return Console(clients[-1])

    assert BASE_URL.endswith(ORIGIN.partition("//")[2])
    yield make
    for client in clients:
        await client.aclose()


@pytest.fixture
async def owner(browse: Browse, services: Services) -> Console:
    """The first owner, signed in and confirmed."""
    invitation = await make_bootstrap(OperatorDatabase(services.base.databases), f"{ORIGIN}/console/")
    assert invitation is not None
    console = browse()
    body = {"token": token_of(invitation.link or ""), "name": "Olga", "password": PASSWORD}
    answer = await console.post("/admin/v1/invitations/accept", body | {"email": "owner@example.com"})
    assert answer.status_code == 201, answer.text
    return console


Join = Callable[..., Awaitable[Console]]


@pytest.fixture
def join(owner: Console, browse: Browse) -> Join:
    """Makes operators with roles, signed in and confirmed."""

    async def make(email: str, **roles: str) -> Console:
        given = {project.replace("every", "*"): role for project, role in roles.items()}
        invited = await owner.post("/admin/v1/operators", {"email": email, "roles": given})
        assert invited.status_code == 201, invited.text
        token = token_of(invited.json()["invitation"]["link"])
        console = browse()
        body = {"token": token, "name": email.partition("@")[0], "password": PASSWORD}
        answer = await console.post("/admin/v1/invitations/accept", body)
        assert answer.status_code == 201, answer.text
        return console

    return make
