"""Rows V11 and V27: what an unproven address is good for, and the events of all that changes an account."""

from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import CLOCK, USER, Member, add_app, make_member
from tests.web.flows.mailbox import ask, newest
from tests.web.flows.test_link import post
from tests.web.rules.conftest import save, sign_up

EVENTS, USERS = "/auth-collections/events", "/auth-collections/users"
EMAIL, NEW = "ann@example.com", "a better password"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("service.domain.accounts.factor_proofs", "service.domain.accounts.enrolment"):
        monkeypatch.setattr(f"{name}.time", CLOCK)


async def events(api: Api, type_: str) -> list[tuple[str, Any]]:
    """Actor and detail of each, the newest first."""
    found = (await api.request("GET", f"{EVENTS}?type={type_}")).json()["events"]
    return [(each["actor"], each["detail"]) for each in found]


async def by_mail(services: Services, api: Api, path: str, **body: str) -> dict[str, str]:
    """The flow and the code of a requested mail."""
    asked = await ask(api, path, email=EMAIL, **body)
    return {"flow_id": asked.json()["flow_id"], "code": (await newest(services, api, EMAIL)).code}


async def reset(services: Services, api: Api, **body: Any) -> httpx2.Response:
    proof = await by_mail(services, api, "forgot-password")
    return await ask(api, "reset-password", **proof, password=NEW, **body)


@dataclass(frozen=True)
class Squatter:
    """A stranger who signed up with Ann's address, and added an app and an identity."""

    member: Member
    user_id: str

    async def is_out(self, api: Api) -> None:
        """Neither the password nor a session nor a factor nor an identity from before is good."""
        assert (await self.member.ask("GET", USER)).status_code == 401
        assert (await api.login()).status_code == 401
        stored: Any = api.database["users"].find_one({"_id": self.user_id})
        assert not stored.keys() & {"totp", "recovery", "identities", "oauth_id", "passkeys"}
        assert stored["email_verified"] is True


async def squat(api: Api) -> Squatter:
    member = await make_member(api)
    identity = {"issuer": "https://evil.example", "subject": "mallory", "provider": "x", "email": "m@evil.example"}
    fields = {"identities": [identity], "oauth_id": "mallory"}
    api.database["users"].update_one({"_id": member.user_id}, {"$set": fields})
    return Squatter(member, member.user_id)


async def test_v11_a_reset_by_mail_takes_over_an_account_whose_address_was_never_proven(
    api: Api, services: Services
) -> None:
    squatter = await squat(api)
    answer = await reset(services, api)
    assert answer.status_code == 204, answer.text
    await squatter.is_out(api)
    owner = await api.login(password=NEW)
    assert (owner.status_code, owner.json()["user"]["id"]) == (200, squatter.user_id)
    assert await events(api, "factor_removed") == [("user", {"type": "totp", "by": "mail"})]
    assert [detail["issuer"] for _, detail in await events(api, "identity_removed")] == ["https://evil.example"]


async def test_v11_the_page_of_the_reset_asks_for_no_factor_of_a_stranger(api: Api, services: Services) -> None:
    squatter = await squat(api)
    await ask(api, "forgot-password", email=EMAIL)
    link = (await newest(services, api, EMAIL)).link
    assert 'name="factor"' not in (await api.http.get(link)).text
    assert (await post(api, link, password=NEW)).status_code == 303
    await squatter.is_out(api)


async def test_v11_a_sign_in_by_mail_takes_it_over_as_well(api: Api, services: Services) -> None:
    squatter = await squat(api)
    answer = await ask(api, "confirm", **await by_mail(services, api, "login-email"))
    assert (answer.status_code, answer.json()["user"]["id"]) == (200, squatter.user_id), answer.text
    await squatter.is_out(api)
    token = answer.json()["access_token"]
    assert (await api.as_user(token, "GET", USER)).status_code == 200
    # The second sign-in proves nothing new, and ends nothing.
    assert (await ask(api, "confirm", **await by_mail(services, api, "login-email"))).status_code == 200
    assert (await api.as_user(token, "GET", USER)).status_code == 200


