"""`svc-code` in place of a token in the URL: how a page gets one, and what it gets for it."""

from typing import Any

import httpx2

from faults.once import CHALLENGE, VERIFIER
from tests.web.sign_in.providers import Providers, query_of


async def code_of(providers: Providers, account: str = "ada", **parameters: str) -> str:
    """The code that a sign-in brings."""
    location = await land(providers, account, **parameters)
    assert "svc-error" not in location
    return query_of(location)["svc-code"]


async def land(providers: Providers, account: str = "ada", **parameters: str) -> str:
    """The URL at which the browser ends."""
    url = await providers.begin("staff", code_challenge=CHALLENGE, **parameters)
    answer = await providers.follow(await providers.answer(url, account))
    assert (answer.status_code, answer.content) == (302, b"")
    assert "svc-super-token" not in answer.headers["location"]
    return str(answer.headers["location"])


async def exchange(providers: Providers, code: str, verifier: str | None = VERIFIER, **more: Any) -> httpx2.Response:
    body = {"code": code, "code_verifier": verifier}
    headers = {"x-api-key": providers.api.publishable_key}
    path = "/auth-collections/token"
    return await providers.api.http.post(
        path, json={name: value for name, value in body.items() if value is not None}, **{"headers": headers, **more}
    )
