"""The page docs/examples/sign-in in a real browser: every way to sign in, and passkeys with the browser's own authenticator."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from faults.commands import Shell
from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from faults.provider.server import running_provider
from service.cli.running import run_on
from service.domain.accounts.factor_codes import STEP_SECONDS, code_at
from service.settings import Settings
from tests.chromium import needs_chromium
from tests.served.browser import EXAMPLES, PATIENCE_MS, Site, add_device, shoot, window
from tests.served.conftest import Served
from tests.served.packages import needs_packages

PROJECT = "signing"
PASSWORD = "correct horse"
pytestmark = [needs_packages, needs_chromium]
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


def make_project(settings: dict[str, str], served: Served, page: str, project_id: str, **more: str) -> Site:
    """A project whose users sign in on the page at that address."""
    origin = page.partition("/sign-in/")[0]
    allowed = {
        **{f"{name}_LIMIT": "0" for name in ("SIGNUP", "LOGIN", "AUTH", "MAIL_REQUEST", "CODE")},
        "TIER": "enterprise",
        "CORS_ORIGINS": origin,
        "REDIRECT_URLS": page,
        "WEBAUTHN_RP_ID": "localhost",
        "WEBAUTHN_ORIGINS": origin,
        **more,
    }
    environment = Settings(**{name.lower(): value for name, value in settings.items()})  # type: ignore[arg-type]
    _, keys = run_on(environment, lambda services: services.base.admin.create("Signing", project_id, allowed))
    query = urlencode({"service": served.base_url, "key": keys.publishable})
    return Site(f"{page}?{query}", served.base_url, keys.publishable, keys.secret)


@dataclass(frozen=True)
class Sites:
    """`strict` asks everybody for a second factor; `elsewhere` lets another origin's pages ask for passkeys."""

    usual: Site
    strict: Site
    elsewhere: Site


@pytest.fixture(scope="session")
def sites(served: Served, served_settings: dict[str, str], pages: str, provider: Provider) -> Sites:
    page = f"{pages.replace('127.0.0.1', 'localhost')}/sign-in/"
    at_provider = {
        "IDP_ISSUER": provider.issuer(),
        "IDP_CLIENT_ID": CLIENT_ID,
        "IDP_CLIENT_SECRET": CLIENT_SECRET,
        "IDP_REDIRECT_URL": f"{served.base_url}/auth-collections/auth-idp-redirect/{PROJECT}",
        "IDP_COMPLETE_URL": page,
    }
    wrong = {"WEBAUTHN_ORIGINS": "https://app.example.com"}
    return Sites(
        make_project(served_settings, served, page, PROJECT, **at_provider),
        make_project(served_settings, served, page, "strictly", MFA="required"),
        make_project(served_settings, served, page, "elsewhere", **wrong),
    )


@pytest.fixture(scope="session")
def site(sites: Sites) -> Site:
    return sites.usual


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with window(browser) as opened:
        yield opened


@pytest.fixture
def mails(served_settings: dict[str, str]) -> Shell:
    return Shell({**os.environ, **served_settings})


def newest(mails: Shell, to: str) -> dict[str, Any]:
    """The newest mail to an address."""
    found = mails.json("mail", "list", "--project", PROJECT)
    return next(mail for mail in found if mail["to"] == to)


def fill(page: Page, label: str, text: str) -> None:
    """In the form that is shown."""
    page.locator("form:visible").get_by_label(label).fill(text)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def sign_up(page: Page, site: Site, email: str) -> None:
    page.goto(site.url)
    fill(page, "E-mail", email)
    fill(page, "Password", PASSWORD)
    press(page, "Sign up")


def log_in(page: Page, email: str) -> None:
    fill(page, "E-mail", email)
    fill(page, "Password", PASSWORD)
    press(page, "Log in")


def expect_in(page: Page, email: str, level: str) -> None:
    expect(page.get_by_text(f"Signed in as {email}.")).to_be_visible()
    expect(page.locator("#level")).to_have_text(level)


def test_a_password_signs_up_and_in(page: Page, site: Site) -> None:
    page.goto(site.url)
    expect(page.get_by_role("button", name="Use a passkey", exact=True)).to_be_visible()
    shoot(page, "sign-in-enter")
    sign_up(page, site, "ann@example.com")
    expect_in(page, "ann@example.com", "Level 1, by pwd.")
    page.reload()
    expect_in(page, "ann@example.com", "Level 1, by pwd.")
    press(page, "Sign out")
    fill(page, "E-mail", "ann@example.com")
    fill(page, "Password", "wrong")
    press(page, "Log in")
    expect(page.get_by_role("alert")).to_have_text("Invalid email or password")
    shoot(page, "sign-in-refused")
    log_in(page, "ann@example.com")
    expect_in(page, "ann@example.com", "Level 1, by pwd.")


def test_a_code_of_a_mail_signs_in(page: Page, site: Site, mails: Shell) -> None:
    page.goto(site.url)
    fill(page, "E-mail", "ben@example.com")
    press(page, "Mail me a code")
    expect(page.get_by_text("We have mailed a code to ben@example.com.")).to_be_visible()
    shoot(page, "sign-in-mailed")
    fill(page, "Code", newest(mails, "ben@example.com")["code"])
    press(page, "Go on")
    expect_in(page, "ben@example.com", "Level 1, by email.")