@pytest.mark.parametrize("way", ["code", "token", "link"])
async def test_v11_a_verification_that_shows_nothing_of_the_account_takes_it_over(
    api: Api, services: Services, way: str
) -> None:
    squatter = await squat(api)
    proof = await by_mail(services, api, "verify-email")
    link = (await newest(services, api, EMAIL)).link
    if way == "link":
        page = await api.http.get(link)
        assert 'autocomplete="current-password"' in page.text
        # A program that submits the form as it is changes nothing, nor does a wrong password.
        for password, status in (("", 200), ("wrong password", 401)):
            assert (await post(api, link, password=password)).status_code == status
        assert "email_verified" not in (api.database["users"].find_one() or {})
        assert (await post(api, link, password="", without_password="1")).status_code == 303
    else:
        body = proof if way == "code" else {"token": link.partition("?t=")[2]}
        assert (await ask(api, "confirm", **body)).json() == {"email_verified": True}
    await squatter.is_out(api)


@pytest.mark.parametrize("way", ["token of a session", "password", "page", "signup's code"])
async def test_v11_who_made_the_account_keeps_all_of_it_at_the_verification(
    make_api: MakeApi, services: Services, way: str
) -> None:
    api = await make_api(**({"EMAIL_VERIFICATION": "optional"} if way == "signup's code" else {}))
    signed_up = (await ask(api, "signup", email=EMAIL, password="correct horse")).json()
    code = (await newest(services, api, EMAIL)).code if way == "signup's code" else ""
    _, added = await add_app(api, signed_up["access_token"])
    token = added.json()["access_token"]
    if way == "signup's code":
        proof = {"flow_id": signed_up["flow_id"], "code": code}
    else:
        proof = await by_mail(services, api, "verify-email")
    if way == "page":
        link = (await newest(services, api, EMAIL)).link
        assert (await post(api, link, password="correct horse")).status_code == 303
    elif way == "token of a session":
        headers = {"x-api-key": api.publishable_key, "authorization": f"Bearer {token}"}
        done = await api.http.post("/auth-collections/confirm", json=proof, headers=headers)
        assert done.json() == {"email_verified": True}
    else:
        more = {"password": "correct horse"} if way == "password" else {}
        assert (await ask(api, "confirm", **proof, **more)).json() == {"email_verified": True}
    assert (await api.as_user(token, "GET", USER)).json()["email_verified"] is True
    assert (await api.login()).json()["code"] == "mfa_required"
    assert await events(api, "email_verified") == [("user", {"before": False, "after": True, "by": "mail"})]


async def test_v11_a_wrong_password_or_a_dead_token_beside_a_code_spends_nothing(api: Api, services: Services) -> None:
    other = (await api.signup("bob@example.com")).json()["access_token"]
    token = (await api.signup()).json()["access_token"]
    proof = await by_mail(services, api, "verify-email")
    wrong = await ask(api, "confirm", **proof, password="wrong password")
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_password")
    for bearer, status in (("x", 401), (other, 200)):
        headers = {"x-api-key": api.publishable_key, "authorization": f"Bearer {bearer}"}
        answer = await api.http.post("/auth-collections/confirm", json=proof, headers=headers)
        assert answer.status_code == status
    # Another user's token shows nothing of the account.
    assert (await api.as_user(token, "GET", USER)).status_code == 401
    assert (await api.as_user(other, "GET", USER)).status_code == 200


