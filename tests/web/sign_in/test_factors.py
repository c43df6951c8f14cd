"""Every way to sign in passes one decision. Rows M1, M4 and D3."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from service.domain.accounts import enrolment, factor_proofs
from tests.web.factors.apps import CLOCK, LOGIN_FACTOR, App, add_app, guest
from tests.web.flows.mailbox import ask, newest
from tests.web.sign_in.apps import begin, bring, token_of
from tests.web.sign_in.codes import code_of, exchange
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import COMPLETE

EMAIL, PASSWORD = "ada@example.com", "correct horse"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (factor_proofs, enrolment):
        monkeypatch.setattr(f"{module.__name__}.time", CLOCK)


@pytest.fixture
async def staff(providers: Providers) -> Providers:
    """One person, who came through the provider and has a password as well."""
    await providers.openid("staff", AUDIENCES="android")
    changes = {"REDIRECT_URLS": "https://app.example.com/in"}
    await providers.services.base.admin.change(providers.api.project.id, changes)
    providers.services.base.projects.forget_all()
    return providers


async def by_password(staff: Providers) -> httpx2.Response:
    return await staff.api.login(EMAIL, PASSWORD)


async def by_mail(staff: Providers) -> httpx2.Response:
    staff.api.database.client[staff.services.base.databases.system.name]["flows"].delete_many({"purpose": "sign_in"})
    asked = await ask(staff.api, "login-email", email=EMAIL)
    mail = await newest(staff.services, staff.api, EMAIL)
    return await ask(staff.api, "confirm", flow_id=asked.json()["flow_id"], code=mail.code)


async def by_code(staff: Providers) -> httpx2.Response:
    return await exchange(staff, await code_of(staff))


async def by_id_token(staff: Providers) -> httpx2.Response:
    start = await begin(staff)
    return await bring(staff, start["flow_id"], token_of(staff.provider, start["nonce"], aud="android"))


WAYS: dict[str, Callable[[Providers], Awaitable[httpx2.Response]]] = {
    "pwd": by_password,
    "email": by_mail,
    "idp": by_code,
    "idp, native": by_id_token,
}
ways = pytest.mark.parametrize("way", WAYS)


async def become(staff: Providers) -> str:
    """A token of the person's, who chose a password."""
    token = (await by_id_token(staff)).json()["access_token"]
    change = await staff.api.as_user(token, "POST", "/auth-collections/user/password", json={"password": PASSWORD})
    return str(change.json()["access_token"])


async def become_member(staff: Providers) -> App:
    """The person's app for codes, after adding the factor."""
    app, answer = await add_app(staff.api, await become(staff))
    assert answer.status_code == 200
    return app


@ways
async def test_m1_every_way_waits_for_the_factor(staff: Providers, way: str) -> None:
    app = await become_member(staff)
    sessions = staff.api.database["sessions"].count_documents({})
    answer = await WAYS[way](staff)
    body = answer.json()
    assert (answer.status_code, body["code"], body["expires_in"]) == (401, "mfa_required", 600)
    # M4: not by mail, whatever the first way was.
    assert body["methods"] == ["totp", "recovery_code"]
    assert staff.api.database["sessions"].count_documents({}) == sessions
    assert staff.users()[0]["email_asserted"] is True
    assert (await by_password(staff)).json()["code"] == "mfa_required"
    signed_in = await guest(staff.api, LOGIN_FACTOR, flow_id=body["flow_id"], totp=app.code())
    assert signed_in.status_code == 200
    (session,) = staff.api.database["sessions"].find().sort("created_at", -1).limit(1)
    assert (session["aal"], session["amr"]) == (2, [way.partition(",")[0], "otp"])


@ways
async def test_every_way_leads_to_a_factor_where_one_must_be_added(staff: Providers, way: str) -> None:
    await become(staff)
    await staff.services.base.admin.change(staff.api.project.id, {"MFA": "required"})
    staff.services.base.projects.forget_all()
    answer = await WAYS[way](staff)
    assert (answer.status_code, answer.json().keys()) == (403, {"detail", "code", "flow_id"})
    assert answer.json()["code"] == "mfa_enrolment_required"


@ways
async def test_d3_the_disabled_are_told_so_in_every_way_with_a_right_credential(staff: Providers, way: str) -> None:
    await become_member(staff)
    staff.api.database["users"].update_one({}, {"$set": {"disabled": True}})
    if way == "idp":
        # The browser is turned back before there is a code.
        ended = await staff.sign_in("staff", "ada", code_challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        assert ended.error == "authentication_failed"
        return
    answer = await WAYS[way](staff)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_disabled")
    assert (await staff.api.login(EMAIL, "wrong horse")).json()["code"] == "invalid_credentials"


async def test_d3_a_code_from_before_the_account_was_disabled_opens_nothing(staff: Providers) -> None:
    await become_member(staff)
    code = await code_of(staff)
    user_id = (await staff.api.users()).json()["users"][0]["id"]
    changed = await staff.api.request("PATCH", f"/auth-collections/users/{user_id}", json={"disabled": True})
    assert changed.status_code == 200
    answer = await exchange(staff, code)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_disabled")


@pytest.mark.parametrize("required", [False, True])
async def test_a_token_in_a_url_waits_for_nothing(staff: Providers, required: bool) -> None:
    if required:
        await become(staff)
        await staff.services.base.admin.change(staff.api.project.id, {"MFA": "required"})
        staff.services.base.projects.forget_all()
    else:
        await become_member(staff)
    answer = await staff.follow(await staff.answer(await staff.begin("staff"), "ada"))
    location = answer.headers["location"]
    assert query_of(location)["svc-error"] == "mfa_required"
    assert location.startswith(COMPLETE)


async def test_a_factor_is_as_good_as_before_when_the_provider_is_linked_by_its_subject(staff: Providers) -> None:
    """The provider's word for an address joins no account that has a factor."""
    await staff.services.base.admin.change(staff.api.project.id, {"LINKING": "verified"})
    staff.services.base.projects.forget_all()
    token: Any = (await staff.api.signup(EMAIL)).json()["access_token"]
    await add_app(staff.api, token)
    staff.api.database["users"].update_one({}, {"$set": {"email_verified": True}})
    assert (await staff.sign_in("staff", "ada")).error == "email_already_registered_with_password"
