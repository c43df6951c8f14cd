"""Several providers of one project: each its own client, redirect URL and users."""

import pytest

from faults.provider import CLIENT_ID
from service.bounds import MAX_PROVIDERS
from service.errors import ConfigurationError
from tests.conftest import BASE_URL
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import CALLBACK, ending


async def test_a_provider_has_a_redirect_url_of_its_own_and_signs_people_in(providers: Providers) -> None:
    await providers.openid("staff")
    project_id = providers.api.project.id
    url = await providers.begin("staff", client_state="/basket")
    back = f"{BASE_URL}/auth-collections/auth-idp-redirect/{project_id}/staff"
    assert query_of(url)["redirect_uri"] == back
    assert query_of(url)["client_id"] == CLIENT_ID
    location = await providers.answer(url, "ada")
    assert location.startswith(f"{back}?")
    end = ending(await providers.follow(location))
    assert end.query["state"] == "/basket"
    (user,) = providers.users()
    assert user["identities"] == [{"issuer": providers.provider.issuer(), "subject": "sub-ada"}]
    assert (user["oauth_id"], user["email"]) == ("sub-ada", "ada@example.com")
    profile = await providers.api.as_user(end.token, "GET", "/auth-collections/user")
    assert profile.json()["id"] == user["_id"]
    assert (await providers.sign_in("staff", "ada")).error is None
    assert len(providers.users()) == 1


async def test_equal_subjects_at_two_issuers_are_two_users(providers: Providers) -> None:
    await providers.openid("one")
    await providers.openid("two", "named")
    await providers.oauth("three")
    await providers.sign_in("one", "ada")
    await providers.sign_in("two", "ada_new_address")
    assert (await providers.sign_in("three", "ada")).error == "authentication_failed"
    first, second = providers.users()
    assert first["oauth_id"] == second["oauth_id"] == "sub-ada"
    assert [user["identities"][0]["issuer"] for user in (first, second)] == [
        providers.provider.issuer(),
        providers.provider.issuer("named"),
    ]
    # Another name of a provider in the project changes no user.
    await providers.openid("renamed")
    await providers.sign_in("renamed", "ada")
    assert len(providers.users()) == 2


async def test_the_subject_of_a_user_from_before_identities_is_no_good_at_a_further_provider(
    providers: Providers,
) -> None:
    await providers.openid("one")
    await providers.sign_in("one", "ada")
    providers.api.database["users"].update_one({}, {"$unset": {"identities": ""}})
    await providers.openid("two", "named")
    assert (await providers.sign_in("two", "ada_new_address")).error is None
    assert len(providers.users()) == 2


async def test_a_plain_oauth_provider_signs_people_in(providers: Providers) -> None:
    await providers.oauth("plain", ISSUER="https://plain.example", CLIENT_AUTH="client_secret_post")
    location = await providers.answer(await providers.begin("plain"), "ada")
    assert ending(await providers.follow(location)).error is None
    (user,) = providers.users()
    assert user["identities"] == [{"issuer": "https://plain.example", "subject": "sub-ada"}]
    assert providers.provider.client_auth == ["client_secret_post"]


async def test_the_provider_of_the_idp_settings_stays_beside_others(providers: Providers) -> None:
    await providers.openid("staff", "named")
    issuer = providers.provider.issuer()
    settings = {
        "IDP_CLIENT_ID": CLIENT_ID,
        "IDP_CLIENT_SECRET": "x",
        "IDP_REDIRECT_URL": CALLBACK,
        "IDP_ISSUER": issuer,
    }
    await providers.services.base.admin.change(providers.api.project.id, settings)
    providers.services.base.projects.forget_all()
    for name in (None, "default"):
        assert query_of(await providers.begin(name))["redirect_uri"] == CALLBACK
    listed = await providers.services.base.providers.list(providers.api.project.id)
    assert [(entry.name, entry.preset, entry.redirect_url) for entry in listed] == [
        ("default", None, CALLBACK),
        ("staff", "oidc", f"{BASE_URL}/auth-collections/auth-idp-redirect/{providers.api.project.id}/staff"),
    ]


async def test_what_is_not_there_is_said(providers: Providers) -> None:
    unknown = await providers.login_idp("nobody")
    assert (unknown.status_code, unknown.json()) == (
        404,
        {"detail": "Provider not found", "code": "provider_not_found"},
    )
    path = f"/auth-collections/auth-idp-redirect/{providers.api.project.id}/nobody"
    assert (await providers.api.http.get(path)).json() == unknown.json()
    assert (await providers.login_idp("x" * 33)).status_code == 422
    await providers.openid("staff", CLIENT_SECRET="")
    missing = await providers.login_idp("staff")
    assert (missing.status_code, missing.json()["detail"]) == (400, "CLIENT_SECRET key missing")
    await providers.services.base.providers.set(providers.api.project.id, "staff", None, {"CLIENT_SECRET": "x"})
    await providers.services.base.admin.change(providers.api.project.id, {"IDP_COMPLETE_URL": ""})
    providers.services.base.projects.forget_all()
    missing = await providers.login_idp("staff")
    assert (missing.status_code, missing.json()["detail"]) == (400, "IDP_COMPLETE_URL key missing")


async def test_a_project_has_so_many_providers_and_no_more(providers: Providers) -> None:
    for number in range(MAX_PROVIDERS):
        await providers.openid(f"p{number}")
    with pytest.raises(ConfigurationError, match=f"at most {MAX_PROVIDERS} providers"):
        await providers.openid("one-too-many")
    await providers.openid("p0", "named")
    assert len(await providers.services.base.providers.list(providers.api.project.id)) == MAX_PROVIDERS
