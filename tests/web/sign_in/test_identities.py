"""Linking by hand, and what a page asks for its buttons."""

import asyncio
import re
import time
from datetime import UTC, datetime

import pytest

from faults.provider import CLIENT_ID, CLIENT_SECRET
from service.bounds import MAX_IDENTITIES
from service.services import Services
from tests.conftest import BASE_URL
from tests.web.sign_in.people import IDENTITIES, arrive, come_by, sign_up
from tests.web.sign_in.providers import Providers, query_of

METHODS = "/auth-collections/sign-in-methods"
NOBODYS = "0" * 24


@pytest.fixture
async def two(providers: Providers) -> Providers:
    """A project with two providers."""
    await providers.openid("staff")
    await providers.openid("club", issuer="named")
    return providers


@pytest.fixture
def site_settings(two: Providers) -> dict[str, str]:
    """Those of the provider that a project has in its settings."""
    return {
        "IDP_CLIENT_ID": CLIENT_ID,
        "IDP_CLIENT_SECRET": CLIENT_SECRET,
        "IDP_REDIRECT_URL": f"{BASE_URL}/auth-collections/auth-idp-redirect/{two.api.project.id}",
        "IDP_ISSUER": two.provider.issuer(),
    }


async def set_anonymous(providers: Providers, services: Services) -> None:
    changes, project = services.base.setting_changes, providers.api.project
    await changes.change(project.id, {"ANONYMOUS": "on"})


async def mails_of(providers: Providers) -> list[str]:
    answer = await providers.api.request("GET", "/auth-collections/mails")
    return [each["kind"] for each in answer.json()["mails"]]


async def test_a_linked_identity_signs_in_until_it_is_removed(two: Providers) -> None:
    ann = await sign_up(two)
    assert await ann.identities() == []
    brought = await ann.bring("staff", "ada", client_state="/me")
    assert brought.keys() == {"keep", "svc-code", "state"}
    assert await ann.identities() == []
    linked = await ann.confirm(brought["svc-code"])
    assert linked.status_code == 201, linked.text
    (identity,) = await ann.identities()
    assert linked.json() == identity
    assert identity.keys() == {"id", "provider", "email", "created_at", "last_used_at"}
    assert (identity["provider"], identity["last_used_at"]) == ("staff", None)
    assert "sub-ada" not in linked.text
    user = two.users()[0]
    assert (user["identities"][0]["subject"], "oauth_id" in user) == ("sub-ada", False)
    again = await come_by(two, "staff", "ada")
    assert again.id == ann.id
    assert (await ann.identities())[0]["last_used_at"] is not None
    # The password is as good as it was, and so are the sessions.
    assert (await two.api.login()).status_code == 200
    assert (await ann.remove(identity["id"])).status_code == 204
    assert (await ann.remove(identity["id"])).json()["code"] == "identity_not_found"
    assert await ann.identities() == []
    assert "identities" not in two.users()[0]
    stranger = await come_by(two, "staff", "ada")
    assert stranger.id != ann.id


async def test_the_user_and_the_project_are_told(two: Providers) -> None:
    ann = await sign_up(two)
    identity = (await ann.link("staff", "ada")).json()
    await ann.remove(identity["id"])
    assert await mails_of(two) == ["identity_changed"] * 2
    events = (await ann.ask("GET", "/auth-collections/user/events")).json()["events"]
    told = {each["type"]: each for each in events if each["type"].startswith("identity")}
    assert told.keys() == {"identity_linked", "identity_removed"}
    for event in told.values():
        assert event["detail"] == {"issuer": two.provider.issuer(), "provider": "staff"}
        assert (event["actor"], event["user_id"]) == ("user", ann.id)


async def test_an_identity_of_somebody_else_is_in_use(two: Providers) -> None:
    ada = await come_by(two, "staff", "ada")
    ann = await sign_up(two)
    brought = await ann.bring("staff", "ada")
    refused = await ann.confirm(brought["svc-code"])
    assert (refused.status_code, refused.json()) == (
        409,
        {"detail": "Somebody else signs in with this", "code": "identity_in_use"},
    )
    assert (await ann.confirm(brought["svc-code"])).json()["code"] == "invalid_code"
    assert await ann.identities() == []
    assert len(await ada.identities()) == 1
    assert await mails_of(two) == []


