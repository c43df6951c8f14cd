"""Passkeys over HTTP: added, used as the first factor and as the second, named and removed."""

import asyncio
from typing import Any

import jwt
import pytest

from faults.authenticator import PRESENT, SYNCABLE, SYNCED, VERIFIED, Page, decode, encode
from faults.waiting import until
from service.bounds import MAX_PASSKEYS
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import FACTORS, INVALID, LOGIN_FACTOR, RECOVERY, STEP_UP, USER, WRONG, add_app, guest, told
from tests.web.factors.devices import (
    HERE,
    LOGIN_PASSKEY,
    PASSKEY,
    REFUSED,
    RP_ID,
    Holder,
    ask_to_sign_in,
    make_holder,
    make_site,
    profile,
    sign_in,
)
from tests.web.flows.mailbox import mailed

MISSING = (400, {"detail": "WEBAUTHN_RP_ID key missing", "code": "configuration_missing"})


@pytest.fixture
async def site(make_api: MakeApi) -> Api:
    return await make_site(make_api)


@pytest.fixture
async def ann(site: Api) -> Holder:
    return await make_holder(site)


def claims(token: str) -> dict[str, Any]:
    found: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return found


def stored(api: Api, email: str = "ann@example.com") -> dict[str, Any]:
    user = api.database["users"].find_one({"email": email})
    assert user is not None
    return user


async def test_a_passkey_is_added_and_comes_with_recovery_codes(site: Api, services: Services) -> None:
    old = (await site.signup()).json()["access_token"]
    holder = Holder(site, old)
    asked = (await holder.options())["publicKey"]
    assert (asked["rp"]["id"], asked["user"]["name"], asked["excludeCredentials"]) == (RP_ID, "ann@example.com", [])
    assert decode(asked["user"]["id"]) == bytes(stored(site)["webauthn_id"])
    answer = await holder.enrol(name="My laptop")
    body = answer.json()
    assert answer.status_code == 201
    assert body.keys() == {"access_token", "token_type", "user", "factor", "recovery_codes"}
    assert (body["factor"]["type"], body["factor"]["name"], body["factor"]["last_used_at"]) == (
        *("passkey", "My laptop"),
        None,
    )
    assert len(body["recovery_codes"]) == 10
    assert (claims(holder.token)["aal"], claims(holder.token)["amr"]) == (2, ["pwd", "pop"])
    assert [await profile(site, token) for token in (old, holder.token)] == [401, 200]
    listed = (await holder.ask("GET", FACTORS)).json()
    assert listed == {"factors": [body["factor"]], "recovery_codes_left": 10}
    assert [mail.kind for mail in await mailed(services, site)] == ["factor_changed"]
    # The second brings no codes, and the options name the first.
    first = holder.device.passkeys[0].id
    assert (await holder.options())["publicKey"]["excludeCredentials"] == [{"type": "public-key", "id": encode(first)}]
    assert "recovery_codes" not in (await holder.enrol()).json()
    assert stored(site)["webauthn_id"] == decode(asked["user"]["id"])


async def test_a_passkey_signs_in_without_a_name_at_the_second_level(ann: Holder) -> None:
    asked = await ask_to_sign_in(ann.api)
    assert asked["publicKey"]["allowCredentials"] == []
    answer = await sign_in(ann)
    assert answer.status_code == 200, answer.text
    assert answer.json()["user"]["email"] == "ann@example.com"
    token = answer.json()["access_token"]
    assert (claims(token)["aal"], claims(token)["amr"]) == (2, ["pop"])
    (factor,) = (await ann.api.as_user(token, "GET", FACTORS)).json()["factors"]
    assert factor["last_used_at"] is not None
    assert stored(ann.api)["passkeys"][0]["counter"] == 1


async def test_a_passkey_is_the_second_factor_of_a_login(ann: Holder) -> None:
    waiting = (await ann.api.login()).json()
    assert (waiting["code"], waiting["methods"]) == ("mfa_required", ["passkey", "recovery_code"])
    asked = (await guest(ann.api, f"{LOGIN_FACTOR}/options", flow_id=waiting["flow_id"])).json()
    assert asked["flow_id"] == waiting["flow_id"]
    assert [each["id"] for each in asked["publicKey"]["allowCredentials"]] == [encode(ann.device.passkeys[0].id)]
    body = {"flow_id": asked["flow_id"], "credential": ann.device.get(asked["publicKey"], HERE)}
    answer = await guest(ann.api, LOGIN_FACTOR, **body)
    assert answer.status_code == 200, answer.text
    assert claims(answer.json()["access_token"])["amr"] == ["pwd", "pop"]
    assert told(await guest(ann.api, LOGIN_FACTOR, **body)) == WRONG
    assert told(await guest(ann.api, f"{LOGIN_FACTOR}/options", flow_id="unknown")) == WRONG


