"""Every page of the console in each of its states, and by keyboard alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.conftest import BLANK, PROJECT, Console, load_axe, needs_console

pytestmark = needs_console
P = f"#/projects/{PROJECT}"
QUAYS = f"{P}/data/quays"
API = f"projects/{PROJECT}/api/collections"
USERS = f"projects/{PROJECT}/auth-collections/users"
AWAY = {"detail": "MongoDB is away", "code": "unavailable"}
REFUSED = {"detail": "Not allowed", "code": "forbidden", "needs": "ferry-times:all:read"}
# The faults of axe in the page, and what is cut, too wide, or no text for people.
FAULTS = """async () => {
  const { violations } = await axe.run('main', { resultTypes: ['violations'] });
  const main = document.querySelector('main');
  const cut = [...main.querySelectorAll('.page *, .empty *')].filter((each) => {
    const { left, width } = each.getBoundingClientRect();
    return width > 0 && left < 0 && !each.closest('.unseen');
  });
  const wide = document.documentElement.scrollWidth - innerWidth;
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`),
    ...cut.map((each) => `cut: ${each.outerHTML.slice(0, 100)}`),
    ...(wide > 0 ? [`${wide} px too wide`] : []),
    ...(main.innerText.match(/\\bNaN\\b|\\bundefined\\b|\\[object/g) ?? []),
  ];
}"""
# True if the control of this name, or of this selector, has the focus; the second, if one sees that.
FOCUSED = """(wanted) => {
  const at = document.activeElement;
  const name = (at.getAttribute('aria-label') ?? at.innerText ?? '').trim();
  const isSeen = [at, at.closest('label'), at.parentElement].filter(Boolean).map((each) => getComputedStyle(each))
    .some(({ outlineStyle, boxShadow }) => outlineStyle !== 'none' || boxShadow !== 'none');
  return [wanted.startsWith('main ') ? at.matches(wanted) : name === wanted, at.matches(':focus-visible') && isSeen];
}"""
MOST_TABS = 90
FIELD = "main :is(.page, .toolbar) :is(input, select, textarea)"


@dataclass(frozen=True)
class Shown:
    """A page, what it says where nothing is there, its main action by name or selector, and the role of what that opens.

    Answers to paths that end with one of `fed` stay whole where the others are empty.
    """

    fragment: str
    empty: str
    action: str
    opens: str = "dialog"
    fed: tuple[str, ...] = ()


COLLECTION = ("/collections", "/rules")
# Neighbours are different pages, so that each of them begins with a `main` of its own.
PAGES = (
    Shown("#/", "No projects yet", "New project"),
    Shown("#/operators", "", "Invite"),
    Shown("#/usage", "", "main .choice input", ""),
    Shown("#/backups", "No backups yet", ""),
    Shown("#/audit", "No entries yet", "main .openable a", "complementary"),
    Shown("#/system", "", "Check again", ""),
    Shown("#/me", "", "Change password"),
    Shown(P, "No collections yet", "Rename"),
    Shown(f"{P}/data", "No collections yet", "New collection"),
    Shown(QUAYS, "No documents yet", "New record", "complementary", COLLECTION),
    Shown(f"{QUAYS}/schema", "", "Delete collection", fed=COLLECTION),
    Shown(f"{QUAYS}/rules", "", "Test", "", COLLECTION),
    Shown(f"{QUAYS}/api", "", "main .card button", "", COLLECTION),
    Shown(f"{P}/users", "No users yet", "New user"),
    Shown(f"{P}/users/USER", "The user is signed in nowhere", "Act as…"),
    Shown(f"{P}/files", "No files yet", FIELD, ""),
    Shown(f"{P}/charts/new", "", "Save"),
    Shown(f"{P}/charts", "No charts yet", "New chart", "form"),
    Shown(f"{P}/mail", "No mails yet", "Server", ""),
    Shown(f"{P}/sign-in", "No providers yet", "Add provider"),
    Shown(f"{P}/mail/server", "", FIELD, ""),
    Shown(f"{P}/keys", "", "New key"),
    Shown(f"{P}/mail/texts", "", FIELD, ""),
    Shown(f"{P}/logs", "No requests yet", "Refresh", ""),
    Shown(f"{P}/usage", "", "main .choice input", ""),
    Shown(f"{P}/audit", "No entries yet", "Refresh", ""),
    Shown(f"{P}/backups", "No backups yet", "Back up now"),
    Shown(f"{P}/settings", "", FIELD, ""),
)


@pytest.fixture(scope="module")
def addresses(owned: Console) -> Iterator[Callable[[Shown], str]]:
    """The address of each page, of a project that has a record and a user."""
    owned.admin("POST", API, {"name": "quays", "schema": {"name": {"type": "string"}}})
    owned.admin("POST", f"{API}/quays/documents", {"data": {"name": "North"}})
    user = owned.admin("POST", USERS, {"email": "quay@example.com"})["id"]
    yield lambda shown: f"{owned.url}{shown.fragment.replace('USER', user)}"
    owned.admin("DELETE", f"{USERS}/{user}")
    owned.admin("DELETE", f"{API}/quays")


def emptied(route: Route) -> None:
    """The service's own answer without what is in its lists, so that its form is never out of date."""
    answer = route.fetch()
    body: dict[str, Any] = answer.json()
    nothing = {"total": 0, "next": None}
    empty = {name: [] if isinstance(value, list) else nothing.get(name, value) for name, value in body.items()}
    route.fulfill(response=answer, json=empty)


def keep_open(_: Route) -> None:
    """A request without an answer."""


STATES: dict[str, tuple[Callable[[Route], None] | None, Callable[[Page, Shown], Any]]] = {
    "loading": (keep_open, lambda page, _: page.locator("main .skeleton").first),
    "empty": (emptied, lambda page, shown: page.locator("main").get_by_text(shown.empty).first),
    "error": (
        lambda route: route.fulfill(status=503, json=AWAY, headers={"retry-after": "30"}),
        lambda page, _: page.locator("main").get_by_role("alert").get_by_text("MongoDB is away").first,
    ),
    "refused": (
        lambda route: route.fulfill(status=403, json=REFUSED),
        lambda page, _: page.locator("main").get_by_text("ferry-times:all:read").first,
    ),
    "narrow": (None, lambda page, _: page.locator("main h1")),
}


def visit(page: Page, address: str) -> None:
    """Go on to a page, whose files may come later than its address: until then the page before stays."""
    page.evaluate("document.querySelector('main')?.classList.add('before')")
    page.goto(address)
    page.locator("main:not(.before)").wait_for()
    load_axe(page)


@pytest.mark.parametrize("state", STATES)
def test_each_page_suits_each_state(console: Console, addresses: Callable[[Shown], str], state: str) -> None:
    answer, sign = STATES[state]
    fed = list[str]()

    def handle(route: Route) -> None:
        path = route.request.url.partition("?")[0]
        is_whole = path.endswith(("/session", "/live", *fed))
        route.continue_() if is_whole or not answer else answer(route)

    page = console.open(BLANK)
    page.set_viewport_size({"width": 360 if state in {"narrow", "empty"} else 1280, "height": 800})
    page.route("**/admin/v1/**", handle)
    found = list[Any]()
    for shown in PAGES:
        if state == "empty" and tuple(fed) != shown.fed:
            # The console keeps the collections that it has read for a moment.
            page.goto(BLANK)
            fed[:] = shown.fed
        visit(page, addresses(shown))
        sign(page, shown).wait_for()
        if answer is not keep_open:
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
        found += [(shown.fragment, fault) for fault in page.evaluate(FAULTS)]
    assert found == []


def focus(page: Page, wanted: str) -> bool:
    """Tab as far as a control. Returns true if the focus is in sight there."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        is_there, is_seen = page.evaluate(FOCUSED, wanted)
        if is_there:
            return bool(is_seen)
    raise AssertionError(f"No Tab leads to {wanted} of {page.url}")


def test_each_page_is_used_by_keyboard_alone(console: Console, addresses: Callable[[Shown], str]) -> None:
    """The main action is reached and used; what it opens has the focus and gives it back."""
    page = console.open(BLANK)
    for shown in PAGES:
        visit(page, addresses(shown))
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        if not shown.action:
            continue
        assert focus(page, shown.action), shown.fragment
        page.keyboard.press("Enter")
        opened = page.get_by_role(shown.opens) if shown.opens else None  # type: ignore[arg-type]
        if opened:
            expect(opened).to_be_visible()
        if opened and shown.opens != "form":
            assert opened.evaluate("each => each.contains(document.activeElement)"), shown.fragment
            page.keyboard.press("Escape")
            expect(opened).to_have_count(0)
        if shown.opens != "form":
            assert page.evaluate(FOCUSED, shown.action) == [True, True], shown.fragment