async def test_a_link_that_was_begun_before_there_was_a_factor_is_confirmed_with_it_only(two: Providers) -> None:
    ann = await sign_up(two)
    code = (await ann.bring("staff", "ada"))["svc-code"]
    totp = {"id": "1", "name": "App", "sealed": "", "step": 1, "created_at": datetime.now(UTC)}
    two.api.database["users"].update_one({"_id": ann.id}, {"$set": {"totp": totp}})
    refused = await ann.confirm(code)
    assert (refused.status_code, refused.json()["code"]) == (403, "step_up_required")
    assert "insufficient_user_authentication" in refused.headers["www-authenticate"]
    two.api.database["users"].update_one({"_id": ann.id}, {"$unset": {"totp": ""}})
    assert (await ann.confirm(code)).json()["code"] == "invalid_code"
    assert await ann.identities() == []


async def test_one_identity_for_two_users_at_once_is_one_users(two: Providers) -> None:
    people = [await sign_up(two, f"{name}@example.com") for name in ("ann", "bob", "cy")]
    codes = [(await person.bring("staff", "ada"))["svc-code"] for person in people]
    answers = await asyncio.gather(*(person.confirm(code) for person, code in zip(people, codes, strict=True)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    assert sum([len(await person.identities()) for person in people]) == 1


async def test_what_the_user_has_already_stays_as_it_is(two: Providers) -> None:
    ada = await come_by(two, "staff", "ada")
    before = await ada.identities()
    codes = [(await ada.bring("staff", "ada"))["svc-code"] for _ in range(3)]
    answers = await asyncio.gather(*(ada.confirm(code) for code in codes))
    assert [answer.status_code for answer in answers] == [201] * 3
    assert [answer.json() for answer in answers] == before * 3
    assert await ada.identities() == before
    assert await mails_of(two) == []


async def test_a_user_from_before_identities_keeps_the_first_one(two: Providers, site_settings: dict[str, str]) -> None:
    await two.services.base.admin.change(two.api.project.id, site_settings)
    two.services.base.projects.forget_all()
    first = await come_by(two, None, "ada")
    two.api.database["users"].update_one({"_id": first.id}, {"$unset": {"identities": 1}})
    bob = await sign_up(two, "bob@example.com")
    # An identity known by its subject alone belongs to its user, too.
    assert (await bob.link("default", "ada")).json()["code"] == "identity_in_use"
    assert (await first.link("club", "björn")).status_code == 201
    assert [each["provider"] for each in await first.identities()] == ["club"]
    again = await come_by(two, None, "ada")
    assert again.id == first.id
    assert [each["provider"] for each in await first.identities()] == ["club", "default"]
    club, _ = await first.identities()
    assert (await first.remove(club["id"])).status_code == 204
    assert (await come_by(two, None, "ada")).id == first.id


async def test_who_removed_the_first_identity_is_known_by_the_next(two: Providers) -> None:
    ada = await come_by(two, "staff", "ada")
    assert two.users()[0]["oauth_id"] == "sub-ada"
    assert (await ada.link("club", "björn")).status_code == 201
    staff, _ = await ada.identities()
    assert (await ada.remove(staff["id"])).status_code == 204
    assert two.users()[0]["oauth_id"] == "sub-bjorn"
    # The last one stays, and so does who it is.
    club = (await ada.identities())[0]
    refused = await ada.remove(club["id"])
    assert (refused.status_code, refused.json()) == (
        409,
        {"detail": "This is the last way to sign in", "code": "last_sign_in_method"},
    )
    assert (await come_by(two, "club", "björn")).id == ada.id


@pytest.mark.parametrize(
    ("way", "is_one"),
    [
        ({"password": "$2b$04$abcdefghijklmnopqrstuu"}, True),
        ({"password": "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"}, True),
        ({"password": "ada@example.com"}, False),
        ({"password": "x$2b$@example.com"}, False),
        ({"passkeys": [{"id": "a"}]}, True),
        ({"passkeys": []}, False),
        ({"email_verified": True}, False),
        ({"totp": {"step": 1}}, False),
        ({"recovery": ["x"]}, False),
    ],
)
async def test_passwords_identities_and_passkeys_are_ways_to_sign_in_and_nothing_else(
    two: Providers, services: Services, way: dict[str, object], is_one: bool
) -> None:
    ada = await come_by(two, "staff", "ada")
    # A user with a passkey would be asked for it first.
    await services.base.admin.change(two.api.project.id, {"MFA": "off"})
    services.base.projects.forget_all()
    two.api.database["users"].update_one({"_id": ada.id}, {"$set": way})
    (known,) = await ada.identities()
    assert (await ada.remove(known["id"])).status_code == (204 if is_one else 409)
    assert len(await ada.identities()) == (0 if is_one else 1)


async def test_what_changes_identities_is_for_who_signed_in_lately(
    two: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = await sign_up(two)
    brought = await ann.bring("staff", "ada")
    moment = time.time() + 660
    monkeypatch.setattr("service.domain.sessions.step_up.time.time", lambda: moment)
    for method, path, body in (
        ("POST", IDENTITIES, {"provider": "staff", "code_challenge": "A" * 43}),
        ("DELETE", f"{IDENTITIES}/{NOBODYS}", None),
    ):
        answer = await ann.ask(method, path, **({} if body is None else {"json": body}))
        assert (answer.status_code, answer.json()["code"]) == (403, "step_up_required"), path
        assert 'max_age="600"' in answer.headers["www-authenticate"]
    assert await ann.identities() == []
    assert (await ann.confirm(brought["svc-code"])).status_code == 201


async def test_a_link_is_bound_to_its_browser_where_sign_ins_are(two: Providers) -> None:
    await two.services.base.admin.change(two.api.project.id, {"IDP_BIND_BROWSER": "true", "REDIRECT_URLS": "app:/me"})
    two.services.base.projects.forget_all()
    ann = await sign_up(two)
    assert (await ann.bring("staff", "ada"))["svc-error"] == "authentication_failed"
    begun = await ann.begin("staff", redirect_to="app:/me")
    cookie = begun.headers["set-cookie"].partition(";")[0]
    location = await two.answer(begun.json()["url"], "ada")
    landed = (await two.api.http.get(location, headers={"cookie": cookie})).headers["location"]
    assert landed.startswith("app:/me?svc-code=")
    assert (await ann.confirm(query_of(landed)["svc-code"])).status_code == 201


async def test_a_dead_token_sees_and_changes_nothing(two: Providers) -> None:
    ann = await sign_up(two)
    brought = await ann.bring("staff", "ada")
    two.api.database["users"].update_one({"_id": ann.id}, {"$inc": {"token_version": 1}})
    answers = [
        await ann.ask("GET", IDENTITIES),
        await ann.begin("staff"),
        await ann.confirm(brought["svc-code"]),
        await ann.remove(NOBODYS),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(401, "invalid_token")] * 4
    assert "identities" not in two.users()[0]


async def test_what_is_asked_for_is_checked(two: Providers) -> None:
    ann = await sign_up(two)
    good = {"provider": "staff", "code_challenge": "A" * 43}
    rows: tuple[tuple[dict[str, str], str], ...] = (
        ({"provider": "staff"}, "code_challenge"),
        ({**good, "code_challenge": "A" * 42}, "code_challenge"),
        ({**good, "redirect_to": "https://evil.example"}, "redirect_to"),
        ({**good, "client_state": "x" * 513}, "client_state"),
        ({**good, "user_id": ann.id}, "user_id"),
    )
    for body, name in rows:
        answer = await ann.ask("POST", IDENTITIES, json=body)
        assert answer.status_code == 422, body
        assert answer.json()["detail"][0]["loc"] == ["body", name]
    unknown = await ann.ask("POST", IDENTITIES, json={**good, "provider": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "provider_not_found")
    for account, error in (("unverified", "authentication_failed"), ("no_email", "no_email_provided")):
        assert (await ann.bring("staff", account))["svc-error"] == error


async def test_a_user_has_only_so_many_identities(two: Providers) -> None:
    ann = await sign_up(two)
    many = [{"issuer": "https://x.example", "subject": str(number)} for number in range(MAX_IDENTITIES)]
    two.api.database["users"].update_one({"_id": ann.id}, {"$set": {"identities": many}})
    shown = await ann.identities()
    assert shown[0] | {"id": ""} == {
        "id": "",
        "provider": None,
        "email": None,
        "created_at": None,
        "last_used_at": None,
    }
    refused = await ann.link("staff", "ada")
    assert (refused.status_code, refused.json()["code"]) == (409, "identity_limit")
    await ann.remove(shown[0]["id"])
    assert (await ann.link("staff", "ada")).status_code == 201


async def test_an_account_takes_its_identities_along(two: Providers) -> None:
    ada = await come_by(two, "staff", "ada")
    assert (await ada.ask("DELETE", "/auth-collections/user")).status_code == 204
    again = await come_by(two, "staff", "ada")
    assert again.id != ada.id
    assert (await two.api.request("DELETE", f"/auth-collections/users/{again.id}")).status_code == 204
    assert (await come_by(two, "staff", "ada")).id not in {ada.id, again.id}


async def test_a_page_learns_which_buttons_to_show(two: Providers, site_settings: dict[str, str]) -> None:
    usual = {"password": True, "email": True, "passkey": False, "usernames": False, "anonymous": False}
    staff, club = {"id": "staff", "name": "staff"}, {"id": "club", "name": "club"}
    await two.set("google")
    await two.set("apple")
    # A provider without a working sign-in is no button: Apple's key is missing.
    expected = {**usual, "providers": [staff, club, {"id": "google", "name": "Google"}]}
    project, publishable = two.api.project.id, {"x-api-key": two.api.publishable_key}
    answers = [
        await two.api.request("GET", METHODS),
        await two.api.http.get(METHODS, headers=publishable),
        await two.api.http.get(METHODS, params={"project_id": project}),
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, expected)] * 3
    assert (await two.api.http.get(METHODS, params={"project_id": "nobody"})).status_code == 404
    assert (await two.api.request("GET", METHODS, params={"provider": "staff"})).status_code == 422
    await two.services.base.admin.change(project, site_settings)
    two.services.base.projects.forget_all()
    default = {"id": "default", "name": "default"}
    assert (await two.api.request("GET", METHODS)).json()["providers"][0] == default
    login = await two.api.http.get("/auth-collections/login-idp", headers=publishable, params={"provider": "staff"})
    assert login.status_code == 200


async def test_j17_a_provider_gives_an_anonymous_user_an_account(two: Providers, services: Services) -> None:
    await set_anonymous(two, services)
    guest = await arrive(two)
    assert (await guest.link("staff", "ada")).status_code == 201
    (user,) = two.users()
    assert (user["_id"], user["email"], user["email_verified"]) == (guest.id, "ada@example.com", True)
    assert not {"anonymous", "active_on"} & user.keys()
    # The session lives on, without the rights of a sign-in just now; one by the provider is of the account.
    assert (await guest.begin("club")).json()["code"] == "step_up_required"
    back = await come_by(two, "staff", "ada")
    assert (back.id, back.email) == (guest.id, "ada@example.com")
    # An identity or an address of another user is refused, and the anonymous user stays.
    second = await arrive(two)
    taken = await second.link("staff", "ada")
    assert (taken.status_code, taken.json()["code"]) == (409, "identity_in_use")
    await sign_up(two, "nameless@example.com")
    named = await second.link("staff", "nameless")
    assert (named.status_code, named.json()["code"]) == (409, "email_already_registered")
    profile = (await second.ask("GET", "/auth-collections/user")).json()
    assert (profile["email"], profile["data"]) == (None, {"cart": ["a1"]})


async def test_j23_a_taken_name_of_a_provider_gets_a_number(two: Providers, services: Services) -> None:
    await services.base.setting_changes.change(two.api.project.id, {"USERNAMES": "required"})
    await two.api.signup(username="Ada_Lovelace")
    ada = await come_by(two, "staff", "ada")
    (made,) = [user for user in two.users() if user["_id"] == ada.id]
    assert re.fullmatch(r"ada_lovelace_\d{1,6}", made["data"]["username"])
