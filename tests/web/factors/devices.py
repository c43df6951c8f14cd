"""Users with passkeys, which are software here."""

from dataclasses import dataclass, field
from typing import Any

import httpx2

from faults.authenticator import Page, SoftAuthenticator
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import FACTORS, USER, guest

RP_ID, ORIGIN = "example.com", "https://app.example.com"
HERE = Page(ORIGIN)
PASSKEY = f"{FACTORS}/passkey"
LOGIN_PASSKEY = "/auth-collections/login-passkey"
SETTINGS = {"WEBAUTHN_RP_ID": RP_ID, "WEBAUTHN_ORIGINS": f"{ORIGIN}, http://localhost:5173"}
REFUSED = (401, {"detail": "Invalid passkey", "code": "invalid_passkey"})


async def make_site(make_api: MakeApi, **settings: str) -> Api:
    return await make_api(**SETTINGS | settings)


@dataclass
class Holder:
    """A user, and the device of that user."""

    api: Api
    token: str
    device: SoftAuthenticator = field(default_factory=SoftAuthenticator)

    async def ask(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.api.as_user(self.token, method, path, **kwargs)

    async def options(self) -> dict[str, Any]:
        answer = await self.ask("POST", f"{PASSKEY}/options")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def enrol(self, page: Page = HERE, **fields: str) -> httpx2.Response:
        """Adds a passkey; a good answer's token is the user's from then on."""
        asked = await self.options()
        credential = self.device.create(asked["publicKey"], page)
        body = {"flow_id": asked["flow_id"], "credential": credential, **fields}
        answer = await self.ask("POST", PASSKEY, json=body)
        if answer.status_code == 201:
            self.token = answer.json()["access_token"]
        return answer


async def make_holder(api: Api, email: str = "ann@example.com") -> Holder:
    """A user that has a passkey."""
    holder = Holder(api, (await api.signup(email)).json()["access_token"])
    assert (await holder.enrol()).status_code == 201
    return holder


async def ask_to_sign_in(api: Api) -> dict[str, Any]:
    answer = await guest(api, f"{LOGIN_PASSKEY}/options")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def sign_in(holder: Holder, page: Page = HERE) -> httpx2.Response:
    """Without a name."""
    asked = await ask_to_sign_in(holder.api)
    credential = holder.device.get(asked["publicKey"], page)
    return await guest(holder.api, LOGIN_PASSKEY, flow_id=asked["flow_id"], credential=credential)


async def profile(api: Api, token: str) -> int:
    return (await api.as_user(token, "GET", USER)).status_code
