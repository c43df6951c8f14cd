"""Apps that bring an ID token. Row P3."""

from hashlib import sha256
from typing import Any

import httpx2
import pytest

from faults.once import make_tokens, race
from faults.provider import CLIENT_ID, Account, Provider
from faults.provider.accounts import person
from faults.provider.state import Grant
from service.app import Application
from tests.web.sign_in.providers import Providers

PATH = "/auth-collections/login-id-token"
REFUSED = (401, {"detail": "Invalid ID token", "code": "invalid_id_token"})


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


@pytest.fixture
async def staff(providers: Providers) -> Providers:
    await providers.openid("staff", AUDIENCES="android,ios", CLIENT_SECRET="")
    return providers


async def test_a_token_with_our_nonce_signs_in(staff: Providers) -> None:
    made = []
    for aud, digest, more in ((CLIENT_ID, False, {}), ("android", True, {"azp": "another"}), (["ios"], False, {})):
        start = await begin(staff)
        nonce = sha256(start["nonce"].encode()).hexdigest() if digest else start["nonce"]
        token = token_of(staff.provider, nonce, aud=aud, **more)
        made.append(await bring(staff, start["flow_id"], token, name="Ada L."))
        assert made[-1].status_code == 200, made[-1].text
    (user,) = staff.users()
    assert {answer.json()["user"]["id"] for answer in made} == {user["_id"]}
    assert (user["data"], user["identities"][0]["subject"]) == ({"username": "ada_l"}, "sub-ada")
    assert (await staff.api.as_user(made[0].json()["access_token"], "GET", "/auth-collections/user")).status_code == 200


async def test_p3_a_foreign_token_or_one_that_comes_twice_signs_nobody_in(staff: Providers) -> None:
    provider = staff.provider
    start = await begin(staff)
    good = token_of(provider, start["nonce"])
    assert (await bring(staff, start["flow_id"], good)).status_code == 200
    refused = [await bring(staff, start["flow_id"], good)]
    other = await begin(staff)
    refused.append(await bring(staff, other["flow_id"], good))
    refused.append(await bring(staff, other["flow_id"], token_of(provider, other["nonce"])))
    bad: tuple[dict[str, Any], ...] = (
        {"issuer": "named"},
        {"iss": "https://evil.example"},
        {"aud": "another-client"},
        {"aud": ["ios", "another-client"]},
        {"aud": ["ios", "another-client"], "azp": "another-client"},
        {"nonce": "made-up"},
        {"nonce": ""},
        {"nonce": None},
        {"exp": 1},
        {"email_verified": False},
        {"email_verified": "true"},
    )
    for claims in bad:
        start = await begin(staff)
        token = token_of(provider, start["nonce"], **claims)
        answer = await bring(staff, start["flow_id"], token)
        assert (answer.status_code, answer.json()) == REFUSED, claims
    start = await begin(staff)
    refused.append(await bring(staff, start["flow_id"], "a.b.c"))
    refused.append(await bring(staff, "made-up", good))
    assert all((each.status_code, each.json()) == REFUSED for each in refused)
    assert staff.api.database["sessions"].count_documents({}) == 1


async def test_what_a_provider_cannot_do_is_said(staff: Providers, make_api: Any) -> None:
    await staff.oauth("plain")
    key = {"x-api-key": staff.api.key}
    answers = {
        name: await staff.api.http.post(f"{PATH}/options", json={"provider": name}, headers=key)
        for name in ("plain", "nobody")
    }
    assert (answers["plain"].status_code, answers["plain"].json()["detail"][0]["loc"]) == (422, ["body", "provider"])
    assert (answers["nobody"].status_code, answers["nobody"].json()["code"]) == (404, "provider_not_found")
    start = await begin(staff)
    none = await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"], email=...))
    assert (none.status_code, none.json()["code"]) == (400, "no_email_provided")
    await staff.api.signup("ada@example.com")
    start = await begin(staff)
    taken = await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"]))
    assert (taken.status_code, taken.json()["code"]) == (409, "email_already_registered_with_password")
    start = await begin(staff)
    bea = {"sub": "sub-bea", "email": "bea@example.com"}
    assert (await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"], **bea))).status_code == 200
    staff.api.database["users"].update_one({"email": "bea@example.com"}, {"$set": {"disabled": True}})
    start = await begin(staff)
    disabled = await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"], **bea))
    assert (disabled.status_code, disabled.json()["code"]) == (403, "account_disabled")
    other = await make_api()
    start = await begin(staff)
    body = {"flow_id": start["flow_id"], "id_token": token_of(staff.provider, start["nonce"])}
    assert (await other.request("POST", PATH, json=body)).status_code == 401


async def test_p3_of_many_who_bring_a_token_at_once_one_signs_in(running_app: Application, staff: Providers) -> None:
    make = await make_tokens(running_app, staff.api.key, staff.provider)
    report = await race([staff.api.http], staff.api.key, make, races=25, at_once=4)
    assert (report.twice, report.lost) == (0, 0)
