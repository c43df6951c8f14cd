"""Each preset against a fake that is made from the provider's own documentation. Row P2."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from faults.provider import CLIENT_ID, CLIENT_SECRET
from service.domain.sign_in.registration import named_registration
from service.errors import ConfigurationError
from service.providers.odd_profiles import odd_profile
from service.providers.presets import presets
from tests.conftest import BASE_URL
from tests.web.sign_in.fakes import APPLE_KEY, KEY_ID, OTHER_TENANT, TEAM_ID, TENANT, Fakes, running_fakes
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import Ending, ending

PEM = APPLE_KEY.as_pem(private=True).decode()


@pytest.fixture(scope="module")
def fakes_server() -> Iterator[Fakes]:
    with running_fakes() as fakes:
        yield fakes


@dataclass(frozen=True)
class Preset:
    """A project with one provider, of a preset, and the fake of that."""

    providers: Providers
    fakes: Fakes
    name: str

    async def begin(self) -> dict[str, str]:
        return query_of(await self.providers.begin(self.name))

    async def sign_in(self, claims: dict[str, Any], form: dict[str, str] | None = None, **more: str) -> Ending:
        """`form` is what is posted beside; without it the answer is in the URL."""
        asked = await self.begin()
        answer = {"code": self.fakes.grant(self.name, asked, claims), "state": asked["state"], **more}
        if form is not None:
            return ending(await self.providers.api.http.post(asked["redirect_uri"], data=answer | form))
        return ending(await self.providers.api.http.get(asked["redirect_uri"], params=answer))

    async def set(self, **settings: str) -> None:
        place = f"{self.fakes.base}/{self.name}"
        urls = {"AUTHORIZE_URL": f"{place}/authorize", "TOKEN_URL": f"{place}/token", "USERINFO_URL": f"{place}/user"}
        openid = presets()[self.name].kind == "openid"
        usual = {"ISSUER": self.fakes.issuer(self.name)} if openid else urls
        await self.providers.services.providers.set(
            self.providers.api.project.id, self.name, None, {"CLIENT_ID": CLIENT_ID, **usual, **settings}
        )


@pytest.fixture
def make_preset(providers: Providers, fakes_server: Fakes) -> Any:
    async def make(name: str, **settings: str) -> Preset:
        fakes_server.asked.clear()
        fakes_server.document.clear()
        preset = Preset(providers, fakes_server, name)
        secret = {"CLIENT_SECRET": CLIENT_SECRET} if presets()[name].secret == "fixed" else {}
        await preset.set(**secret, **settings)
        return preset

    return make


ADA = {"sub": "1", "email": "ada@example.com", "email_verified": True, "name": "Ada Lovelace"}


async def test_google_signs_people_in_and_is_the_authority_for_its_own_addresses(make_preset: Any) -> None:
    google = await make_preset("google")
    assert (await google.sign_in(ADA)).error is None
    assert (await google.sign_in({**ADA, "sub": "2", "email": "b@x.example", "email_verified": False})).error
    (user,) = google.providers.users()
    assert user["identities"] == [{"issuer": google.fakes.issuer("google"), "subject": "1"}]
    google.providers.services.projects.forget_all()
    project = await google.providers.services.projects.by_id(google.providers.api.project.id)
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


async def test_p2_microsoft_without_xms_edov_or_of_another_tenant_signs_nobody_in(make_preset: Any) -> None:
    microsoft = await make_preset("microsoft")
    person = {"sub": "1", "tid": TENANT, "email": "victim@example.com", "name": "Ada"}
    for word in (
        {},
        {"xms_edov": False},
        {"xms_edov": "0"},
        {"xms_edov": "false"},
        {"xms_edov": 1},
        {"xms_edov": None},
    ):
        assert (await microsoft.sign_in({**person, **word, "email_verified": True})).error == "authentication_failed", (
            word
        )
    for tenant in ("", "common", TENANT.upper(), f"{TENANT}/x", None):
        end = await microsoft.sign_in({**person, "tid": tenant, "xms_edov": True})
        assert end.error == "authentication_failed", tenant
    foreign = {
        **person,
        "xms_edov": True,
        "iss": microsoft.fakes.issuer("microsoft").replace("{tenantid}", OTHER_TENANT),
    }
    assert (await microsoft.sign_in(foreign)).error == "authentication_failed"
    assert microsoft.providers.users() == []
    assert (await microsoft.sign_in({**person, "xms_edov": "1"})).error is None
    assert (
        await microsoft.sign_in({**person, "tid": OTHER_TENANT, "xms_edov": True, "email": "o@example.com"})
    ).error is None
    issuers = [user["identities"][0]["issuer"].split("/")[-2] for user in microsoft.providers.users()]
    assert issuers == [TENANT, OTHER_TENANT]
    assert not [path for path in microsoft.fakes.asked if path.endswith("/user")]
    for tenants in (TENANT, f"{TENANT},22222222-2222-3333-4444-555555555555"):
        await microsoft.set(TENANTS=tenants)
        end = await microsoft.sign_in({**person, "tid": OTHER_TENANT, "xms_edov": True, "email": "o@example.com"})
        assert end.error == "authentication_failed", tenants
        assert (await microsoft.sign_in({**person, "xms_edov": True})).error is None, tenants
    assert len(microsoft.providers.users()) == 2
    with pytest.raises(ConfigurationError, match="TENANTS: must be ids of tenants"):
        await microsoft.set(TENANTS="contoso.com")


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
    shown = await apple.providers.services.providers.find(apple.providers.api.project.id, "apple")
    assert shown.settings["PRIVATE_KEY"].startswith("-----BEGIN")
    for key in ("no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"):
        with pytest.raises(ConfigurationError, match="PRIVATE_KEY: must be a private key on P-256, as PEM") as caught:
            await apple.set(PRIVATE_KEY=key)
        assert key not in str(caught.value)
    await apple.providers.services.providers.set(apple.providers.api.project.id, "apple", None, {"KEY_ID": None})
    missing = await apple.providers.login_idp("apple")
    assert missing.json()["detail"] == "KEY_ID key missing"


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
