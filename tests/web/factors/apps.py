"""A user with an authenticator app, which the tests read, and whose clock they set."""

import time
from dataclasses import dataclass
from typing import Any

import httpx2

from service.domain.accounts import factor_codes
from tests.conftest import Api

USER = "/auth-collections/user"
FACTORS, TOTP = f"{USER}/factors", f"{USER}/factors/totp"
LOGIN_FACTOR, STEP_UP, RECOVERY = "/auth-collections/login-factor", f"{USER}/step-up", f"{USER}/recovery-codes"
STALE = (403, {"detail": "Sign in again to do this", "code": "step_up_required"})
WRONG = (401, {"detail": "Invalid second factor", "code": "invalid_factor"})
INVALID = (400, {"detail": "Invalid or expired code", "code": "invalid_code"})


def told(answer: httpx2.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()


class Clock:
    """The time of the service and of all apps."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def time(self) -> float:
        return time.time() + self.ahead


CLOCK = Clock()


@dataclass
class App:
    """For each code that it is asked for half a minute passes, so that it is another one."""

    secret: str

    def code(self) -> str:
        CLOCK.ahead += 30
        return factor_codes.code_at(self.secret, CLOCK.time())

    def wrong(self) -> str:
        """Nothing that it shows these minutes."""
        near = {factor_codes.code_at(self.secret, CLOCK.time() + late * 30) for late in range(-3, 4)}
        return next(text for number in range(20) if (text := f"{number:06}") not in near)


@dataclass
class Member:
    """A user who has an app."""

    api: Api
    app: App
    token: str
    codes: list[str]
    user_id: str
    factor_id: str

    async def ask(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.api.as_user(self.token, method, path, **kwargs)

    async def begin(self) -> str:
        """The flow of a login that waits for the factor."""
        answer = await self.api.login()
        assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required"), answer.text
        return str(answer.json()["flow_id"])

    async def finish(self, flow_id: str, **proof: str) -> httpx2.Response:
        return await guest(self.api, LOGIN_FACTOR, flow_id=flow_id, **proof)


async def guest(api: Api, path: str, **body: Any) -> httpx2.Response:
    """As a page asks: with the publishable key."""
    return await api.http.post(path, json=body, headers={"x-api-key": api.publishable_key})


async def add_app(api: Api, token: str) -> tuple[App, httpx2.Response]:
    """The app, and the answer to its first code."""
    begun = (await api.as_user(token, "POST", TOTP, json={"name": "phone"})).json()
    app = App(begun["secret"])
    return app, await api.as_user(token, "POST", f"{TOTP}/{begun['id']}/confirm", json={"code": app.code()})


async def make_member(api: Api) -> Member:
    token = (await api.signup()).json()["access_token"]
    app, answer = await add_app(api, token)
    body = answer.json()
    assert answer.status_code == 200, body
    return Member(api, app, body["access_token"], body["recovery_codes"], body["user"]["id"], body["factor"]["id"])
