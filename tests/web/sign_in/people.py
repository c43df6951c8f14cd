"""A user with an account, who links further identities to it."""

from dataclasses import dataclass
from typing import Any

import httpx2

from faults.once import CHALLENGE, VERIFIER
from tests.web.sign_in.providers import Providers, query_of

IDENTITIES = "/auth-collections/user/identities"
CONFIRM = f"{IDENTITIES}/confirm"


@dataclass(frozen=True)
class Person:
    """`begin`, `bring` and `confirm` are the three legs of a link, `link` all of them."""

    providers: Providers
    token: str
    id: str
    email: str

    async def ask(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.providers.api.as_user(self.token, method, path, **kwargs)

    async def begin(self, provider: str, **more: str) -> httpx2.Response:
        return await self.ask("POST", IDENTITIES, json={"provider": provider, "code_challenge": CHALLENGE, **more})

    async def bring(self, provider: str, account: str, **more: str) -> dict[str, str]:
        """The parameters that the page gets in the end, when a person with that account follows the URL."""
        begun = await self.begin(provider, **more)
        assert begun.status_code == 200, begun.text
        answer = await self.providers.follow(await self.providers.answer(begun.json()["url"], account))
        assert (answer.status_code, answer.content) == (302, b"")
        assert "svc-super-token" not in answer.headers["location"]
        return query_of(answer.headers["location"])

    async def confirm(self, code: str, verifier: str = VERIFIER) -> httpx2.Response:
        return await self.ask("POST", CONFIRM, json={"code": code, "code_verifier": verifier})

    async def link(self, provider: str, account: str) -> httpx2.Response:
        return await self.confirm((await self.bring(provider, account))["svc-code"])

    async def identities(self) -> list[dict[str, Any]]:
        answer = await self.ask("GET", IDENTITIES)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["identities"])

    async def remove(self, identity_id: str) -> httpx2.Response:
        return await self.ask("DELETE", f"{IDENTITIES}/{identity_id}")


async def sign_up(providers: Providers, email: str = "ann@example.com") -> Person:
    made = (await providers.api.signup(email)).json()
    return Person(providers, made["access_token"], made["user"]["id"], email)


async def arrive(providers: Providers) -> Person:
    """An anonymous user."""
    made = (await providers.api.request("POST", "/auth-collections/signup-anonymous", json={"cart": ["a1"]})).json()
    return Person(providers, made["access_token"], made["user"]["id"], "")


async def come_by(providers: Providers, provider: str | None, account: str) -> Person:
    """Signed in at a provider, without a password."""
    token = (await providers.sign_in(provider, account)).token
    user = (await providers.api.as_user(token, "GET", "/auth-collections/user")).json()
    return Person(providers, token, user["id"], user["email"])
