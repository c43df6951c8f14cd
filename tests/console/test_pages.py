"""The console in Chromium: every page in both schemes and widths, its states, by keyboard alone, and its session."""

import time
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from pymongo import MongoClient
from pymongo.collection import Collection

from service.domain.accounts.totp import code_at
from tests.chromium import needs_chromium
from tests.console.conftest import AXE, PASSWORD, PATIENCE_MS, PROJECT, Console, find_faults

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not AXE.exists(), reason="scripts/setup dev installs axe where npm is"),
]
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def sessions(console: Console, mongo: MongoClient[dict[str, Any]]) -> Collection[dict[str, Any]]:
    return mongo[f"{console.settings['DATABASE_PREFIX']}system"]["operator_sessions"]


def make_project(page: Page, name: str) -> None:
    page.get_by_role("button", name="New project").first.click()
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("button", name="Create").click()


def open_account(console: Console, email: str) -> Page:
    """A window in which the owner's second self signs in with an account of its own."""
    owner = console.open("#/operators")
    owner.get_by_role("button", name="Invite").click()
    owner.get_by_role("textbox", name="Email").fill(email)
    owner.get_by_role("button", name="Make a link").click()
    link = owner.get_by_role("group", name="Link").inner_text()
    owner.get_by_role("button", name="I have kept it").click()
    expect(owner.get_by_text(email)).to_be_visible()
    owner.context.close()
    page = console.open(f"#/join/{link.rpartition('/')[2]}", is_signed_in=False)
    expect(page.get_by_text(f"For {email}")).to_be_visible()
    assert "join" not in page.url
    page.get_by_role("textbox", name="Name").fill(email.partition("@")[0])
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.get_by_role("heading", name="Projects", exact=True).wait_for()
    return page


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


def test_a_deep_link_survives_the_sign_in(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/keys", is_signed_in=False)
    page.get_by_role("button", name="Sign in").wait_for()
    assert find_faults(page) == []
    console.sign_in(page, password="not the password")
    expect(page.get_by_role("alert")).not_to_be_empty()
    console.sign_in(page)
    expect(page.get_by_role("table")).to_be_visible()


def test_a_form_stays_while_the_session_ends(console: Console, sessions: Collection[dict[str, Any]]) -> None:
    page = open_account(console, "vera@example.com")
    page.get_by_role("link", name="vera").click()
    page.get_by_role("button", name="New token").click()
    page.get_by_role("textbox", name="Name").fill("pipeline")
    kept = list(sessions.find())
    sessions.delete_many({})
    page.get_by_role("button", name="Create token").click()
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Nothing was changed yet")).to_be_visible()
    sessions.insert_many(kept)
    expect(page.get_by_role("textbox", name="Name")).to_have_value("pipeline")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("group", name="Token")).to_contain_text("aco_")


def test_a_confirmation_is_asked_once_and_the_request_is_repeated(
    console: Console, sessions: Collection[dict[str, Any]]
) -> None:
    page = open_account(console, "carl@example.com")
    page.goto(f"{console.url}#/me")
    page.get_by_role("button", name="New token").click()
    page.get_by_role("textbox", name="Name").fill("pipeline")
    sessions.update_many({}, {"$set": {"confirmed_at": datetime(2020, 1, 1)}})  # noqa: DTZ001 - BSON dates are UTC
    page.get_by_role("button", name="Create token").click()
    dialog = page.get_by_role("dialog", name="Confirm that it is you")
    expect(dialog).to_be_visible()
    assert find_faults(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("textbox", name="Name")).to_have_value("pipeline")
    page.get_by_role("button", name="Create token").click()
    dialog.get_by_label("Password", exact=True).fill(PASSWORD)
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("group", name="Token")).to_contain_text("aco_")
    sessions.update_many({}, {"$currentDate": {"confirmed_at": True}})


