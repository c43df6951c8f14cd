"""Sessions of the console: signing in, what a session that ends leaves, confirmation, and the second factor."""

import time
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import expect
from pymongo import MongoClient
from pymongo.collection import Collection

from service.domain.accounts.factor_codes import code_at
from tests.console.conftest import PASSWORD, PROJECT, Console, find_faults, needs_console

pytestmark = needs_console


@pytest.fixture
def sessions(console: Console, mongo: MongoClient[dict[str, Any]]) -> Collection[dict[str, Any]]:
    return mongo[f"{console.settings['DATABASE_PREFIX']}system"]["operator_sessions"]


def test_a_deep_link_survives_the_sign_in(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}/keys", is_signed_in=False)
    page.get_by_role("button", name="Sign in").wait_for()
    assert find_faults(page) == []
    console.sign_in(page, password="not the password")
    expect(page.get_by_role("alert")).not_to_be_empty()
    console.sign_in(page)
    expect(page.get_by_role("table")).to_be_visible()


def test_a_form_stays_while_the_session_ends(console: Console, sessions: Collection[dict[str, Any]]) -> None:
    page = console.open_account("vera@example.com")
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
    page = console.open_account("carl@example.com")
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
    page = console.open_account("dora@example.com")
    other = console.open_in(page.context, "#/me")
    other.get_by_role("button", name="Change password").click()
    other.get_by_label("New password").fill("half a thought")
    page.goto(f"{console.url}#/me")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
    expect(other.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    expect(other.get_by_label("New password")).to_have_value("half a thought")


def test_an_app_is_set_up_and_signs_in(console: Console) -> None:
    page = console.open_account("emil@example.com")
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


def test_a_used_link_says_so(console: Console) -> None:
    page = console.open(f"#/join/{'a' * 43}", is_signed_in=False)
    expect(page.get_by_role("heading", name="This link is not good any more")).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("textbox", name="Email")).to_be_visible()