def test_the_link_of_a_mail_signs_in_in_this_browser(page: Page, site: Site, mails: Shell) -> None:
    page.goto(site.url)
    fill(page, "E-mail", "cid@example.com")
    press(page, "Mail me a code")
    expect(page.get_by_text("We have mailed a code to cid@example.com.")).to_be_visible()
    page.goto(newest(mails, "cid@example.com")["link"])
    page.get_by_role("button").click()
    expect_in(page, "cid@example.com", "Level 1, by email.")
    assert page.url == site.url.partition("?")[0]


def test_a_provider_signs_in_and_its_token_is_in_no_address(page: Page, site: Site) -> None:
    page.goto(site.url)
    press(page, "Go on with the provider")
    page.get_by_label("Sign in as").select_option("ada")
    press(page, "Sign in")
    expect(page.locator("#level")).to_have_text("Level 1, by idp.")
    assert page.url == site.url.partition("?")[0]


def test_a_passkey_signs_in_without_a_name_and_after_a_password(page: Page, site: Site) -> None:
    session, device = add_device(page)
    sign_up(page, site, "dora@example.com")
    press(page, "Add a passkey")
    expect(page.locator("#recovery-codes li")).to_have_count(10)
    shoot(page, "sign-in-codes")
    press(page, "I have kept them")
    expect_in(page, "dora@example.com", "Level 2, by pwd and pop.")
    expect(page.get_by_role("list", name="Second factors").get_by_role("listitem")).to_have_count(1)
    shoot(page, "sign-in-account")
    (credential,) = session.send("WebAuthn.getCredentials", {"authenticatorId": device})["credentials"]
    assert (credential["isResidentCredential"], credential["rpId"]) == (True, "localhost")
    press(page, "Sign out")
    press(page, "Use a passkey")
    expect_in(page, "dora@example.com", "Level 2, by pop.")
    press(page, "Sign out")
    log_in(page, "dora@example.com")
    expect(page.get_by_text("Show once more that it is you.")).to_be_visible()
    shoot(page, "sign-in-factor")
    press(page, "Use a passkey")
    expect_in(page, "dora@example.com", "Level 2, by pwd and pop.")
    # A device makes no second passkey: the options name the first.
    press(page, "Add a passkey")
    expect(page.get_by_role("alert")).not_to_be_empty()
    page.get_by_role("button", name="Remove Passkey").click()
    expect(page.get_by_text("None yet.", exact=True).or_(page.locator("#factors:empty"))).to_have_count(1)


def test_without_a_finger_there_is_no_sign_in(page: Page, site: Site) -> None:
    session, device = add_device(page)
    sign_up(page, site, "egon@example.com")
    press(page, "Add a passkey")
    press(page, "I have kept them")
    press(page, "Sign out")
    session.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    press(page, "Use a passkey")
    expect(page.get_by_role("alert")).to_have_text("Your device gave no passkey.")


def test_a_page_of_an_origin_that_is_not_named_is_refused(page: Page, sites: Sites) -> None:
    add_device(page)
    sign_up(page, sites.elsewhere, "fred@example.com")
    press(page, "Add a passkey")
    expect(page.get_by_role("alert")).to_have_text("Invalid or expired code")
    expect(page.locator("#factors li")).to_have_count(0)


def test_an_app_and_a_recovery_code_are_second_factors(page: Page, site: Site) -> None:
    sign_up(page, site, "gina@example.com")
    press(page, "Add an authenticator app")
    expect(page.locator("#app-secret")).not_to_be_empty()
    secret = page.locator("#app-secret").inner_text()
    shoot(page, "sign-in-app")
    fill(page, "Code", code_at(secret, time.time()))
    press(page, "Add it")
    expect(page.locator("#recovery-codes li")).to_have_count(10)
    recovery = page.locator("#recovery-codes li").first.inner_text()
    press(page, "I have kept them")
    expect_in(page, "gina@example.com", "Level 2, by pwd and otp.")
    press(page, "Sign out")
    log_in(page, "gina@example.com")
    fill(page, "Code of your app", code_at(secret, time.time() + STEP_SECONDS))
    press(page, "Go on")
    expect_in(page, "gina@example.com", "Level 2, by pwd and otp.")
    press(page, "Sign out")
    log_in(page, "gina@example.com")
    fill(page, "Recovery code", recovery)
    press(page, "Go on")
    expect_in(page, "gina@example.com", "Level 2, by pwd and rec.")
    expect(page.get_by_text("9 recovery codes are left.")).to_be_visible()


def test_who_must_have_a_factor_adds_a_passkey_and_is_in(page: Page, sites: Sites) -> None:
    add_device(page)
    sign_up(page, sites.strict, "hugo@example.com")
    expect(page.get_by_text("This project asks for a second factor.")).to_be_visible()
    shoot(page, "sign-in-enrol")
    page.locator("#enrol").get_by_role("button", name="Add a passkey").click()
    expect(page.locator("#recovery-codes li")).to_have_count(10)
    press(page, "I have kept them")
    expect_in(page, "hugo@example.com", "Level 2, by pwd and pop.")


def test_the_page_asks_where_the_service_is(page: Page, site: Site) -> None:
    page.goto(site.url.partition("?")[0])
    shoot(page, "sign-in-connect")
    fill(page, "Service", site.service)
    fill(page, "Publishable key", site.publishable_key)
    press(page, "Go on")
    expect(page.locator("form:visible").get_by_label("E-mail")).to_be_visible()


def test_the_page_has_no_script_but_its_own() -> None:
    folder = EXAMPLES / "sign-in"
    text, script = (folder / "index.html").read_text(), (folder / "sign-in.js").read_text()
    assert "script-src 'self'; style-src 'self'" in text
    assert " style=" not in text
    assert "onclick=" not in text
    assert "innerHTML" not in script
