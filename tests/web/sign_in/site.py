"""A project whose users sign in at the test provider, and the browser of one of them without a browser."""

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from faults.provider import ACCOUNTS, Provider
from tests.conftest import Api
from tests.threats.conftest import INTERNALS

CALLBACK = "http://service.test/callback"
COMPLETE = "https://app.example.com/done?keep=1"
WITHOUT_USES = {
    "last_sign_in_at": 0,
    **{f"identities.{name}": 0 for name in ("provider", "email", "created_at", "last_used_at")},
}
TOKEN, ERROR = "svc-super-token", "svc-error"


@dataclass(frozen=True)
class Ending:
    """The URL to which the service sent the browser in the end."""

    page: str
    query: dict[str, str]

    @property
    def token(self) -> str:
        return self.query[TOKEN]

    @property
    def error(self) -> str | None:
        return self.query.get(ERROR)


def ending(response: httpx2.Response) -> Ending:
    """Reads the redirect, which must be as specified whatever happened."""
    assert response.status_code == 302, response.text
    assert response.content == b""
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert not INTERNALS.search(str(response.headers))
    parts = urlsplit(response.headers["location"])
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    assert len(query.keys() & {TOKEN, ERROR}) == 1
    return Ending(parts._replace(query="").geturl(), query)


@dataclass(frozen=True)
class Site:
    """`begin`, `answer` and `finish` are the three legs of a sign-in, `sign_in` all of them."""

    api: Api
    provider: Provider

    async def login_idp(self, **kwargs: Any) -> httpx2.Response:
        return await self.api.request("GET", "/auth-collections/login-idp", **kwargs)

    async def begin(self, client_state: str | None = None) -> str:
        response = await self.login_idp(params={"client_state": client_state} if client_state else None)
        assert response.status_code == 200, response.text
        return str(response.json()["url"])

    async def answer(self, url: str, account: str) -> dict[str, str]:
        """The parameters with which the provider sends the browser back."""
        location = await asyncio.to_thread(self.provider.answer, url, account)
        assert location.startswith(CALLBACK)
        return dict(parse_qsl(urlsplit(location).query))

    async def finish(
        self, parameters: Any, *, prefix: str = "/auth-collections", headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        path = f"{prefix}/auth-idp-redirect/{self.api.project.id}"
        return await self.api.http.get(path, params=parameters, headers=headers)

    async def sign_in(self, account: str, client_state: str | None = None) -> Ending:
        return ending(await self.finish(await self.answer(await self.begin(client_state), account)))

    async def user(self, token: str) -> dict[str, Any]:
        response = await self.api.as_user(token, "GET", "/auth-collections/user")
        assert response.status_code == 200, response.text
        return dict(response.json())

    def provider_subject(self, account: str) -> str:
        return str(ACCOUNTS[account].claims["sub"])

    def users(self) -> list[dict[str, Any]]:
        """The users as they are stored; of identities whose they are, without what their last use said."""
        return list(self.api.database["users"].find({}, WITHOUT_USES))
