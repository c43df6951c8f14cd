"""Apps that bring an ID token."""

from hashlib import sha256
from typing import Any

import pytest

from faults.provider import CLIENT_ID
from faults.samples import FORM_TYPE, PNG, file_part, form
from tests.conftest import BASE_URL
from tests.web.rules.conftest import save
from tests.web.sign_in.apps import PATH, begin, bring, token_of
from tests.web.sign_in.providers import Providers


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


async def test_v33_a_native_sign_in_signs_the_urls_of_protected_files(staff: Providers) -> None:
    resume = {"read": {"id_eq": "$user.id"}, "protected": True}
    assert (await save(staff.api, {"users": {"read": "users", "fields": {"data.resume": resume}}})).status_code == 200

    async def sign_in() -> dict[str, Any]:
        start = await begin(staff)
        return dict((await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"]))).json())

    token, upload = (await sign_in())["access_token"], form(file_part("resume"))
    stored = await staff.api.as_user(token, "PUT", "/auth-collections/user", content=upload, headers=FORM_TYPE)
    assert stored.status_code == 200
    url = (await sign_in())["user"]["data"]["resume"]
    opened = await staff.api.http.get(url.removeprefix(BASE_URL))
    assert (opened.status_code, opened.content) == (200, PNG)
