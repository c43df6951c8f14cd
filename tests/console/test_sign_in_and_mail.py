"""The pages of sign-in and mail in Chromium: providers with their check, the mail server, texts, and the mailbox."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from service.mail.texts import ACTIONS, NOTICES
from service.web.console.assets import read_console
from tests.console.conftest import PROJECT, Console, find_faults, find_misfits, needs_console

HOSTILE = "<img src=https://other.example/x onerror=alert(1)>"
# A request to the service from its own page.
ASK = """([method, path, body, key]) => fetch(`../${path}`, {
    method, headers: {'content-type': 'application/json', ...(key ? {'x-api-key': key} : {})}, body: JSON.stringify(body),
}).then(async answer => [answer.status, await answer.json()])"""
P = f"admin/v1/projects/{PROJECT}"

pytestmark = needs_console


def ask(page: Page, method: str, path: str, body: Any, key: str = "") -> Any:
    status, answer = page.evaluate(ASK, [method, path, body, key])
    assert status < 300, answer
    return answer


def test_a_provider_is_added_checked_and_removed(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/sign-in")
    expect(page.get_by_text("No providers yet")).to_be_visible()
    expect(page.get_by_text("At least 8 characters")).to_be_visible()
    page.get_by_role("button", name="Add provider").click()
    page.get_by_role("dialog").get_by_role("button", name="OpenID Connect").click()
    panel = page.get_by_role("complementary", name="Provider")
    panel.get_by_role("textbox", name="Name").fill("staff")
    expect(panel.get_by_role("group", name="Redirect URL")).to_contain_text(f"/auth-idp-redirect/{PROJECT}/staff")
    panel.get_by_role("textbox", name="Client id").fill("console")
    panel.get_by_role("textbox", name="Client secret").fill("hunter2")
    panel.get_by_role("textbox", name="Issuer").fill("no address")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("textbox", name="Issuer")).to_be_focused()
    expect(panel.locator(".field-error")).to_have_count(1)
    assert find_misfits(page) == []
    panel.get_by_role("textbox", name="Issuer").fill("http://127.0.0.1:9")
    panel.get_by_role("button", name="Save").click()
    expect(panel).to_have_count(0)
    page.get_by_role("button", name="Check staff").click()
    expect(page.get_by_role("status").filter(has_text="It failed")).to_contain_text("endpoints")
    page.get_by_role("button", name="Edit staff").click()
    secret = panel.get_by_role("textbox", name="Client secret")
    expect(secret).to_have_attribute("placeholder", "***")
    assert "hunter2" not in page.content()
    page.keyboard.press("Escape")
    page.route(
        "**/providers/staff/check",
        lambda route: route.fulfill(
            json={"ok": True, "steps": [{"step": HOSTILE, "ok": True, "detail": "\u202e</script>"}]}
        ),
    )
    page.get_by_role("button", name="Check staff").click()
    expect(page.get_by_text("A sign-in can use it")).to_be_visible()
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("button", name="Remove staff").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No providers yet")).to_be_visible()


def test_a_mail_server_is_tried_and_texts_are_written(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/mail/server")
    page.get_by_role("textbox", name="Mail server").fill("smtp://127.0.0.1:9")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Revert")).to_have_count(0)
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_role("status").filter(has_text="It failed")).to_contain_text("connect")
    assert find_faults(page) == []
    page.get_by_role("button", name="Reset Mail server").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Not set.")).to_be_visible()
    page.get_by_role("link", name="Texts").click()
    page.get_by_role("combobox", name="Kind").select_option("verify_email")
    page.get_by_role("textbox", name="Subject").fill("Hello from {project}")
    page.get_by_role("textbox", name="Heading").fill(HOSTILE)
    page.get_by_role("textbox", name="Paragraphs").fill("Is {email} yours?\nThe code is {code}.")
    page.get_by_role("textbox", name="Button text").fill("It is mine")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("Is ann@example.com yours?")
    expect(preview.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert find_misfits(page) == []
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Revert")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("combobox", name="Kind")).to_contain_text("verify email (your own)")


def test_mails_that_were_not_sent_are_shown_in_a_sandbox(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/mail")
    expect(page.get_by_text("No mails yet")).to_be_visible()
    texts = {"subject": HOSTILE, "heading": HOSTILE, "paragraphs": [HOSTILE], "button": "Go"}
    settings = {"EMAIL_VERIFICATION": "optional", "MAIL_TEXTS": {"verify_email": {"en": texts}}}
    ask(page, "PATCH", f"{P}/settings", {"settings": settings})
    key = ask(page, "POST", f"{P}/keys", {"kind": "publishable", "name": "mails"})["key"]
    ask(page, "POST", "auth-collections/signup", {"email": "mia@example.com", "password": "a long password"}, key)
    page.reload()
    expect(page.get_by_role("table")).to_contain_text("mia@example.com")
    page.get_by_role("button", name="Retry the mail to mia@example.com").click()
    assert find_faults(page) == []
    others = list[str]()
    page.on("request", lambda each: None if each.url.startswith("http://127.0.0.1") else others.append(each.url))
    page.get_by_role("link", name="Mailbox").click()
    page.get_by_role("button", name="Open the mailbox").click()
    page.get_by_role("button", name=f"Show {HOSTILE}").first.click()
    frame = page.frame_locator("iframe[sandbox='']")
    expect(frame.get_by_role("heading", name=HOSTILE)).to_be_visible()
    expect(page.locator("iframe")).to_have_attribute("sandbox", "")
    assert others == []
    assert find_misfits(page) == []
    ask(page, "PATCH", f"{P}/settings", {"settings": dict.fromkeys(settings)})


def test_the_page_of_texts_knows_each_kind_of_mail() -> None:
    page = read_console().assets["parts/mail-texts.js"].body.decode()
    lists = [tuple(re.findall(r'"(\w+)"', listed)) for listed in re.findall(r"= \[(.*)\];", page)]
    assert lists[:2] == [ACTIONS, NOTICES]
