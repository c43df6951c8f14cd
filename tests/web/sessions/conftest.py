"""A project with refresh tokens, and a signed-in user."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2
import jwt as pyjwt
import pytest

from tests.conftest import Api, MakeApi

USER = "/auth-collections/user"
SESSIONS = f"{USER}/sessions"
REFRESH = "/auth-collections/refresh"
LOGOUT = "/auth-collections/logout"
STEP_UP = f"{USER}/step-up"
LIFETIME = 300


def claims_of(token: str) -> dict[str, Any]:
    found: dict[str, Any] = pyjwt.decode(token, options={"verify_signature": False})
    return found


@dataclass(frozen=True)
class Pair:
    """The tokens of a sign-in or a refresh."""

    access: str
    refresh: str

    @property
    def sid(self) -> str:
        return str(claims_of(self.access)["sid"])


def pair(body: Mapping[str, Any]) -> Pair:
    return Pair(body["access_token"], body["refresh_token"])


@dataclass(frozen=True)
class Site:
    """A project with refresh tokens as its users meet it."""

    api: Api

    async def sign_in(self, email: str = "ann@example.com") -> Pair:
        """Signs up whoever is not there yet."""
        answer = await self.api.signup(email)
        return pair((answer if answer.status_code == 201 else await self.api.login(email)).json())

    async def refresh(self, token: str, **headers: str) -> httpx2.Response:
        return await self.api.http.post(REFRESH, json={"refresh_token": token}, headers=headers)

    async def renew(self, token: str) -> Pair:
        answer = await self.refresh(token)
        assert answer.status_code == 200, answer.text
        return pair(answer.json())

    async def status(self, access: str) -> int:
        return (await self.api.as_user(access, "GET", USER)).status_code

    def session(self, sid: str) -> dict[str, Any] | None:
        return self.api.database["sessions"].find_one({"_id": sid})

    def age(self, sid: str, **by: float) -> None:
        """As if the last refresh had been so long ago."""
        found = self.session(sid)
        assert found is not None
        earlier = {
            name: found[name] - timedelta(**by)
            for name in ("rotated_at", "last_used_at", "created_at")
            if name in found
        }
        self.api.database["sessions"].update_one({"_id": sid}, {"$set": earlier})


@pytest.fixture
async def site(make_api: MakeApi) -> Site:
    return Site(await make_api(ACCESS_TOKEN_LIFETIME=str(LIFETIME)))
