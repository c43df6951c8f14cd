"""A running service with a first owner, and windows of a browser that report each message and each broken policy."""

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pymongo import MongoClient

from faults.commands import Shell, await_ready, free_port, serving
from service.cli.running import run_on
from service.domain.operators.invitations import make_bootstrap
from service.settings import Settings
from service.storage.operator_records import OperatorDatabase
from tests.chromium import launched, needs_chromium

AXE = Path(__file__).parents[2] / ".generators/console/node_modules/axe-core/axe.min.js"
PATIENCE_MS = 30_000
PROJECT = "ferry-times"
BLANK = "about:blank"
OWNER, PASSWORD = "olga@example.com", "a long pass phrase"
needs_console = [
    needs_chromium,
    pytest.mark.skipif(not AXE.exists(), reason="scripts/setup dev installs axe where npm is"),
]
expect.set_options(timeout=PATIENCE_MS)
REPORT = (
    "addEventListener('securitypolicyviolation', e => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`))"
)
# Chromium says these itself, of each answer from 400 on and of each sign-out.
OF_CHROMIUM = ("Failed to load resource", "Clear-Site-Data header on")


@dataclass
class Console:
    """The console of a running service, and what the browser complained of."""

    url: str
    settings: dict[str, str]
    browser: Browser
    complaints: list[str] = field(default_factory=list)
    # Those of the first owner's session.
    cookies: list[Any] = field(default_factory=list)

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of the Admin API to the owner; bytes are lines of NDJSON."""
        cookies = {each["name"]: each["value"] for each in self.cookies}
        headers = {"origin": self.settings["BASE_URL"], "sec-fetch-site": "same-origin"}
        given: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            headers["content-type"] = "application/x-ndjson"
            given = {"content": body}
        url = f"{self.settings['BASE_URL']}/admin/v1/{path}"
        answer = httpx2.request(method, url, headers=headers, cookies=cookies, timeout=30, **given)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def open(self, fragment: str = "#/", *, is_signed_in: bool = True) -> Page:
        """A window of its own browser profile, of the owner. The console's policy is in force."""
        context = self.browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        if is_signed_in and self.cookies:
            context.add_cookies(self.cookies)
        return self.open_in(context, fragment)

    def open_in(self, context: BrowserContext, fragment: str = "#/") -> Page:
        """A tab."""
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(REPORT)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda m: None if m.text.startswith(OF_CHROMIUM) else self.complaints.append(m.text))
        page.goto(fragment if fragment == BLANK else f"{self.url}{fragment}")
        return page

    def open_as(self, access: dict[str, Any], fragment: str) -> Page:
        """A window that takes its operator to have this access alone."""
        page = self.open(BLANK)
        page.route(
            "**/admin/v1/session",
            lambda route: route.fulfill(json={**route.fetch().json(), "access": access}),
        )
        page.goto(f"{self.url}{fragment}")
        return page

    def sign_in(self, page: Page, email: str = OWNER, password: str = PASSWORD) -> None:
        page.get_by_role("textbox", name="Email").fill(email)
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Sign in").click()

    def make_owner(self, link: str) -> None:
        page = self.open(link.removeprefix(self.url))
        page.get_by_role("textbox", name="Name").fill("Olga")
        page.get_by_role("textbox", name="Email").fill(OWNER)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        assert "join" not in page.url
        assert find_faults(page) == []
        page.get_by_role("button", name="Create account").click()
        page.get_by_role("link", name="Ferry times").wait_for()
        assert find_faults(page) == []
        self.cookies.extend(page.context.cookies())
        page.context.close()

    def invite(self, email: str) -> str:
        """The address of a link that makes another owner's account."""
        made = self.admin("POST", "operators", {"email": email, "roles": {"*": "owner"}})
        return f"{self.url}#/join/{made['invitation']['link'].rpartition('/')[2]}"

    def open_account(self, email: str) -> Page:
        """A window in which the owner's second self signs in with an account of its own."""
        owner = self.open("#/operators")
        owner.get_by_role("button", name="Invite").click()
        owner.get_by_role("textbox", name="Email").fill(email)
        owner.get_by_role("button", name="Make a link").click()
        link = owner.get_by_role("group", name="Link").inner_text()
        owner.get_by_role("button", name="I have kept it").click()
        expect(owner.get_by_text(email)).to_be_visible()
        owner.context.close()
        page = self.open(f"#/join/{link.rpartition('/')[2]}", is_signed_in=False)
        expect(page.get_by_text(f"For {email}")).to_be_visible()
        assert "join" not in page.url
        page.get_by_role("textbox", name="Name").fill(email.partition("@")[0])
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        page.get_by_role("heading", name="Projects", exact=True).wait_for()
        return page


def load_axe(page: Page) -> None:
    """Has the page know axe, once for each of its documents."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())


def find_faults(page: Page) -> list[Any]:
    """The violations that axe reports on the page."""
    load_axe(page)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]


def find_misfits(page: Page) -> list[Any]:
    """Returns the findings of axe in both schemes, wide and narrow, and the widths that the page exceeds."""
    found: list[Any] = []
    for width, scheme in ((1280, "light"), (1280, "dark"), (360, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found += [(width, scheme, fault) for fault in find_faults(page)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [(width, wide)] if wide > width else []
    page.set_viewport_size({"width": 1280, "height": 800})
    return found


@pytest.fixture(scope="package")
def service(mongodb_uri: str, mongo: MongoClient[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str]]]:
    port = free_port()
    settings = {
        "MONGODB_URI": mongodb_uri,
        "DATABASE_PREFIX": f"c_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_",
        "SECRET_KEY": base64.b64encode(b"k" * 32).decode(),
        "BASE_URL": f"http://127.0.0.1:{port}",
        "BCRYPT_COST": "4",
        "DRAIN_SECONDS": "0",
        "LOG_LEVEL": "error",
    }
    with serving(Shell({**os.environ, **settings}), "--port", str(port)):
        await_ready(settings["BASE_URL"])
        yield f"{settings['BASE_URL']}/console/", settings
    for name in mongo.list_database_names():
        if name.startswith(settings["DATABASE_PREFIX"]):
            mongo.drop_database(name)


@pytest.fixture(scope="package")
def owned(service: tuple[str, dict[str, str]]) -> Iterator[Console]:
    """The console of a deployment with its first owner, who made the account by the link that `serve` prints."""
    url, settings = service
    found = Settings(**{name.lower(): value for name, value in settings.items()})  # type: ignore[arg-type]
    made = run_on(found, lambda services: make_bootstrap(OperatorDatabase(services.base.databases), url))
    link = (made.link or "") if made else ""
    run_on(found, lambda services: services.base.admin.create("Ferry times", PROJECT, {}))
    with launched() as running:
        first = Console(url, settings, running)
        first.make_owner(link)
        assert first.complaints == []
        yield first


@pytest.fixture
def console(owned: Console) -> Iterator[Console]:
    """Each message of the browser's console and each broken policy fails the test."""
    yield owned
    for context in owned.browser.contexts:
        context.close()
    complaints = owned.complaints.copy()
    owned.complaints.clear()
    assert complaints == []
