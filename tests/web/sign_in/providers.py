"""A project with several providers, and the browser of a person who signs in at one of them."""

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from service.services import Services
from tests.conftest import Api
from tests.web.sign_in.site import WITHOUT_USES, Ending, ending


@dataclass(frozen=True)
class Providers:
    """`begin`, `answer` and `follow` are the three legs of a sign-in, `sign_in` all of them."""

    api: Api
    provider: Provider
    services: Services

    async def set(self, name: str, preset: str | None = None, **settings: str) -> None:
        usual = {"CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET}
        await self.services.base.providers.set(self.api.project.id, name, preset, usual | settings)

    async def openid(self, name: str, issuer: str = "standard", **settings: str) -> None:
        """A provider of the preset for any OpenID issuer."""
        await self.set(name, "oidc", ISSUER=self.provider.issuer(issuer), **settings)

    async def oauth(self, name: str, **settings: str) -> None:
        """A plain OAuth 2.0 provider, which gives no ID token."""
        base = self.provider.issuer()
        urls = {
            "AUTHORIZE_URL": f"{base}/authorize",
            "TOKEN_URL": f"{base}/token",
            "USERINFO_URL": f"{base}/userinfo",
        }
        await self.set(name, "oauth2", SCOPES="email", **urls, **settings)

    async def login_idp(self, name: str | None, **parameters: str) -> httpx2.Response:
        named = {"provider": name} if name else {}
        return await self.api.request("GET", "/auth-collections/login-idp", params=named | parameters)

    async def begin(self, name: str | None, **parameters: str) -> str:
        response = await self.login_idp(name, **parameters)
        assert response.status_code == 200, response.text
        return str(response.json()["url"])

    async def answer(self, url: str, account: str) -> str:
        """The URL to which the provider sends the browser back."""
        return await asyncio.to_thread(self.provider.answer, url, account)

    async def follow(self, url: str) -> httpx2.Response:
        return await self.api.http.get(url)

    async def sign_in(self, name: str | None, account: str, **parameters: str) -> Ending:
        return ending(await self.follow(await self.answer(await self.begin(name, **parameters), account)))

    def users(self) -> list[dict[str, Any]]:
        """The users as they are stored; of identities whose they are, without what their last use said."""
        return list(self.api.database["users"].find({}, WITHOUT_USES).sort("created_at", 1))


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))