async def test_a_passkey_steps_up(ann: Holder) -> None:
    asked = (await ann.ask("POST", f"{STEP_UP}/options", json={})).json()
    body = {"flow_id": asked["flow_id"], "credential": ann.device.get(asked["publicKey"], HERE)}
    answer = await ann.ask("POST", STEP_UP, json=body)
    assert answer.status_code == 200, answer.text
    old, ann.token = ann.token, answer.json()["access_token"]
    assert await profile(ann.api, old) == 401
    assert told(await ann.ask("POST", STEP_UP, json=body)) == WRONG
    half = await ann.ask("POST", STEP_UP, json={"credential": body["credential"]})
    assert half.status_code == 422


async def test_the_options_of_one_user_are_of_no_use_to_another(ann: Holder) -> None:
    ben = await make_holder(ann.api, "ben@example.com")
    asked = (await ann.ask("POST", f"{STEP_UP}/options")).json()
    body = {"flow_id": asked["flow_id"], "credential": ben.device.get(asked["publicKey"], HERE)}
    assert told(await ben.ask("POST", STEP_UP, json=body)) == WRONG
    assert told(await ann.ask("POST", STEP_UP, json=body)) == WRONG
    wished = await ann.options()
    credential = ben.device.create(wished["publicKey"], HERE)
    new = {"flow_id": wished["flow_id"], "credential": credential}
    assert told(await ben.ask("POST", PASSKEY, json=new)) == INVALID


async def test_who_must_have_a_factor_adds_a_passkey_on_the_way(make_api: MakeApi) -> None:
    site = await make_site(make_api, MFA="required")
    refused = await site.signup()
    assert (refused.status_code, refused.json()["code"]) == (403, "mfa_enrolment_required")
    flow_id, holder = refused.json()["flow_id"], Holder(site, "")
    asked = (await guest(site, f"{PASSKEY}/options", flow_id=flow_id)).json()
    assert asked["flow_id"] == flow_id
    body = {"flow_id": flow_id, "credential": holder.device.create(asked["publicKey"], HERE)}
    answer = await guest(site, PASSKEY, **body)
    assert answer.status_code == 201, answer.text
    assert await profile(site, answer.json()["access_token"]) == 200
    assert len(answer.json()["recovery_codes"]) == 10
    assert told(await guest(site, PASSKEY, **body)) == INVALID
    assert told(await guest(site, f"{PASSKEY}/options", flow_id=flow_id)) == INVALID
    assert (await sign_in(holder)).status_code == 200


async def test_without_a_relying_party_there_are_no_passkeys(make_api: MakeApi) -> None:
    api = await make_api()
    token = (await api.signup()).json()["access_token"]
    for path in (f"{PASSKEY}/options", f"{STEP_UP}/options"):
        assert told(await api.as_user(token, "POST", path)) == MISSING
    assert told(await guest(api, f"{LOGIN_PASSKEY}/options")) == MISSING
    credential = {"id": "aWQ", "response": {"clientDataJSON": "aWQ", "authenticatorData": "aWQ", "signature": "aWQ"}}
    assert told(await guest(api, LOGIN_PASSKEY, flow_id="flow", credential=credential)) == MISSING


async def test_the_origins_are_the_domain_itself_unless_said_otherwise(make_api: MakeApi) -> None:
    api = await make_api(WEBAUTHN_RP_ID="example.com")
    holder = Holder(api, (await api.signup()).json()["access_token"])
    assert told(await holder.enrol(HERE)) == INVALID
    assert (await holder.enrol(Page("https://example.com"))).status_code == 201


async def test_a_user_has_so_many_passkeys(ann: Holder) -> None:
    for _ in range(MAX_PASSKEYS - 1):
        assert (await ann.enrol()).status_code == 201
    full = await ann.enrol()
    assert (full.status_code, full.json()["code"]) == (409, "factor_limit")
    assert len(stored(ann.api)["passkeys"]) == MAX_PASSKEYS


async def test_a_passkey_is_one_users(ann: Holder) -> None:
    ben = await make_holder(ann.api, "ben@example.com")
    asked, mine = await ben.options(), ann.device.passkeys[0]
    credential = ben.device.create(asked["publicKey"], HERE)
    raw = decode(credential["response"]["attestationObject"]).replace(ben.device.passkeys[-1].id, mine.id)
    credential["id"], credential["response"]["attestationObject"] = encode(mine.id), encode(raw)
    answer = await ben.ask("POST", PASSKEY, json={"flow_id": asked["flow_id"], "credential": credential})
    assert told(answer) == INVALID
    assert (await sign_in(ann)).status_code == 200


