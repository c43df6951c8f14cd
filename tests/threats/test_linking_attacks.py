"""Linking by rule: who comes by a provider into an account with a password. Row P4."""

import asyncio
from typing import Any

import pytest

from faults.provider import CLIENT_ID, CLIENT_SECRET
from service.services import Services
from tests.identity_provider import provider, provider_server
from tests.web.flows.mailbox import ask, newest
from tests.web.sign_in.conftest import fakes_server, providers
from tests.web.sign_in.fakes import Fakes
from tests.web.sign_in.people import come_by, sign_up
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import Ending, ending

__all__ = ["fakes_server", "provider", "provider_server", "providers"]

GOOGLE = {"email": "ada@gmail.com", "email_verified": True, "name": "Ada", "sub": "1"}
USER = "/auth-collections/user"
HAS_PASSWORD = "email_already_registered_with_password"


@pytest.fixture
def fakes(fakes_server: Fakes) -> Fakes:
    return fakes_server


@pytest.fixture
async def google(providers: Providers, fakes: Fakes) -> Providers:
    """A project that links, with one provider."""
    settings = {"CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET, "ISSUER": fakes.issuer("google")}
    await providers.services.base.providers.set(providers.api.project.id, "google", None, settings)
    await link(providers, "verified")
    return providers


async def link(providers: Providers, value: str) -> None:
    await providers.services.base.admin.change(providers.api.project.id, {"LINKING": value})
    providers.services.base.projects.forget_all()


async def sign_in(google: Providers, fakes: Fakes, **claims: Any) -> Ending:
    asked = query_of(await google.begin("google"))
    answer = {"code": fakes.grant("google", asked, {**GOOGLE, **claims}), "state": asked["state"]}
    return ending(await google.api.http.get(asked["redirect_uri"], params=answer))


async def plant(google: Providers, email: str, **state: Any) -> dict[str, Any]:
    """An account with a password and a signed-in user."""
    planted = (await google.api.signup(email)).json()
    if state:
        changed = await google.api.request("PATCH", f"/auth-collections/users/{planted['user']['id']}", json=state)
        assert changed.status_code == 200
    return dict(planted)


async def test_p4_a_planted_account_is_refused_while_nobody_proved_its_address(google: Providers, fakes: Fakes) -> None:
    planted = await plant(google, "ada@gmail.com")
    before = google.users()
    assert (await sign_in(google, fakes)).error == HAS_PASSWORD
    assert google.users() == before
    assert (await google.api.as_user(planted["access_token"], "GET", "/auth-collections/user")).status_code == 200


async def test_p4_who_planted_an_account_that_a_scanner_verified_is_out(google: Providers, fakes: Fakes) -> None:
    planted = await plant(google, "ada@gmail.com", email_verified=True)
    mail = await google.api.request("POST", "/auth-collections/forgot-password", json={"email": "ada@gmail.com"})
    ends = await asyncio.gather(*(sign_in(google, fakes) for _ in range(3)))
    assert [end.error for end in ends] == [None] * 3
    (user,) = google.users()
    assert user["_id"] == planted["user"]["id"]
    assert user["identities"] == [{"issuer": fakes.issuer("google"), "subject": "1"}]
    assert (await google.api.as_user(planted["access_token"], "GET", "/auth-collections/user")).status_code == 401
    assert (await google.api.login("ada@gmail.com")).status_code == 401
    assert (await google.api.login("ada@gmail.com", "ada@gmail.com")).status_code == 401
    proof = {"flow_id": mail.json()["flow_id"], "code": "000000", "password": "another password"}
    answer = await google.api.request("POST", "/auth-collections/reset-password", json=proof)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_code")
    events = (await google.api.request("GET", "/auth-collections/events?type=identity_linked")).json()["events"]
    assert [event["detail"] for event in events] == [{"issuer": fakes.issuer("google")}]
    mails = (await google.api.request("GET", "/auth-collections/mails")).json()["mails"]
    assert [each["kind"] for each in mails] == ["password_changed"]
    assert (await sign_in(google, fakes, email="else@gmail.com")).error is None
    assert len(google.users()) == 1


async def test_p4_an_address_that_a_provider_asserts_is_not_confirmed_by_us(google: Providers, fakes: Fakes) -> None:
    """A careless provider vouches for any address: whoever owns it would else be joined to the planted account."""
    planted = await sign_up(google, "ada@example.com")
    await google.openid("careless")
    assert (await planted.link("careless", "ada")).status_code == 201
    (user,) = google.users()
    assert (user["email_verified"], user["email_asserted"], "oauth_id" in user) == (True, True, False)
    assert (await planted.ask("GET", USER)).json()["email_verified"] is True
    workspace = {"email": "ada@example.com", "hd": "example.com"}
    assert (await sign_in(google, fakes, **workspace)).error == HAS_PASSWORD
    # The proof lasts as long as the address, and so does what it is worth.
    (identity,) = await planted.identities()
    assert (await planted.remove(identity["id"])).status_code == 204
    assert (await planted.ask("GET", USER)).json()["email_verified"] is True
    assert (await sign_in(google, fakes, **workspace)).error == HAS_PASSWORD
    path = f"/auth-collections/users/{planted.id}"
    assert (await google.api.request("PATCH", path, json={"email_verified": True})).status_code == 200
    assert "email_asserted" not in google.users()[0]
    assert (await sign_in(google, fakes, **workspace)).error is None


async def test_v8_the_address_that_a_server_gives_to_a_providers_user_is_unproven(google: Providers) -> None:
    await google.openid("other")
    ada = await come_by(google, "other", "ada")
    path = f"/auth-collections/users/{ada.id}"
    for change, is_verified in (({"data": {"a": 1}}, True), ({"email": "boss@example.com"}, False)):
        changed = await google.api.request("PATCH", path, json=change)
        assert (changed.status_code, changed.json()["email_verified"]) == (200, is_verified)
        assert (await ada.ask("GET", USER)).json()["email_verified"] is is_verified
    assert "email_asserted" not in google.users()[0]


async def test_v11_a_reset_leaves_the_identities_of_a_user_whom_no_migration_has_met(
    google: Providers, services: Services
) -> None:
    await google.openid("other")
    await come_by(google, "other", "ada")
    earlier = {"email_verified": "", "email_asserted": ""}
    google.api.database["users"].update_one({}, {"$unset": earlier})
    asked = await ask(google.api, "forgot-password", email="ada@example.com")
    mail = await newest(services, google.api, "ada@example.com")
    proof = {"flow_id": asked.json()["flow_id"], "code": mail.code, "password": "correct horse"}
    assert (await ask(google.api, "reset-password", **proof)).status_code == 204
    (user,) = google.users()
    assert (user["email_verified"], user["oauth_id"], len(user["identities"])) == (True, "sub-ada", 1)
    assert "email_asserted" not in user


async def test_p4_only_the_authority_for_a_proven_address_links(google: Providers, fakes: Fakes) -> None:
    await plant(google, "ada@gmail.com", email_verified=True)
    await plant(google, "bea@example.com", email_verified=True)
    await plant(google, "cy@gmail.com", email_verified=True, disabled=True)
    await plant(google, "di@gmail.com", email_verified=True)
    google.api.database["users"].update_one({"email": "di@gmail.com"}, {"$set": {"totp": {"step": 1}}})
    before = google.users()
    # Google verified it once: by now the address may belong to another person.
    assert (await sign_in(google, fakes, email="bea@example.com")).error == HAS_PASSWORD
    assert (await sign_in(google, fakes, email="cy@gmail.com")).error == "authentication_failed"
    assert (await sign_in(google, fakes, email="di@gmail.com")).error == HAS_PASSWORD
    assert (await sign_in(google, fakes, email_verified=False)).error == "authentication_failed"
    await google.openid("other")
    assert (await google.sign_in("other", "ada")).error is None
    google.api.database["users"].update_one(
        {"oauth_id": "sub-ada"}, {"$set": {"email": "prov@gmail.com", "email_verified": True}}
    )
    assert (await sign_in(google, fakes, email="prov@gmail.com")).error == "authentication_failed"
    await link(google, "never")
    assert (await sign_in(google, fakes)).error == HAS_PASSWORD
    assert google.users()[:4] == before
    await link(google, "verified")
    assert (await sign_in(google, fakes, email="bea@example.com", hd="example.com")).error is None
