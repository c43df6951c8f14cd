"""Row M5: passkeys of another page, of another user, or of an earlier request."""

from typing import Any

import httpx2
import pytest

from faults.authenticator import PRESENT, SYNCABLE, SYNCED, VERIFIED, Page, SoftPasskey, decode, encode, new_key
from tests.conftest import Api, MakeApi
from tests.threats.conftest import assert_refused
from tests.web.factors.apps import LOGIN_FACTOR, STEP_UP, guest
from tests.web.factors.devices import (
    HERE,
    LOGIN_PASSKEY,
    ORIGIN,
    PASSKEY,
    Holder,
    ask_to_sign_in,
    make_holder,
    make_site,
    sign_in,
)


@pytest.fixture
async def ann(make_api: MakeApi) -> Holder:
    return await make_holder(await make_site(make_api))


def stored(api: Api) -> list[dict[str, Any]]:
    return list(api.database["users"].find({}, {"last_sign_in_at": 0}))


# Each of these pages and devices is one thing away from what is right.
PAGES = {
    "rpId": Page(ORIGIN, rp_id="evil.example"),
    "origin": Page("https://app.example.com.evil.example"),
    "origin of another port": Page(f"{ORIGIN}:8443"),
    "crossOrigin": Page(ORIGIN, says={"crossOrigin": True}),
    "another challenge": Page(ORIGIN, says={"challenge": encode(b"c" * 32)}),
}


async def use_everywhere(holder: Holder, page: Page) -> list[httpx2.Response]:
    """As the first factor, as the second, and to step up."""
    api, device = holder.api, holder.device
    first = await sign_in(holder, page)
    flow_id = (await api.login()).json()["flow_id"]
    asked = (await guest(api, f"{LOGIN_FACTOR}/options", flow_id=flow_id)).json()
    second = await guest(api, LOGIN_FACTOR, flow_id=flow_id, credential=device.get(asked["publicKey"], page))
    asked = (await holder.ask("POST", f"{STEP_UP}/options")).json()
    body = {"flow_id": asked["flow_id"], "credential": device.get(asked["publicKey"], page)}
    return [first, second, await holder.ask("POST", STEP_UP, json=body)]


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
async def test_m5_a_passkey_of_another_page_signs_nobody_in(ann: Holder, page: Page) -> None:
    before = stored(ann.api)
    for answer in await use_everywhere(ann, page):
        assert_refused(answer, 401)
    assert stored(ann.api) == before
    assert_refused(await ann.enrol(page), 400)
    assert stored(ann.api) == before
    ann.device.passkeys[1:] = []
    assert (await sign_in(ann)).status_code == 200


@pytest.mark.parametrize("flags", [PRESENT, VERIFIED, PRESENT | SYNCABLE])
async def test_m5_without_verification_of_the_user_nobody_signs_in(ann: Holder, flags: int) -> None:
    ann.device.flags = flags
    for answer in await use_everywhere(ann, HERE):
        assert_refused(answer, 401)
    assert_refused(await ann.enrol(), 400)
    ann.device.flags, ann.device.passkeys[1:] = PRESENT | VERIFIED, []
    assert (await sign_in(ann)).status_code == 200


async def test_m5_an_answer_is_good_once_and_in_its_own_flow(ann: Holder) -> None:
    asked, other = await ask_to_sign_in(ann.api), await ask_to_sign_in(ann.api)
    credential = ann.device.get(asked["publicKey"], HERE)
    assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=other["flow_id"], credential=credential), 401)
    good = await guest(ann.api, LOGIN_PASSKEY, flow_id=asked["flow_id"], credential=credential)
    assert good.status_code == 200
    for flow in (asked, other):
        assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=flow["flow_id"], credential=credential), 401)
    # An answer to a sign-in is no second factor, and the other way round.
    flow_id = (await ann.api.login()).json()["flow_id"]
    fresh = await ask_to_sign_in(ann.api)
    answer = ann.device.get(fresh["publicKey"], HERE)
    assert_refused(await guest(ann.api, LOGIN_FACTOR, flow_id=flow_id, credential=answer), 401)
    assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=flow_id, credential=answer), 401)


