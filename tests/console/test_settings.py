"""The settings of a project in Chromium: each of them, refused values, two operators at once, secrets, and readers."""

from playwright.sync_api import Page, expect

from service.domain.projects.setting_forms import settings_schema
from tests.console.conftest import PROJECT, Console, find_faults, find_misfits, needs_console

pytestmark = needs_console
SETTINGS = f"#/projects/{PROJECT}/settings"
# A change that another operator makes, from a page of the same origin.
CHANGE = f"""settings => fetch('../admin/v1/projects/{PROJECT}/settings', {{
    method: 'PATCH', headers: {{'content-type': 'application/json'}}, body: JSON.stringify({{settings}}),
}}).then(answer => answer.status)"""


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Revert")).to_have_count(0)


def test_each_setting_is_shown_and_changed(console: Console) -> None:
    page = console.open(SETTINGS)
    shown = page.locator(".setting-name")
    expect(shown.first).to_be_visible()
    assert shown.all_inner_texts() == [form["title"] for form in settings_schema()["properties"].values()]
    page.get_by_role("textbox", name="Search settings").fill("shortest")
    expect(shown).to_have_text(["Shortest password"])
    assert find_misfits(page) == []
    length = page.get_by_role("textbox", name="Shortest password")
    length.fill("100")
    page.get_by_role("button", name="Save").click()
    expect(length).to_have_attribute("aria-invalid", "true")
    expect(length).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("Shortest password:")
    assert find_faults(page) == []
    length.fill("12")
    page.get_by_role("link", name="E-mail addresses").click()
    hide = page.get_by_role("switch", name="Hide which addresses have accounts")
    page.get_by_text("Off", exact=True).click()
    expect(hide).to_be_checked()
    expect(page.get_by_text("Needs Proof of the address to be required.")).to_be_visible()
    page.get_by_role("button", name="Set it").click()
    page.get_by_role("button", name="Show difference").click()
    dialog = page.get_by_role("dialog", name="What will change")
    expect(dialog.get_by_role("group")).to_have_count(3)
    expect(dialog.get_by_role("group", name="settings PASSWORD_MIN_LENGTH")).to_contain_text("12")
    assert find_faults(page) == []
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Revert")).to_have_count(0)
    page.reload()
    expect(hide).to_be_checked()
    for name in ("Hide which addresses have accounts", "Proof of the address"):
        page.get_by_role("button", name=f"Reset {name}").click()
    page.get_by_role("link", name="Passwords").click()
    page.get_by_role("button", name="Reset Shortest password").click()
    save(page)
    expect(length).to_have_value("8")


def test_two_operators_change_settings_at_once(console: Console) -> None:
    page = console.open(f"{SETTINGS}/Sessions")
    idle = page.get_by_role("textbox", name="Life of an unused session")
    idle.fill("3600")
    expect(page.get_by_text("1 hour. Was no limit.")).to_be_visible()
    assert page.evaluate(CHANGE, {"SESSION_LIFETIME": 7200}) == 200
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Your changes are kept")
    save(page)
    idle.fill("600")
    assert page.evaluate(CHANGE, {"SESSION_IDLE": 900}) == 200
    page.get_by_role("button", name="Save").click()
    choice = page.get_by_role("group", name="Whose Life of an unused session")
    expect(choice.get_by_role("radio", name="Mine: 10 minutes")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    assert find_faults(page) == []
    choice.get_by_role("radio", name="Mine").check()
    save(page)
    page.reload()
    expect(idle).to_have_value("600")


def test_a_secret_is_written_and_never_shown(console: Console) -> None:
    page = console.open(f"{SETTINGS}/Mail")
    server = page.get_by_role("textbox", name="Mail server")
    server.fill("smtp://user:hunter2@127.0.0.1:9")
    page.get_by_role("button", name="Show difference").click()
    expect(page.get_by_role("dialog")).to_contain_text("***")
    assert "hunter2" not in page.get_by_role("dialog").inner_text()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(server).to_have_value("")
    expect(server).to_have_attribute("placeholder", "***")
    page.get_by_role("button", name="Reset Mail server").click()
    save(page)
    expect(page.get_by_text("Not set.")).to_be_visible()


def test_edits_survive_a_look_at_another_page(console: Console) -> None:
    page = console.open(f"{SETTINGS}/Events")
    days = page.get_by_role("textbox", name="Life of events")
    days.fill("0")
    page.get_by_role("link", name="Keys").click()
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_text("none are recorded. Was 90.")).to_be_visible()
    page.get_by_role("button", name="Revert").click()
    expect(days).to_have_value("90")


def test_a_reader_of_the_settings_cannot_change_them(console: Console) -> None:
    page = console.open_as({PROJECT: {"config": "read"}}, SETTINGS)
    expect(page.get_by_role("textbox", name="Shortest password")).to_be_disabled()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
