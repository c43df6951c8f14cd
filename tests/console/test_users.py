"""Users and files in the console: lists, one user, acting as the user, and a picture of a document."""

import base64
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import expect

from tests.console.conftest import PROJECT, Console, find_faults, find_misfits, needs_console

pytestmark = needs_console
USERS = f"projects/{PROJECT}/auth-collections/users"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HOSTILE = "<b onmouseover=alert(1)>\u202eanna</b>"


@pytest.fixture(scope="module")
def users(owned: Console) -> Iterator[Console]:
    for name in ("ann", "ben"):
        owned.admin(
            "POST", USERS, {"email": f"{name}@example.com", "data": {"name": HOSTILE if name == "ann" else "Ben"}}
        )
    yield owned
    for user in owned.admin("GET", USERS)["users"]:
        owned.admin("DELETE", f"{USERS}/{user['id']}")


def test_a_user_is_found_changed_and_acted_as(users: Console, console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/users")
    expect(page.get_by_role("gridcell", name="ben@example.com")).to_be_visible()
    expect(page.get_by_role("gridcell", name=HOSTILE)).to_be_visible()
    for width, scheme in ((1280, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("textbox", name="Search by address").fill("ann@")
    expect(page.get_by_role("gridcell", name="ben@example.com")).to_have_count(0)
    assert "q=ann%40" in page.url
    page.get_by_role("gridcell", name="ann@example.com").click()
    expect(page.get_by_role("heading", name=HOSTILE, level=2)).to_be_visible()
    for width, scheme in ((1280, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Roles").fill("editor, author")
    page.get_by_role("textbox", name="Profile").fill('{"name": "Ann"}')
    assert find_faults(page) == []
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Ann", level=2)).to_be_visible()
    expect(page.get_by_text("author", exact=True)).to_be_visible()
    page.get_by_role("button", name="Act as…").click()
    page.get_by_role("textbox", name="Reason").fill("a question about a book")
    page.get_by_role("button", name="Begin").click()
    bar = page.get_by_role("region", name="Acting as a user")
    expect(bar).to_contain_text("ann@example.com")
    expect(page.get_by_text("acted as")).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("link", name="Overview").click()
    expect(bar).to_be_visible()
    bar.get_by_role("button", name="Stop").click()
    expect(bar).to_have_count(0)
    page.go_back()
    page.get_by_role("button", name="Make a link").click()
    page.get_by_role("button", name="Make the link").click()
    expect(page.get_by_role("group", name="Link")).to_contain_text("http")
    page.get_by_role("button", name="I have kept it").click()
    expect(page.get_by_text("acted as")).to_be_visible()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("disabled", exact=True)).to_be_visible()
    page.get_by_role("button", name="Delete user").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("gridcell", name="ben@example.com")).to_be_visible()


def test_a_user_without_an_address_is_shown_and_acted_as(users: Console, console: Console) -> None:
    project = f"projects/{PROJECT}"
    users.admin("PATCH", f"{project}/settings", {"settings": {"ANONYMOUS": "on"}})
    key = users.admin("POST", f"{project}/keys", {"kind": "publishable", "name": "guests"})["key"]
    url = f"{users.settings['BASE_URL']}/auth-collections/signup-anonymous"
    assert httpx2.post(url, json={"cart": ["a1"]}, headers={"x-api-key": key}).status_code == 201
    page = console.open(f"#/projects/{PROJECT}/users")
    page.get_by_role("gridcell", name="anonymous", exact=True).click()
    expect(page.get_by_role("heading", name="anonymous", level=2)).to_be_visible()
    expect(page.get_by_role("button", name="Make a link")).to_have_count(0)
    expect(page.get_by_role("button", name="Mark as proven")).to_have_count(0)
    assert find_misfits(page) == []
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("textbox", name="Email")).to_have_value("")
    page.get_by_role("textbox", name="Roles").fill("guest")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("guest", exact=True)).to_be_visible()
    page.get_by_role("button", name="Act as…").click()
    page.get_by_role("textbox", name="Reason").fill("a question about a cart")
    page.get_by_role("button", name="Begin").click()
    bar = page.get_by_role("region", name="Acting as a user")
    expect(bar).to_contain_text("anonymous")
    bar.get_by_role("button", name="Stop").click()
    expect(bar).to_have_count(0)
    users.admin("PATCH", f"{project}/settings", {"settings": {"ANONYMOUS": None}})


def test_users_have_names_where_the_project_has_them(users: Console, console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/sign-in")
    expect(page.get_by_text("Users sign in by their addresses alone.")).to_be_visible()
    page.get_by_role("link", name="Settings of User names").click()
    page.get_by_role("group", name="Sign-in by a user name").get_by_text("required", exact=True).click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Revert")).to_have_count(0)
    page.goto(f"{console.url}#/projects/{PROJECT}/users")
    expect(page.get_by_role("columnheader", name="user name")).to_be_visible()
    page.get_by_role("button", name="New user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Email").fill("zoe@example.com")
    name = dialog.get_by_role("textbox", name="User name")
    name.fill("no name")
    dialog.get_by_role("button", name="Create user").click()
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(name).to_be_focused()
    assert find_faults(page) == []
    name.fill("Zoë")
    dialog.get_by_role("button", name="Create user").click()
    expect(page.get_by_role("region", name="Sign-in").get_by_text("Zoë")).to_be_visible()
    page.goto(f"{console.url}#/projects/{PROJECT}/users")
    page.get_by_role("textbox", name="Search by address or user name").fill("zoë")
    expect(page.get_by_role("gridcell", name="Zoë")).to_be_visible()
    expect(page.get_by_role("gridcell", name="ben@example.com")).to_have_count(0)
    assert find_misfits(page) == []
    users.admin("PATCH", f"projects/{PROJECT}/settings", {"settings": {"USERNAMES": None}})


def test_files_are_listed_with_their_owners_and_pictures(users: Console, console: Console) -> None:
    api = f"projects/{PROJECT}/api/collections"
    console.admin("POST", api, {"name": "covers", "schema": {"cover": {"type": "file", "types": ["png"]}}})
    page = console.open(f"#/projects/{PROJECT}/data/covers?record=new")
    page.get_by_label("Drop a file, or choose").set_input_files(
        {"name": "<b>cover.png", "mimeType": "image/png", "buffer": PICTURE}
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name=".png")).to_be_visible()
    page.goto(f"{console.url}#/projects/{PROJECT}/files?type=image")
    page.get_by_role("button", name="<b>cover.png").click()
    expect(page.get_by_role("img", name="The file")).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("button", name="Close").click()
    for width, scheme in ((1280, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("link", name="covers", exact=True).last.click()
    expect(page.get_by_role("complementary")).to_be_visible()
    console.admin("DELETE", f"{api}/covers")
