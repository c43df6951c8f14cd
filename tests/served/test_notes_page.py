"""The page docs/examples/notes.html in a real browser, on another origin than the service, with the publishable key alone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from faults.rule_examples import read_example
from tests.chromium import needs_chromium
from tests.demo import DEMO
from tests.served.browser import EXAMPLES, Site, connect, shoot, sign, window
from tests.served.conftest import MakeSite
from tests.served.packages import needs_packages

SCRIPT = "<img src=x onerror=alert(1)>"
pytestmark = [needs_packages, needs_chromium]


@pytest.fixture(scope="session")
def site(make_site: MakeSite) -> Site:
    """A project with the rules of the first example."""
    schemas, rules = read_example(1)
    return make_site("notes", "notes.html", [{"name": "notes", "schema": schemas["notes"]}], rules)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with window(browser) as opened:
        yield opened


def enter(page: Page, site: Site, email: str, way: str = "Sign up", password: str = "correct horse") -> None:
    page.goto(site.url)
    sign(page, email, way, password)


def add(page: Page, text: str) -> None:
    page.get_by_label("New note").fill(text)
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("listitem").first).to_contain_text(text)


def test_a_user_signs_up_writes_and_finds_the_note_again(page: Page, site: Site) -> None:
    enter(page, site, "ann@example.com")
    expect(page.get_by_text("No notes yet.")).to_be_visible()
    add(page, "Buy candlesticks")
    add(page, SCRIPT)
    shoot(page, "notes-list")
    page.reload()
    expect(page.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("listitem").last).to_contain_text("Buy candlesticks")
    assert page.locator("img").count() == 0


def test_notes_are_changed_and_deleted(page: Page, site: Site) -> None:
    enter(page, site, "cid@example.com")
    add(page, "Bread")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Note", exact=True).fill("Bread, and a file")
    shoot(page, "notes-edit")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("listitem")).to_contain_text("Bread, and a file")
    page.reload()
    expect(page.get_by_role("listitem")).to_contain_text("Bread, and a file")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No notes yet.")).to_be_visible()


def test_another_user_sees_nothing_of_it(page: Page, site: Site) -> None:
    enter(page, site, "dan@example.com")
    add(page, "Dan's own")
    page.get_by_role("button", name="Sign out").click()
    enter(page, site, "eve@example.com")
    expect(page.get_by_text("No notes yet.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    enter(page, site, "dan@example.com", "Log in")
    expect(page.get_by_role("listitem")).to_contain_text("Dan's own")


def test_what_the_service_refuses_is_shown(page: Page, site: Site) -> None:
    enter(page, site, "nobody@example.com", "Log in")
    expect(page.get_by_role("alert")).not_to_be_empty()
    shoot(page, "notes-refused")
    expect(page.get_by_role("button", name="Log in")).to_be_enabled()


def test_the_page_asks_for_the_service_where_its_address_does_not_say(page: Page, site: Site) -> None:
    page.goto(site.url.partition("?")[0])
    shoot(page, "notes-connect")
    connect(page, site)
    expect(page.get_by_text(site.service)).to_be_visible()
    assert page.url == site.url


def test_the_page_writes_no_html() -> None:
    page = (EXAMPLES / "notes.html").read_text() + (EXAMPLES / "project.js").read_text()
    assert "innerHTML" not in page
    assert "ac_" not in page.replace("acp_", "")


def test_the_demo_project_has_the_rules_of_the_page_and_lets_it_in() -> None:
    schemas, rules = read_example(1)
    readme = (EXAMPLES.parents[1] / "README.md").read_text()
    port = re.search(r"http\.server (\d+) --bind 127\.0\.0\.1 --directory docs/examples", readme)
    assert port
    assert f"http://127.0.0.1:{port[1]}/notes.html" in readme
    assert f"http://127.0.0.1:{port[1]}" in str(DEMO.project.settings["CORS_ORIGINS"]).split(",")
    assert DEMO.collections["notes"].declared.keys() == schemas["notes"].keys()
    assert isinstance(DEMO.rules, dict)
    assert DEMO.rules["collections"]["notes"] == rules["collections"]["notes"]
