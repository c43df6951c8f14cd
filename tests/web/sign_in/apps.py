"""Apps that bring an ID token, and the provider that gives it to them."""

from typing import Any

import httpx2

from faults.provider import CLIENT_ID, Account, Provider
from faults.provider.accounts import person
from faults.provider.state import Grant
from tests.web.sign_in.providers import Providers

PATH = "/auth-collections/login-id-token"


async def begin(providers: Providers, name: str = "staff") -> dict[str, str]:
    answer = await providers.api.http.post(
        f"{PATH}/options", json={"provider": name}, headers={"x-api-key": providers.api.publishable_key}
    )
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def bring(providers: Providers, flow_id: str, token: str, **more: Any) -> httpx2.Response:
    headers = {"x-api-key": providers.api.publishable_key}
    body = {"flow_id": flow_id, "id_token": token, **more}
    return await providers.api.http.post(PATH, json=body, headers=headers)


def token_of(
    provider: Provider, given: str, /, *, aud: Any = CLIENT_ID, issuer: str = "standard", **claims: Any
) -> str:
    account = Account(person("ada", **{"name": ..., **claims}), in_id_token=True)
    return provider.id_token(Grant(account, issuer, {"client_id": aud, "nonce": given}))
