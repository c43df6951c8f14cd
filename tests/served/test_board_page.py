"""The page docs/examples/board in two browsers at once: each shows what the other does, and what it missed."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocket, WebSocketRoute, expect

from tests.chromium import needs_chromium
from tests.demo import DEMO
from tests.served.browser import EXAMPLES, PATIENCE_MS, Site, connect, shoot, sign, window
from tests.served.conftest import MakeSite
from tests.served.packages import needs_packages

SCRIPT = "<img src=x onerror=alert(1)>"
BOARD = DEMO.collections["cards"]
pytestmark = [needs_packages, needs_chromium]
Lists = list[dict[str, Any]]
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def site(make_site: MakeSite) -> Site:
    """A project with the board of the demo, and its rules."""
    assert isinstance(DEMO.rules, dict)
    collection = {"name": "cards", "schema": BOARD.declared, "realtime": BOARD.realtime}
    rules = {"collections": {"cards": DEMO.rules["collections"]["cards"]}}
    made = make_site("board", "board/", [collection], rules)
    with httpx2.Client(base_url=made.service, headers={"x-api-key": made.key}) as server:
        for data in BOARD.documents[0].rows or ():
            assert server.post("/api/collections/cards/documents", json={"data": data}).status_code == 201
    return made


@pytest.fixture
def ann(browser: Browser) -> Iterator[Page]:
    with window(browser) as opened:
        yield opened


@pytest.fixture
def ben(browser: Browser) -> Iterator[Page]:
    with window(browser) as opened:
        yield opened


@dataclass
class Line:
    """The sockets of a page, which can be cut. `frames` are what came over the last one of them."""

    page: Page
    is_down: bool = False
    frames: list[dict[str, Any]] = field(default_factory=list)
    _open: WebSocketRoute | None = None

    def __post_init__(self) -> None:
        self.page.route_web_socket("**/realtime", self._route)

    def _route(self, client: WebSocketRoute) -> None:
        if self.is_down:
            client.close(code=1011)
            return
        server, frames = client.connect_to_server(), list[dict[str, Any]]()
        self.frames, self._open = frames, client

        def pass_on(message: str | bytes) -> None:
            frames.append(json.loads(message))
            client.send(message)

        server.on_message(pass_on)

    def cut(self) -> None:
        self.is_down = True
        assert self._open is not None
        self._open.close(code=1011)

    def mend(self) -> None:
        self.is_down = False
        self.page.evaluate("dispatchEvent(new Event('online'))")


def enter(page: Page, site: Site, email: str) -> None:
    look(page, site)
    page.get_by_role("button", name="Sign in to change it").click()
    sign(page, email, "Sign up")
    expect(page.get_by_text(email)).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("Live")


def look(page: Page, site: Site) -> None:
    page.goto(site.url)
    expect(page.get_by_role("status")).to_have_text("Live")


def add(page: Page, text: str) -> None:
    page.get_by_label("New card").fill(text)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("New card")).to_have_value("")


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name=name)


def test_two_browsers_are_in_step(ann: Page, ben: Page, site: Site) -> None:
    enter(ann, site, "ann@example.com")
    look(ben, site)
    expect(ben.get_by_role("listitem")).to_have_count(len(BOARD.documents[0].rows or ()))
    expect(ben.get_by_role("button", name="Delete")).to_have_count(0)
    add(ann, "Buy candlesticks")
    expect(column(ben, "To do")).to_contain_text("Buy candlesticks")
    enter(ben, site, "ben@example.com")
    button = ben.get_by_label("One column on: Buy candlesticks")
    button.focus()
    button.press("Enter")
    expect(column(ann, "Doing")).to_contain_text("Buy candlesticks")
    expect(column(ann, "To do")).not_to_contain_text("Buy candlesticks")
    expect(ben.get_by_label("One column on: Buy candlesticks")).to_be_focused()
    card = ann.get_by_role("listitem").filter(has_text="Buy candlesticks")
    card.drag_to(ann.locator("[data-column=done]"))
    expect(column(ben, "Done")).to_contain_text("Buy candlesticks")
    shoot(ann, "board-ann")
    shoot(ben, "board-ben")
    ann.get_by_label("Delete: Buy candlesticks").click()
    expect(ben.get_by_text("Buy candlesticks")).to_have_count(0)


def test_what_was_missed_is_shown_without_another_snapshot(ann: Page, ben: Page, site: Site) -> None:
    line = Line(ben)
    enter(ann, site, "cid@example.com")
    look(ben, site)
    line.cut()
    expect(ben.get_by_role("status")).to_contain_text("Connection lost")
    add(ann, SCRIPT)
    ann.get_by_label("Delete: Find the way through the sewers").click()
    expect(column(ann, "To do")).not_to_contain_text("sewers")
    expect(column(ben, "To do")).to_contain_text("sewers")
    shoot(ben, "board-stale")
    line.mend()
    expect(column(ben, "To do")).to_contain_text(SCRIPT)
    expect(column(ben, "To do")).not_to_contain_text("sewers")
    expect(ben.get_by_role("status")).to_have_text("Live")
    assert [each["type"] for each in line.frames if each["type"] != "tick"] == ["ready", "changes"]
    assert ben.locator("img").count() == 0


def test_the_page_asks_where_the_service_is_and_says_what_it_refuses(ann: Page, site: Site) -> None:
    ann.goto(site.url.partition("?")[0])
    shoot(ann, "board-connect")
    connect(ann, site)
    expect(ann.get_by_role("status")).to_have_text("Live")
    assert ann.url == site.url
    ann.goto(site.url + "x")
    expect(ann.get_by_role("status")).to_have_text("Not connected")
    expect(ann.get_by_role("alert")).not_to_be_empty()


THREE_LISTS = """async ({module, service, token}) => {
  const {follow} = await import(module);
  const seen = window.seen = [{}, {}, {}];
  for (const [at, limit] of [100, 50, 1].entries()) follow({
    service, credential: () => ({token}), query: {collection: "cards", limit},
    show: (records) => { seen[at].count = records.size; },
    report: (state, detail, code) => { Object.assign(seen[at], {state, detail, code}); },
  });
}"""
TEN_SOCKETS = """async ({service, token}) => {
  window.held = [];
  for (let number = 0; number < 10; number++) await new Promise((ready) => {
    const socket = new WebSocket(service.replace(/^http/, "ws") + "/realtime");
    window.held.push(socket);
    socket.onopen = () => socket.send(JSON.stringify({type: "hello", token}));
    socket.onmessage = ready;
  });
}"""


def sign_up(site: Site, email: str) -> str:
    body = {"email": email, "password": "correct horse"}
    answer = httpx2.post(
        f"{site.service}/auth-collections/signup", json=body, headers={"x-api-key": site.publishable_key}
    )
    return str(answer.json()["access_token"])


def watch_sockets(page: Page) -> list[str]:
    """The URLs of the sockets that the page opens from now on."""
    found: list[str] = []

    def note(socket: WebSocket) -> None:
        found.append(socket.url)

    page.on("websocket", note)
    return found


def await_lists(page: Page, is_reached: Callable[[Lists], bool]) -> Lists:
    """The state that the page's lists report, once it is as wanted.

    (The page's policy forbids a script that waits inside it.)
    """
    for _ in range(PATIENCE_MS // 100):
        seen: Lists = page.evaluate("seen")
        if is_reached(seen):
            return seen
        page.wait_for_timeout(100)
    raise AssertionError(seen)


def begin_three_lists(page: Page, site: Site, token: str) -> None:
    module = f"{site.url.partition('board/')[0]}live.js"
    page.goto(site.url.partition("?")[0])
    page.evaluate(THREE_LISTS, {"module": module, "service": site.service, "token": token})


def test_b4_four_tabs_of_three_lists_show_data_over_one_socket_each(browser: Browser, site: Site) -> None:
    token, count = sign_up(site, "tabs@example.com"), len(BOARD.documents[0].rows or ())
    with ExitStack() as stack:
        tabs = [stack.enter_context(window(browser)) for _ in range(4)]
        for tab in tabs:
            sockets = watch_sockets(tab)
            begin_three_lists(tab, site, token)
            seen = await_lists(tab, lambda lists: all(each.get("count") for each in lists))
            assert {each["state"] for each in seen} == {"live"}
            assert seen[0]["count"] >= count - 1
            assert seen[2]["count"] == 1
            assert len(sockets) == 1
        body = {"data": {"text": "Seen in four tabs", "column": "todo"}}
        made = httpx2.post(
            f"{site.service}/api/collections/cards/documents", json=body, headers={"x-api-key": site.key}
        )
        assert made.status_code == 201, made.text
        for tab in tabs:
            await_lists(tab, lambda lists: lists[0]["count"] > seen[0]["count"])
        url = f"{site.service}/api/collections/cards/documents/{made.json()['id']}"
        assert httpx2.delete(url, headers={"x-api-key": site.key}).status_code == 204


def test_b4_a_page_past_the_sockets_of_its_user_says_so_and_asks_no_more(browser: Browser, site: Site) -> None:
    token = sign_up(site, "full@example.com")
    with window(browser) as holder, window(browser) as page:
        holder.goto(site.url.partition("?")[0])
        holder.evaluate(TEN_SOCKETS, {"service": site.service, "token": token})
        sockets = watch_sockets(page)
        begin_three_lists(page, site, token)
        lists = await_lists(page, lambda lists: all(each["state"] == "refused" for each in lists))
        reasons = [(each["code"], each["detail"]) for each in lists]
        assert reasons == [(4429, "This user has 10 sockets already; close one first")] * 3
        page.wait_for_timeout(3_000)
        assert len(sockets) == 1


def test_b4_the_board_says_why_it_is_refused_and_keeps_its_user(browser: Browser, site: Site) -> None:
    with window(browser) as holder, window(browser) as page:
        enter(page, site, "kept@example.com")
        token = page.evaluate("JSON.parse(Object.values(localStorage)[0]).access_token")
        page.goto("about:blank")
        holder.goto(site.url.partition("?")[0])
        holder.evaluate(TEN_SOCKETS, {"service": site.service, "token": token})
        page.goto(site.url)
        expect(page.get_by_role("status")).to_have_text("Not connected")
        expect(page.get_by_role("alert")).to_have_text("This user has 10 sockets already; close one first")
        expect(page.get_by_text("kept@example.com")).to_be_visible()


def test_the_page_has_no_script_but_its_own() -> None:
    page = (EXAMPLES / "board" / "index.html").read_text()
    scripts = "".join((EXAMPLES / name).read_text() for name in ("board/board.js", "live.js", "project.js"))
    assert "script-src 'self'; style-src 'self'" in page
    assert " style=" not in page
    assert "onclick=" not in page
    assert "innerHTML" not in scripts