async def test_v11_an_account_that_a_provider_made_keeps_its_identity_at_a_reset(api: Api, services: Services) -> None:
    member = await squat(api)
    users = api.database["users"]
    users.update_one({"_id": member.user_id}, {"$set": {"identities.0.email": EMAIL, "password": EMAIL}})
    answer = await reset(services, api)
    assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required")
    assert (await reset(services, api, factor={"recovery_code": member.member.codes[0]})).status_code == 204
    stored: Any = users.find_one({"_id": member.user_id})
    assert (stored["oauth_id"], "totp" in stored, stored["email_verified"]) == ("mallory", True, True)


async def test_v11_a_server_that_changes_a_proven_address_does_not_undo_the_second_factor(
    api: Api, services: Services
) -> None:
    squatter = await squat(api)
    path = f"{USERS}/{squatter.user_id}"
    api.database["users"].update_one({"_id": squatter.user_id}, {"$set": {"email_verified": True}})
    for email in ("other@example.com", EMAIL):
        changed = await api.request("PATCH", path, json={"email": email})
        assert (changed.status_code, changed.json()["email_verified"]) == (200, False)
    answer = await reset(services, api)
    assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required")
    answer = await ask(api, "confirm", **await by_mail(services, api, "login-email"))
    assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required")
    # An account that was never proven stays so, whatever address the server gives it.
    api.database["users"].update_one({"_id": squatter.user_id}, {"$unset": {"email_verified": ""}})
    for fields in ({"email": "other@example.com"}, {"email": EMAIL}, {"email_verified": False}):
        assert (await api.request("PATCH", path, json=fields)).status_code == 200
    assert (await reset(services, api)).status_code == 204
    await squatter.is_out(api)


async def test_v27_a_reset_by_mail_leaves_its_event(api: Api, services: Services) -> None:
    await api.signup()
    assert (await reset(services, api)).status_code == 204
    assert await events(api, "password_changed") == [("user", {"by": "mail"})]
    assert await events(api, "email_verified") == [("user", {"before": False, "after": True, "by": "mail"})]
    (event,) = (await api.request("GET", f"{EVENTS}?type=password_changed")).json()["events"]
    assert (event["ip"], event["user_agent"] is None) == ("127.0.0.1", False)


async def test_v27_proof_of_an_address_leaves_its_event_once(api: Api, services: Services) -> None:
    user = (await api.signup()).json()["user"]
    proof = await by_mail(services, api, "verify-email")
    assert (await ask(api, "confirm", **proof, password="correct horse")).status_code == 200
    first = ("user", {"before": False, "after": True, "by": "mail"})
    assert await events(api, "email_verified") == [first]
    assert (await ask(api, "confirm", **await by_mail(services, api, "login-email"))).status_code == 200
    assert await events(api, "email_verified") == [first]
    for value in (True, False):
        await api.request("PATCH", f"{USERS}/{user['id']}", json={"email_verified": value})
    assert await events(api, "email_verified") == [("server", {"before": True, "after": False}), first]


async def test_v27_changes_of_roles_leave_their_event_whoever_makes_them(api: Api) -> None:
    user = (await api.signup()).json()["user"]
    path = f"{USERS}/{user['id']}/roles"
    assert (await api.request("PUT", path, json={"roles": ["editor"]})).status_code == 200
    assert (await api.request("PUT", path, json={"roles": ["editor"]})).status_code == 200
    assert await events(api, "roles_changed") == [("server", {"before": [], "after": ["editor"]})]
    lead = await sign_up(api, "lead")
    assert (await api.request("PUT", f"{USERS}/{lead.id}/roles", json={"roles": ["lead"]})).status_code == 200
    rules = {"users": {"read": "users"}, "assign": {"writer": {"$user.roles_eq": "lead"}}}
    saved = await save(api, rules)
    assert saved.status_code == 200, saved.text
    assert (await lead.ask("PUT", path, json={"roles": ["writer"]})).json()["roles"] == ["writer"]
    detail = {"before": ["editor"], "after": ["editor", "writer"], "by": lead.id}
    assert (await events(api, "roles_changed"))[0] == ("user", detail)