def test_a_sign_out_in_one_tab_asks_in_the_others(console: Console) -> None:
    page = open_account(console, "dora@example.com")
    other = console.open_in(page.context, "#/me")
    other.get_by_role("button", name="Change password").click()
    other.get_by_label("New password").fill("half a thought")
    page.goto(f"{console.url}#/me")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
    expect(other.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    expect(other.get_by_label("New password")).to_have_value("half a thought")


def test_an_app_is_set_up_and_signs_in(console: Console) -> None:
    page = open_account(console, "emil@example.com")
    page.goto(f"{console.url}#/me")
    page.get_by_role("button", name="Set up").click()
    page.get_by_role("button", name="Set up an app").click()
    expect(page.get_by_role("img", name="QR code of the secret")).to_be_visible()
    secret = page.get_by_role("group", name="Secret").inner_text()
    assert find_faults(page) == []
    page.get_by_role("textbox", name="Code").fill(code_at(secret, time.time()))
    page.get_by_role("button", name="Confirm").click()
    codes = page.get_by_role("group", name="Recovery codes").inner_text().split()
    page.get_by_role("button", name="I have kept them").click()
    expect(page.get_by_text("10 recovery codes left")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    console.sign_in(page, "emil@example.com")
    page.get_by_role("textbox", name="Code").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("9 recovery codes left")).to_be_visible()


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


def answer_with(status: int, body: dict[str, Any], **headers: str) -> Any:
    def handle(route: Route) -> None:
        route.fulfill(status=status, json=body, headers=headers)

    return handle


def never_answer(_: Route) -> None:
    """The request stays open."""


def test_an_operator_without_projects_is_shown_the_first_step(console: Console) -> None:
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    page.route("**/admin/v1/projects?*", answer_with(200, {"projects": [], "total": 0, "next": None}))
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("heading", name="No projects yet")).to_be_visible()
    expect(page.get_by_text("curl -X POST")).to_be_visible()
    assert find_faults(page) == []


def test_each_failure_says_what_to_do(console: Console) -> None:
    page = console.open("#/operators")
    listed = page.get_by_role("region", name="Open invitations")
    expect(listed).to_be_visible()
    asked = "**/admin/v1/projects?*"
    page.route(
        asked,
        answer_with(
            503, {"detail": "MongoDB is away", "code": "unavailable"}, **{"retry-after": "1", "x-request-id": "0b1c"}
        ),
    )
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("alert")).to_contain_text("MongoDB is away")
    expect(page.get_by_role("button", name="Copy the request's id")).to_be_visible()
    assert find_faults(page) == []
    page.unroute(asked)
    expect(page.get_by_role("link", name="Ferry times")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.route(
        "**/admin/v1/operators",
        answer_with(403, {"detail": "Not allowed", "code": "forbidden", "needs": "*:deployment:read"}),
    )
    page.goto(f"{console.url}#/operators")
    expect(page.get_by_text("*:deployment:read")).to_be_visible()
    assert find_faults(page) == []
    page.route(asked, lambda route: route.abort())
    page.goto(f"{console.url}#/")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")


def test_what_takes_long_can_be_cancelled(console: Console) -> None:
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    page.clock.install()
    page.route("**/admin/v1/projects?*", never_answer)
    page.goto(f"{console.url}#/")
    page.get_by_role("heading", name="Projects", exact=True).wait_for()
    page.clock.run_for(200)
    expect(page.locator(".skeleton").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(1)
    assert page.get_by_text("Still working").count() == 0
    page.clock.run_for(5_000)
    expect(page.get_by_text("Still working")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled")).to_be_visible()


def test_a_filter_is_in_the_address(console: Console) -> None:
    page = console.open("#/?q=nothing-like-it")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    page.keyboard.press("/")
    page.keyboard.type("ferry")
    expect(page.get_by_role("link", name="Ferry times")).to_be_visible()
    assert page.url.endswith("#/?q=ferry")


def test_a_used_link_says_so(console: Console) -> None:
    page = console.open(f"#/join/{'a' * 43}", is_signed_in=False)
    expect(page.get_by_role("heading", name="This link is not good any more")).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("textbox", name="Email")).to_be_visible()