async def test_a_passkey_is_named_and_removed(ann: Holder) -> None:
    (factor,) = (await ann.ask("GET", FACTORS)).json()["factors"]
    path = f"{FACTORS}/{factor['id']}"
    assert (await ann.ask("PATCH", path, json={"name": "Key ring"})).json()["name"] == "Key ring"
    assert (await ann.ask("DELETE", path)).status_code == 204
    assert (await ann.ask("GET", FACTORS)).json() == {"factors": [], "recovery_codes_left": 0}
    assert told(await sign_in(ann)) == REFUSED
    assert (await ann.api.login()).status_code == 200
    assert "passkeys" not in stored(ann.api)


async def test_the_last_way_to_sign_in_stays(ann: Holder) -> None:
    """A user without a password and a provider: a mail does not count as a way to sign in."""
    await ann.enrol()
    ann.api.database["users"].update_one({}, {"$set": {"password": "ann@example.com"}})
    first, second = [f"{FACTORS}/{each['id']}" for each in (await ann.ask("GET", FACTORS)).json()["factors"]]
    answers = await asyncio.gather(ann.ask("DELETE", first), ann.ask("DELETE", second))
    assert sorted(answer.status_code for answer in answers) == [204, 409]
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert told(refused) == (409, {"detail": "This is the last way to sign in", "code": "last_sign_in_method"})
    (left,) = stored(ann.api)["passkeys"]
    ann.device.passkeys = [each for each in ann.device.passkeys if encode(each.id) == left["id"]]
    await add_app(ann.api, ann.token)
    assert (await sign_in(ann)).status_code == 200


@pytest.mark.parametrize("flags", [PRESENT | VERIFIED, PRESENT | VERIFIED | SYNCABLE | SYNCED])
async def test_m5_one_answer_signs_in_once(site: Api, flags: int) -> None:
    """A synced passkey has no counter that would tell: its flow does."""
    ann = Holder(site, (await site.signup()).json()["access_token"])
    ann.device.flags, ann.device.counting = flags, flags == PRESENT | VERIFIED
    assert (await ann.enrol()).status_code == 201
    asked = await ask_to_sign_in(ann.api)
    body = {"flow_id": asked["flow_id"], "credential": ann.device.get(asked["publicKey"], HERE)}
    answers = await asyncio.gather(*(guest(ann.api, LOGIN_PASSKEY, **body) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401, 401]


async def test_a_disabled_user_is_told_after_a_right_passkey_only(ann: Holder) -> None:
    user_id = str(stored(ann.api)["_id"])
    await ann.api.request("PATCH", f"/auth-collections/users/{user_id}", json={"disabled": True})
    right = await sign_in(ann)
    assert (right.status_code, right.json()["code"]) == (403, "account_disabled")
    assert told(await sign_in(ann, Page("https://evil.example"))) == REFUSED


async def test_a_synced_passkey_that_counts_nothing_signs_in_again_and_again(site: Api) -> None:
    holder = Holder(site, (await site.signup()).json()["access_token"])
    holder.device.flags, holder.device.counting = PRESENT | VERIFIED | SYNCABLE | SYNCED, False
    await holder.enrol()
    site.database["users"].update_one({}, {"$set": {"passkeys.0.counter": 9}})
    assert [(await sign_in(holder)).status_code for _ in range(3)] == [200, 200, 200]


async def test_recovery_codes_are_for_passkeys_as_well(ann: Holder) -> None:
    codes = (await ann.ask("POST", RECOVERY)).json()["recovery_codes"]
    flow_id = (await ann.api.login()).json()["flow_id"]
    assert (await guest(ann.api, LOGIN_FACTOR, flow_id=flow_id, recovery_code=codes[0])).status_code == 200


async def test_events_tell_of_passkeys(ann: Holder) -> None:
    await sign_in(ann, Page("https://evil.example"))
    token = (await sign_in(ann)).json()["access_token"]
    await ann.api.as_user(token, "GET", USER)

    async def has_come() -> bool:
        events = (await ann.api.request("GET", "/auth-collections/events")).json()["events"]
        return ("sign_in_failed", "invalid_passkey") in {
            (each["type"], each["detail"].get("reason")) for each in events
        }

    await until(has_come)


BAD: dict[str, Any] = {
    "no credential": {"flow_id": "flow"},
    "a number for an id": {"flow_id": "flow", "credential": {"id": 10**12, "response": {}}},
    "no base64": {"flow_id": "flow", "credential": {"id": "a b", "response": {}}},
    "half a character": {
        "flow_id": "flow",
        "credential": {
            "id": "abcde",
            "response": {"clientDataJSON": "aWQ", "authenticatorData": "aWQ", "signature": "aWQ"},
        },
    },
    "too long": {"flow_id": "flow", "credential": {"id": "a" * 2_000, "response": {}}},
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
async def test_what_is_no_credential_is_told_so(site: Api, body: dict[str, Any]) -> None:
    answer = await guest(site, LOGIN_PASSKEY, **body)
    assert answer.status_code == 422
    assert all(each["loc"][:2] == ["body", "credential"] for each in answer.json()["detail"])
