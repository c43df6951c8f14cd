"""The console's pages in Chromium: every page in both schemes and widths, by keyboard alone, and what they make."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import PROJECT, Console, find_faults, needs_console

pytestmark = needs_console


def make_project(page: Page, name: str) -> None:
    page.get_by_role("button", name="New project").first.click()
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Create").click()


def test_a_project_is_made_by_keyboard_alone(console: Console) -> None:
    page = console.open()
    page.get_by_role("heading", name="Projects", exact=True).wait_for()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="New project").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.keyboard.type("Night boats")
    expect(page.get_by_role("textbox", name="Id")).to_have_value("night-boats")
    page.keyboard.press("Enter")
    secret = page.get_by_role("group", name="Secret key")
    expect(secret).to_contain_text("ac_night-bo")
    assert find_faults(page) == []
    page.get_by_role("button", name="I have kept them").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No collections yet")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Operators", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    "fragment", ["#/", "#/operators", "#/me", f"#/projects/{PROJECT}", f"#/projects/{PROJECT}/keys", "#/nowhere"]
)
def test_each_page_suits_both_schemes_and_widths(console: Console, fragment: str) -> None:
    page = console.open(fragment)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.get_by_role("navigation")).to_have_count(1)
    for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h1").count() == page.locator("main").count() == 1
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("navigation")).to_be_visible()
    assert find_faults(page) == []


def test_the_first_view_is_within_its_budget(console: Console) -> None:
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/console/')).map(e => e.encodedBodySize)"
    )
    assert 60_000 < sum(sizes) <= 150_000


def test_a_key_is_made_and_revoked(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_role("button", name="Create key").wait_for()
    page.get_by_role("textbox", name="Name").fill("a job")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("group", name="Key")).to_contain_text("ac_ferry-ti")
    page.get_by_role("button", name="I have kept it").click()
    page.get_by_role("button", name="Revoke a job").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("a job")).to_have_count(0)


def test_a_wrong_field_is_said_at_the_field(console: Console) -> None:
    page = console.open()
    page.get_by_role("button", name="New project").first.click()
    page.get_by_role("textbox", name="Name").fill("Ferry times")
    page.get_by_role("textbox", name="Id").fill("Not An Id")
    page.get_by_role("button", name="Create").click()
    field = page.get_by_role("textbox", name="Id")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    page.get_by_role("textbox", name="Id").fill(PROJECT)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert").first).not_to_be_empty()
    assert find_faults(page) == []


def test_names_are_text(console: Console) -> None:
    page = console.open()
    make_project(page, "<img src=x onerror=alert(1)>")
    page.get_by_role("button", name="I have kept them").click()
    expect(page.get_by_role("heading", name="<img src=x onerror=alert(1)>")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("textbox", name="The project's name").fill("<img src=x onerror=alert(1)>")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Projects", exact=True)).to_be_visible()


def test_a_filter_is_in_the_address(console: Console) -> None:
    page = console.open("#/?q=nothing-like-it")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    page.keyboard.press("/")
    page.keyboard.type("ferry")
    expect(page.get_by_role("link", name="Ferry times")).to_be_visible()
    assert page.url.endswith("#/?q=ferry")
