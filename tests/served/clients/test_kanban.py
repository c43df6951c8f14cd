"""The page docs/examples/kanban, in two tabs of one user and in another user's browser."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect

from faults.samples import PNG
from tests.chromium import launched, needs_chromium
from tests.served.browser import PATIENCE_MS, window
from tests.served.clients.conftest import MakeProject
from tests.served.clients.table import CLIENTS, Project
from tests.served.packages import needs_packages

pytestmark = [needs_packages, needs_chromium]
PAGE = (CLIENTS.parent / "docs/typescript.md").read_text()
LOADED = """(image) => image.complete
  ? image.naturalWidth > 0
  : new Promise((done) => { image.onload = () => done(true); image.onerror = () => done(false); })"""
JSON = {"content-type": "application/json"}
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    """The project of the page's own schema and rules, sent as the page says."""
    made = make_project("kanban")
    blocks = dict(sent_by(PAGE))
    with httpx2.Client(base_url=made.url, headers={"x-api-key": made.secret_key}) as server:
        for method, path in (("POST", "/api/collections"), ("PUT", "/api/rules")):
            server.request(method, path, content=blocks[path], headers=JSON).raise_for_status()
    return made


def sent_by(page: str) -> Iterator[tuple[str, str]]:
    """The path and the body of each `curl` of the section about the whole page."""
    section = page.partition("## A whole page\n")[2].partition("\n## ")[0]
    for command in section.split("curl ")[1:]:
        body = command.split("-d '", 1)
        if len(body) == 2:
            yield body[0].split("$URL", 1)[1].split()[0], body[1].partition("'\n")[0]


@pytest.fixture(scope="module")
def site(pages: str) -> str:
    return f"{pages}/kanban/"


def enter(page: Page, email: str, way: str) -> None:
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name=way).click()
    expect(page.locator("#state")).to_have_text("live")


def test_users_share_a_board_with_pictures(site: str, project: Project, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(PNG)
    url = f"{site}?service={project.url}&key={project.publishable_key}"
    with launched() as browser, window(browser) as ann, window(browser) as ben:
        for page in (ann, ben):
            page.goto(url)
        enter(ann, "ann@example.com", "Sign up")
        enter(ben, "ben@example.com", "Sign up")
        tab = ann.context.new_page()
        tab.goto(url)
        expect(tab.locator("#state")).to_have_text("live")
        ann.get_by_label("Card").fill("Paint")
        ann.get_by_label("Picture").set_input_files(picture)
        ann.get_by_role("button", name="Add").click()
        shown = ben.get_by_role("list", name="To do").get_by_role("listitem")
        expect(shown).to_contain_text("Paint")
        assert ben.locator("li img").evaluate(LOADED)
        ben.get_by_role("button", name="On: Paint").click()
        for page in (ann, tab):
            expect(page.get_by_role("list", name="Doing").get_by_role("listitem")).to_contain_text("Paint")
        ann.get_by_role("button", name="Delete: Paint").click()
        expect(ben.get_by_role("listitem")).to_have_count(0)
        # A sign-out is one of both tabs, and of no other browser.
        ann.get_by_role("button", name="Sign out").click()
        expect(tab.locator("#enter")).to_be_visible()
        expect(ben.locator("#state")).to_have_text("live")
        enter(tab, "ann@example.com", "Log in")
        expect(ann.locator("#board")).to_be_visible()
        tab.close()
