"""Each preset against a fake that is made from the provider's own documentation."""

from dataclasses import replace
from typing import Any

import pytest

from faults.provider import CLIENT_ID
from service.domain.sign_in.registration import named_registration
from service.errors import ConfigurationError, SignInFailed, Unavailable
from service.outbound.fetching import Outbound
from service.providers import FlowSecrets, Gateway
from service.providers.odd_profiles import odd_profile
from service.providers.registration import presets
from tests.conftest import BASE_URL
from tests.web.sign_in.fakes import APPLE_KEY, KEY_ID, TEAM_ID
from tests.web.sign_in.site import ending

PEM = APPLE_KEY.as_pem(private=True).decode()


ADA = {"sub": "1", "email": "ada@example.com", "email_verified": True, "name": "Ada Lovelace"}


async def test_google_signs_people_in_and_is_the_authority_for_its_own_addresses(make_preset: Any) -> None:
    google = await make_preset("google")
    assert (await google.sign_in(ADA)).error is None
    assert (await google.sign_in({**ADA, "sub": "2", "email": "b@x.example", "email_verified": False})).error
    (user,) = google.providers.users()
    assert user["identities"] == [{"issuer": google.fakes.issuer("google"), "subject": "1"}]
    google.providers.services.base.projects.forget_all()
    project = await google.providers.services.base.projects.by_id(google.providers.api.project.id)
    registration = named_registration(project, "google", BASE_URL)
    rows: tuple[tuple[dict[str, Any], bool], ...] = (
        ({"email": "Ada@GMAIL.com"}, True),
        ({"email": "ada@example.com", "hd": "example.com"}, True),
        ({"email": "ada@example.com"}, False),
        ({"email": "ada@example.com", "hd": ""}, False),
        ({"email": "ada@notgmail.com.example"}, False),
        ({"email": "ada@gmail.com", "email_verified": False}, False),
        ({"email": "ada@gmail.com", "email_verified": "true"}, False),
    )
    for claims, is_authoritative in rows:
        profile = odd_profile({**ADA, "iss": "x", **claims}, None, registration)
        assert profile.is_authoritative is is_authoritative, claims


async def test_apple_takes_a_signed_secret_and_posts_its_answer(make_preset: Any) -> None:
    apple = await make_preset("apple", TEAM_ID=TEAM_ID, KEY_ID=KEY_ID, PRIVATE_KEY=PEM.replace("\n", "\\n"))
    asked = await apple.begin()
    assert (asked["response_mode"], asked["scope"]) == ("form_post", "openid email name")
    person = {"sub": "000.1", "email": "ada@privaterelay.appleid.com", "email_verified": "true"}
    user = '{"name": {"firstName": "Ada", "lastName": "Lovelace"}, "email": "victim@example.com"}'
    assert (await apple.sign_in(person, {"user": user})).error is None
    (stored,) = apple.providers.users()
    assert (stored["email"], stored["data"]) == (person["email"], {"username": "ada_lovelace"})
    for odd in ('{"name": 1}', "[]", "{", '{"name": {"firstName": {}}}'):
        assert (await apple.sign_in(person, {"user": odd})).error is None
    assert (await apple.sign_in({**person, "sub": "2", "email": "x@y.example", "email_verified": "false"}, {})).error
    assert (await apple.sign_in({**person, "iss": "https://account.apple.com"}, {})).error == "authentication_failed"
    assert len(apple.providers.users()) == 1
    shown = await apple.providers.services.base.providers.find(apple.providers.api.project.id, "apple")
    assert shown.settings["PRIVATE_KEY"].startswith("-----BEGIN")
    for key in ("no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"):
        with pytest.raises(ConfigurationError, match="PRIVATE_KEY: must be a private key on P-256, as PEM") as caught:
            await apple.set(PRIVATE_KEY=key)
        assert key not in str(caught.value)
    await apple.providers.services.base.providers.set(apple.providers.api.project.id, "apple", None, {"KEY_ID": None})
    missing = await apple.providers.login_idp("apple")
    assert missing.json()["detail"] == "KEY_ID key missing"


