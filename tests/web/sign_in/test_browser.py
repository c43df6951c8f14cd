"""A whole sign-in in headless Chromium: the project's page → the provider's login form → the page with the token."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.async_api import Browser, Page, async_playwright

from faults.commands import await_ready, free_port
from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from faults.provider.server import serving
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.lookup import CACHE_SECONDS
from service.settings import Settings
from tests.chromium import ARGUMENTS, CHROMIUM, needs_chromium
from tests.conftest import Api, MakeApi
from tests.web.sign_in.pages import create_pages

pytestmark = needs_chromium


@dataclass(frozen=True)
class Service:
    """A service in a process of its own; `log` is all it wrote."""

    url: str
    log: Path


@pytest.fixture(scope="module")
def service_process(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    port = free_port()
    service = Service(f"http://127.0.0.1:{port}", tmp_path_factory.mktemp("service") / "log")
    assert settings.mongodb_uri
    assert settings.secret_key
    environment = {
        **os.environ,
        "MONGODB_URI": settings.mongodb_uri.get_secret_value(),
        "SECRET_KEY": settings.secret_key.get_secret_value(),
        "DATABASE_PREFIX": settings.database_prefix,
        "BCRYPT_COST": "4",
        "LOG_LEVEL": "debug",
    }
    command = [sys.executable, "-m", "service", "serve", "--port", str(port)]
    with (
        service.log.open("w") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process,  # noqa: S603 - a fixed command
    ):
        await_ready(service.url)
        yield service
        process.terminate()


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with serving(create_pages()) as base:
        yield base


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


@dataclass(frozen=True)
class Journey:
    """One person's way through a sign-in, at the project `api`."""

    page: Page
    api: Api
    service: Service
    start: str

    async def sign_in(self, account: str, *, deny: bool = False) -> dict[str, Any]:
        """The result on the project's completion page."""
        await self.page.goto(self.start)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.get_by_label("Sign in as").select_option(account)
        await self.page.get_by_role("button", name="Deny" if deny else "Sign in").click()
        result = self.page.locator("#result", has_text="{")
        return dict(json.loads(await result.inner_text()))


@pytest.fixture
async def journey(
    page: Page, make_api: MakeApi, admin: ProjectAdmin, service_process: Service, pages: str, provider: Provider
) -> Journey:
    api = await make_api(IDP_CLIENT_ID=CLIENT_ID, IDP_CLIENT_SECRET=CLIENT_SECRET, CORS_ORIGINS=pages)
    settings = {
        "IDP_ISSUER": provider.issuer("named"),
        "IDP_REDIRECT_URL": f"{service_process.url}/auth-collections/auth-idp-redirect/{api.project.id}",
        "IDP_COMPLETE_URL": f"{pages}/done?from=service",
    }
    await admin.change(api.project.id, settings)
    start = f"{pages}/start?{httpx2.QueryParams(service=service_process.url, project=api.project.id)}"
    return Journey(page, api, service_process, start)


async def test_a_whole_sign_in_in_a_browser(journey: Journey) -> None:
    urls: list[str] = []
    journey.page.on("request", lambda request: urls.append(request.url))
    shown = await journey.sign_in("ada")
    assert shown == {
        "mine": True,
        "kept": "service",
        "token": shown["token"],
        "status": 200,
        "user": {**shown["user"], "email": "ada@example.com", "data": {"username": "ada_lovelace"}},
    }
    again = await journey.sign_in("ada")
    assert again["user"]["id"] == shown["user"]["id"]
    callbacks = [parse_qs(urlsplit(url).query) for url in urls if "auth-idp-redirect" in urlsplit(url).path]
    assert len(callbacks) == 2
    secrets = [callbacks[0]["code"][0], callbacks[0]["state"][0], shown["token"], CLIENT_SECRET, "ada@example.com"]
    log = await asyncio.to_thread(journey.service.log.read_text)
    assert "auth-idp-redirect" in log
    assert [secret for secret in secrets if secret in log] == []


@pytest.mark.parametrize(
    ("account", "code"),
    [
        ("token_refused", "invalid_authorization_code"),
        ("userinfo_500", "failed_to_get_user_info"),
        ("no_email", "no_email_provided"),
        ("björn", "email_already_registered_with_password"),
        ("ada", "database_error"),
        ("unverified", "authentication_failed"),
    ],
)
async def test_each_code_in_a_browser(journey: Journey, account: str, code: str) -> None:
    await journey.api.signup("bjorn@example.com")
    if code == "database_error":
        journey.api.database.command("collMod", "users", validator={"never": {"$exists": True}})
    assert await journey.sign_in(account) == {"mine": True, "kept": "service", "error": code}
    assert journey.api.database["users"].count_documents({}) == 1


async def test_declining_in_a_browser(journey: Journey) -> None:
    shown = await journey.sign_in("ada", deny=True)
    assert shown == {"mine": True, "kept": "service", "error": "authentication_failed"}


async def test_a_bound_sign_in_in_a_browser(journey: Journey, admin: ProjectAdmin) -> None:
    await admin.change(journey.api.project.id, {"IDP_BIND_BROWSER": "true"})
    # The service is another process, which knows a change after that time.
    await asyncio.sleep(CACHE_SECONDS)
    login = f"{journey.service.url}/auth-collections/login-idp?project_id={journey.api.project.id}"
    await journey.page.goto(journey.start)
    for clears, code in ((False, None), (True, "authentication_failed")):
        response = await journey.page.goto(login)
        assert response
        url = (await response.json())["url"]
        await journey.page.goto(url)
        if clears:
            await journey.page.context.clear_cookies()
        await journey.page.get_by_label("Sign in as").select_option("ada")
        await journey.page.get_by_role("button", name="Sign in").click()
        result = json.loads(await journey.page.locator("#result", has_text="{").inner_text())
        assert result.get("error") == code
