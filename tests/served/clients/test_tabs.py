"""Tabs of one browser share a session: they have one successor, stop for no tab, and never show one user as another."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page

from tests.chromium import launched, needs_chromium
from tests.served.browser import add_device, file_server
from tests.served.clients.conftest import MakeProject
from tests.served.clients.table import Project
from tests.served.packages import needs_packages

pytestmark = [needs_packages, needs_chromium]
TABS = 20
BEGIN = """async ({url, publishable_key: key}) => {
  window.library = await import("@auth-collections/client");
  window.ac = library.createClient({url, key});
  window.heard = [];
  ac.auth.onChange((event, session) => heard.push([event, session?.user_id ?? null]));
}"""
SIGN_UP = "async (email) => (await ac.auth.signup({email, password: 'correct horse'})).user.id"
# The session is about to end by the clock, as after a sleep: the next call refreshes it.
EXPIRE = """() => {
  const place = Object.keys(localStorage).find((name) => name.startsWith("auth-collections acp_"));
  const session = JSON.parse(localStorage.getItem(place));
  localStorage.setItem(place, JSON.stringify({...session, expires_at: Date.now() + 1000}));
  return [place, localStorage.getItem(place)];
}"""
SEEN = "([place, text]) => localStorage.getItem(place) === text"
HOLD = """() => {
  const place = Object.keys(localStorage).find((name) => name.startsWith("auth-collections acp_"));
  const forever = new Promise(() => {});
  return new Promise((granted) => navigator.locks.request(`${place} refresh`, () => { granted(); return forever; }));
}"""
PASSKEYS = """async () => {
  const {passkeys} = await import("@auth-collections/client/passkeys"), keys = passkeys(ac), {auth} = ac;
  await auth.signup({email: "pass@example.com", password: "correct horse"});
  const added = await keys.add({name: "Laptop"});
  await auth.logout();
  const {user} = await keys.login(), steppedUp = await keys.stepUp();
  await auth.logout();
  const asked = await auth.login("pass@example.com", "correct horse"), second = await keys.loginFactor(asked.flow_id);
  return {
    supported: keys.supported(), autofill: await keys.autofill(), added: [added.factor.type, added.recovery_codes.length],
    signed_in: user.email, stepped_up: steppedUp.next, asked: [asked.next, asked.methods.includes("passkey")],
    second: second.next, events: heard.map(([event]) => event),
  };
}"""
ASK = "() => { window.asked = ac.auth.user().then((user) => user.email, (error) => error.code); }"
ANSWER = "() => asked"
USER = "async () => (await ac.auth.session())?.user_id ?? null"


@pytest.fixture(scope="module")
def project(make_project: MakeProject, pages: str) -> Project:
    """Passkeys are of a name, so the pages of their test are those of localhost."""
    return make_project("tabs", WEBAUTHN_RP_ID="localhost", WEBAUTHN_ORIGINS=named(pages))


@pytest.fixture(scope="module")
def browser(project: Project) -> Iterator[Browser]:
    """Chromium starts after the project, which needs an event loop of its own."""
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def pages(package: Path) -> Iterator[str]:
    with file_server(package) as url:
        yield url


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context()
    yield made
    made.close()


def named(pages: str) -> str:
    return pages.replace("127.0.0.1", "localhost")


def open_tabs(context: BrowserContext, pages: str, project: Project, count: int) -> list[Page]:
    tabs = [context.new_page() for _ in range(count)]
    for tab in tabs:
        tab.set_default_timeout(0)
        tab.goto(pages)
        tab.evaluate(BEGIN, project.config())
    return tabs


def expire(tabs: list[Page]) -> None:
    """Returns once all tabs see it: a storage reaches the processes of other tabs a little later."""
    stored = tabs[0].evaluate(EXPIRE)
    for tab in tabs:
        tab.wait_for_function(SEEN, arg=stored)


def ask_all(tabs: list[Page]) -> list[Any]:
    for tab in tabs:
        tab.evaluate(ASK)
    return [tab.evaluate(ANSWER) for tab in tabs]


def test_k6_tabs_that_refresh_at_once_have_one_successor(context: BrowserContext, pages: str, project: Project) -> None:
    tabs = open_tabs(context, pages, project, TABS)
    tabs[0].evaluate(SIGN_UP, "k6@example.com")
    expire(tabs)
    assert ask_all(tabs) == ["k6@example.com"] * TABS
    # A tab may see what another one stored only after it was given the lock: then it gets the same successor.
    assert [tab.evaluate("async () => (await ac.auth.claims()).rc") for tab in tabs] == [1] * TABS


def test_k6_a_tab_that_is_frozen_in_the_lock_stops_no_other(
    context: BrowserContext, pages: str, project: Project
) -> None:
    frozen, *tabs = open_tabs(context, pages, project, 3)
    frozen.evaluate(SIGN_UP, "frozen@example.com")
    expire([frozen, *tabs])
    frozen.evaluate(HOLD)
    assert ask_all(tabs) == ["frozen@example.com"] * 2
    frozen.close()
    expire(tabs)
    assert ask_all(tabs) == ["frozen@example.com"] * 2


def test_k6_a_tab_that_crashes_in_the_lock_stops_no_other(
    context: BrowserContext, pages: str, project: Project
) -> None:
    crashed, *tabs = open_tabs(context, pages, project, 3)
    crashed.evaluate(SIGN_UP, "crashed@example.com")
    crashed.evaluate(HOLD)
    with crashed.expect_event("crash"), suppress(Error):
        crashed.goto("chrome://crash")
    tabs[0].wait_for_function("async () => !(await navigator.locks.query()).held.length")
    expire(tabs)
    assert ask_all(tabs) == ["crashed@example.com"] * 2


def test_k7_another_tab_signs_out_or_in_during_a_refresh(context: BrowserContext, pages: str, project: Project) -> None:
    one, other = open_tabs(context, pages, project, 2)
    for leave in ("async () => { await ac.auth.logout(); }", f"async () => ({SIGN_UP})('k7@example.com')"):
        ann = one.evaluate(SIGN_UP, f"ann-{len(leave)}@example.com")
        expire([one, other])
        project.proxy.faults = ["slow:1"]
        one.evaluate(ASK)
        one.wait_for_function("async () => (await navigator.locks.query()).held.length === 1")
        wanted = other.evaluate(leave)
        one.evaluate(ANSWER)
        assert one.evaluate(USER) == other.evaluate(USER) == wanted
        assert ann != wanted


def test_k22_a_forged_broadcast_is_not_believed(context: BrowserContext, pages: str, project: Project) -> None:
    one, other = open_tabs(context, pages, project, 2)
    user = one.evaluate(SIGN_UP, "k22@example.com")
    other.wait_for_function("() => heard.length === 1")
    place = one.evaluate("() => Object.keys(localStorage).find((name) => name.startsWith('auth-collections acp_'))")
    forge = (
        "(place) => ['signed_out', 'user_changed'].forEach((event) => new BroadcastChannel(place).postMessage(event))"
    )
    one.evaluate(forge, place)
    other.wait_for_function("() => heard.length === 2")
    assert other.evaluate("heard") == [["signed_in", user], ["user_changed", user]]
    assert other.evaluate(USER) == user
    # A message may come before the storage shows what happened: the storage's own event is heard as well.
    one.evaluate("(place) => localStorage.removeItem(place)", place)
    other.wait_for_function("() => heard.length === 3")
    assert other.evaluate("heard.at(-1)") == ["signed_out", None]


def test_a_passkey_is_added_signs_in_steps_up_and_is_a_second_factor(
    context: BrowserContext, pages: str, project: Project
) -> None:
    (tab,) = open_tabs(context, named(pages), project, 1)
    add_device(tab)
    assert tab.evaluate(PASSKEYS) == {
        "supported": True,
        "autofill": True,
        "added": ["passkey", 10],
        "signed_in": "pass@example.com",
        "stepped_up": None,
        "asked": ["factor", True],
        "second": None,
        "events": ["signed_in", "refreshed", "signed_out", "signed_in", "refreshed", "signed_out", "signed_in"],
    }


def test_k12_a_secret_key_makes_no_client_in_a_page(context: BrowserContext, pages: str, project: Project) -> None:
    (tab,) = open_tabs(context, pages, project, 1)
    made = (
        "(key) => { try { library.createClient({url: location.origin, key}); } catch (error) { return error.name; } }"
    )
    assert tab.evaluate(made, project.secret_key) == "ConfigurationError"
    assert project.secret_key not in json.dumps(tab.evaluate("({...localStorage})"))