async def test_apple_has_two_names_in_its_document_and_its_tokens(make_preset: Any) -> None:
    apple = await make_preset("apple", TEAM_ID=TEAM_ID, KEY_ID=KEY_ID, PRIVATE_KEY=PEM)
    apple.providers.services.base.projects.forget_all()
    project = await apple.providers.services.base.projects.by_id(apple.providers.api.project.id)
    by_one_name, usual, other = (
        named_registration(project, "apple", BASE_URL),
        apple.fakes.issuer("apple"),
        f"{apple.fakes.base}/account",
    )
    by_both = replace(by_one_name, quirks=replace(by_one_name.quirks, issuers=(other,)))
    apple.fakes.document.update(issuer=other)
    proofs = FlowSecrets(state="s", nonce="n", code_verifier="v")
    outbound = Outbound()
    gateway = Gateway(outbound)
    # A project that knows one of the issuer's names does not hinder those that know both.
    with pytest.raises(Unavailable):
        await gateway.authorize_url(by_one_name, proofs)
    assert await gateway.authorize_url(by_both, proofs)
    person = {"sub": "000.1", "email": "ada@example.com", "email_verified": "true"}
    for issuer in (usual, other):
        token = apple.fakes.id_token("apple", CLIENT_ID, "n", {**person, "iss": issuer})
        profile = await gateway.judge_token(by_both, token, "n")
        assert (profile.issuer, profile.subject, profile.email_verified) == (usual, "000.1", True)
    token = apple.fakes.id_token("apple", CLIENT_ID, "n", {**person, "iss": "https://evil.example"})
    with pytest.raises(SignInFailed):
        await gateway.judge_token(by_both, token, "n")
    await outbound.aclose()
    assert presets()["apple"].issuers == ("https://account.apple.com",)


async def test_github_gives_its_primary_address_where_that_is_verified(make_preset: Any) -> None:
    github = await make_preset("github")
    person = {"id": 583231, "login": "octocat", "name": None, "email": "public@example.com"}
    primary = {"email": "Ada@example.com", "primary": True, "verified": True, "visibility": "public"}
    other = {"email": "old@example.com", "primary": False, "verified": True, "visibility": None}
    rows: tuple[tuple[list[Any], str | None], ...] = (
        ([], "no_email_provided"),
        ([other], "no_email_provided"),
        ([other, {**primary, "verified": False}], "authentication_failed"),
        ([other, {**primary, "verified": "true"}], "authentication_failed"),
        (["x", other, primary], None),
    )
    for addresses, error in rows:
        github.fakes.addresses[:] = addresses
        assert (await github.sign_in(person)).error == error, addresses
    assert (await github.sign_in(person, iss="https://github.com/login/oauth")).error is None
    assert (await github.sign_in(person, iss="https://evil.example")).error == "authentication_failed"
    # GitHub says with 200 that a code is no good.
    asked = await github.begin()
    spent = await github.providers.api.http.get(asked["redirect_uri"], params={"code": "x", "state": asked["state"]})
    assert ending(spent).error == "invalid_authorization_code"
    (user,) = github.providers.users()
    assert (user["email"], user["data"]["username"]) == ("ada@example.com", "octocat")
    assert user["identities"] == [{"issuer": "https://github.com/login/oauth", "subject": "583231"}]


async def test_gitlab_is_any_instance_by_its_issuer(make_preset: Any) -> None:
    gitlab = await make_preset("gitlab")
    assert (await gitlab.sign_in({**ADA, "sub": "42"})).error is None
    assert (await gitlab.sign_in({**ADA, "sub": "43", "email": "b@example.com", "email_verified": False})).error
    assert [user["oauth_id"] for user in gitlab.providers.users()] == ["42"]


async def test_discord_says_verified_of_the_address(make_preset: Any) -> None:
    discord = await make_preset("discord")
    person = {"id": "80351110224678912", "username": "nelly", "global_name": "Nelly", "email": "nelly@example.com"}
    for word in ({}, {"verified": False}, {"verified": None}, {"email_verified": True}):
        assert (await discord.sign_in({**person, **word})).error == "authentication_failed", word
    assert (await discord.sign_in({**person, "verified": True, "email": None})).error == "no_email_provided"
    assert (await discord.sign_in({**person, "verified": True})).error is None
    (user,) = discord.providers.users()
    assert (user["oauth_id"], user["data"]["username"]) == ("80351110224678912", "nelly")


def test_every_preset_is_complete() -> None:
    for name, preset in presets().items():
        urls = (preset.authorize_url, preset.token_url, preset.userinfo_url)
        assert name in {"oidc", "oauth2"} or bool(preset.issuer if preset.kind == "openid" else all(urls)), name
        assert preset.title
        assert preset.scopes
