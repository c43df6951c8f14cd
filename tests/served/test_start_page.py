"""The page docs/start.md: its commands and files make a board that two members see change in two browsers."""

import time

import httpx2
from playwright.sync_api import Browser, Page, expect

from tests.chromium import needs_chromium
from tests.served.browser import PATIENCE_MS, shoot, window
from tests.served.walkthrough import Walkthrough

pytestmark = needs_chromium
expect.set_options(timeout=PATIENCE_MS)
# The page, and the folder of the site that it makes, for the fixtures `guide` and `origin`.
PAGE, SITE = "start.md", "team-board"


def sign_in(page: Page, origin: str, email: str) -> None:
    page.goto(origin)
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign in").click()


def test_the_commands_answer_as_the_page_says(guide: Walkthrough) -> None:
    for printed in (
        "Dry run: nothing was changed",
        "cards: 1 created",
        '"text":"Polish the silver"',
        '"allowed":false',
    ):
        assert printed in guide.output
    assert "collections: 1 updated\ncards: 1 unchanged\nrules: 1 unchanged\n" in guide.output


def test_cards_have_a_date_within_five_seconds_of_the_migration(guide: Walkthrough) -> None:
    cards = f"{guide.environment['URL']}/api/collections/cards/documents"
    with httpx2.Client(headers={"authorization": f"Bearer {guide.environment['TOKEN']}"}) as ann:
        deadline = time.monotonic() + PATIENCE_MS / 1_000
        while (answer := ann.post(cards, json={"data": {"text": "Trim the wicks", "due": "2026-12-24"}})).is_error:
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.2)
        assert ann.get(cards, params={"due_lt": "2026-12-25"}).json()["total"] == 1
        assert ann.delete(f"{cards}/{answer.json()['id']}").status_code == 204


def test_two_members_see_the_board_change(guide: Walkthrough, origin: str, guide_browser: Browser) -> None:
    with window(guide_browser) as ann, window(guide_browser) as ben:
        sign_in(ann, origin, "ann@example.com")
        sign_in(ben, origin, "ben@example.com")
        for page in (ann, ben):
            expect(page.get_by_role("status")).to_have_text("live")
            expect(page.get_by_role("listitem")).to_have_count(2)
        ann.get_by_label("New card").fill("Light the candles")
        ann.get_by_role("button", name="Add").click()
        expect(ben.get_by_label("Light the candles")).to_be_visible()
        ben.get_by_label("Light the candles").check()
        expect(ann.get_by_label("Light the candles")).to_be_checked()
        shoot(ann, "start-ann")
        ben.get_by_role("listitem").filter(has_text="Light the candles").get_by_role("button").click()
        expect(ben.get_by_role("alert")).to_contain_text("do not allow")
        ann.get_by_role("listitem").filter(has_text="Light the candles").get_by_role("button").click()
        expect(ben.get_by_text("Light the candles")).to_have_count(0)


def test_signing_out_and_a_wrong_password(guide: Walkthrough, origin: str, guide_browser: Browser) -> None:
    with window(guide_browser) as page:
        sign_in(page, origin, "ann@example.com")
        expect(page.get_by_role("status")).to_have_text("live")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Password").fill("wrong horse")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("Invalid")
        expect(page.get_by_role("listitem")).to_have_count(0)