async def test_m5_a_foreign_or_missing_user_handle_signs_nobody_in(ann: Holder) -> None:
    ben = await make_holder(ann.api, "ben@example.com")
    own = ann.device.passkeys[0].handle
    for handle in (ben.device.passkeys[0].handle, b"", own + b"x", own[:-1]):
        ann.device.passkeys[0].handle = handle
        asked = await ask_to_sign_in(ann.api)
        credential = ann.device.get(asked["publicKey"], HERE)
        if not handle:
            del credential["response"]["userHandle"]
        assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=asked["flow_id"], credential=credential), 401)
    # As a second factor it may be missing, and must not be another's.
    ann.device.passkeys[0].handle = ben.device.passkeys[0].handle
    for answer in (await use_everywhere(ann, HERE))[1:]:
        assert_refused(answer, 401)
    ann.device.passkeys[0].handle = own
    assert [answer.status_code for answer in await use_everywhere(ann, HERE)] == [200, 200, 200]


async def test_m5_another_users_passkey_is_no_second_factor(ann: Holder) -> None:
    ben = await make_holder(ann.api, "ben@example.com")
    flow_id = (await ann.api.login()).json()["flow_id"]
    asked = (await guest(ann.api, f"{LOGIN_FACTOR}/options", flow_id=flow_id)).json()
    for handle in (ben.device.passkeys[0].handle, ann.device.passkeys[0].handle):
        ben.device.passkeys[0].handle = handle
        credential = ben.device.get(asked["publicKey"], HERE)
        assert_refused(await guest(ann.api, LOGIN_FACTOR, flow_id=flow_id, credential=credential), 401)


async def test_m5_a_copied_key_is_found_by_its_counter(ann: Holder) -> None:
    mine = ann.device.passkeys[0]
    copy = SoftPasskey(mine.key, mine.id, mine.handle, mine.counter)
    assert [(await sign_in(ann)).status_code for _ in range(2)] == [200, 200]
    asked = await ask_to_sign_in(ann.api)
    credential = ann.device.get(asked["publicKey"], HERE, copy)
    assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=asked["flow_id"], credential=credential), 401)
    forged = SoftPasskey(new_key(), mine.id, mine.handle, 99)
    asked = await ask_to_sign_in(ann.api)
    credential = ann.device.get(asked["publicKey"], HERE, forged)
    assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=asked["flow_id"], credential=credential), 401)


async def test_m5_a_synced_counter_of_zero_passes(make_api: MakeApi) -> None:
    api = await make_site(make_api)
    holder = Holder(api, (await api.signup()).json()["access_token"])
    holder.device.flags, holder.device.counting = PRESENT | VERIFIED | SYNCABLE | SYNCED, False
    assert (await holder.enrol()).status_code == 201
    api.database["users"].update_one({}, {"$set": {"passkeys.0.counter": 7}})
    assert [answer.status_code for answer in await use_everywhere(holder, HERE)] == [200, 200, 200]


async def test_m5_a_passkey_of_another_project_is_unknown(ann: Holder, make_api: MakeApi) -> None:
    other = await make_site(make_api)
    await make_holder(other)
    asked = await ask_to_sign_in(other)
    credential = ann.device.get(asked["publicKey"], HERE)
    assert_refused(await guest(other, LOGIN_PASSKEY, flow_id=asked["flow_id"], credential=credential), 401)
    mine = await ask_to_sign_in(ann.api)
    credential = ann.device.get(mine["publicKey"], HERE)
    assert_refused(await guest(other, LOGIN_PASSKEY, flow_id=mine["flow_id"], credential=credential), 401)


async def test_m5_bytes_that_are_none_are_refused_and_cost_little(ann: Holder) -> None:
    asked, before = await ann.options(), stored(ann.api)
    credential = ann.device.create(asked["publicKey"], HERE)
    hostile = (b"\x81" * 8_192, b"\x99\x1f\xfd" + bytes(8_189), b"\x9b" + b"\xff" * 8, b"\xa1\x61a\x1b" + b"\xff" * 8)
    for raw in hostile:
        credential["response"]["attestationObject"] = encode(raw)
        body = {"flow_id": asked["flow_id"], "credential": credential}
        assert_refused(await ann.ask("POST", PASSKEY, json=body), 400)
    for name in ("clientDataJSON", "authenticatorData", "signature"):
        flow = await ask_to_sign_in(ann.api)
        signed = ann.device.get(flow["publicKey"], HERE, ann.device.passkeys[0])
        damaged = bytearray(decode(signed["response"][name]))
        damaged[len(damaged) // 2] ^= 1
        signed["response"][name] = encode(bytes(damaged))
        assert_refused(await guest(ann.api, LOGIN_PASSKEY, flow_id=flow["flow_id"], credential=signed), 401)
    assert stored(ann.api) == before
