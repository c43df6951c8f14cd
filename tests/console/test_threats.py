"""Attacks on the console itself: other pages around it, what a sign-out leaves, an update under an open page."""

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.console.conftest import BLANK, OWNER, PROJECT, Console, needs_console

pytestmark = needs_console


def show(body: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(content_type="text/html", body=body)


def test_c13_no_page_has_the_console_in_a_frame(console: Console) -> None:
    """Another page of the operator's browser sees neither the console nor an answer of the Admin API."""
    page = console.open(BLANK)
    service = console.url.partition("/console/")[0]
    for place, framed in ((f"{service}/other", "console/"), ("http://localhost/", "admin/v1/session")):
        page.route(place, show(f'<iframe src="{service}/{framed}"></iframe>'))
    page.goto(f"{service}/other")
    page.wait_for_load_state()
    assert page.frames[1].url == "chrome-error://chromewebdata/"
    assert [each for each in console.complaints if "frame-ancestors 'none'" in each]
    page.goto("http://localhost/")
    page.wait_for_load_state()
    assert OWNER not in page.frames[1].content()
    console.complaints.clear()


def test_c13_a_window_that_opened_the_console_has_no_hold_of_it(console: Console) -> None:
    page = console.open(BLANK)
    address = f"{console.url.partition('/console/')[0]}/opening"
    page.route("**/opening", show("<title>other</title>"))
    page.goto(address)
    with page.context.expect_page() as opened:
        page.evaluate("address => { window.held = open(address); }", console.url)
    expect(opened.value.get_by_role("heading", name="Projects", exact=True)).to_be_visible()
    page.wait_for_function("window.held.closed")
    assert opened.value.evaluate("opener") is None


def test_c13_the_way_back_shows_nothing_after_a_sign_out(console: Console) -> None:
    page = console.open_account("gone@example.com")
    page.goto(f"{console.url}#/me")
    expect(page.get_by_text("gone@example.com").first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
    page.goto(BLANK)
    page.go_back()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_text("gone@example.com")).to_have_count(0)


def test_an_update_under_an_open_page_loads_it_again_once(console: Console) -> None:
    page = console.open(f"#/projects/{PROJECT}")
    expect(page.get_by_role("heading", name="Ferry times")).to_be_visible()
    loads = list[str]()
    page.on("load", lambda each: loads.append(each.url))

    def lose(route: Route) -> None:
        route.fulfill(status=404, body="")

    page.route("**/pages/keys.js", lose)
    with page.expect_event("load"):
        page.get_by_role("link", name="Keys").click()
    again = page.get_by_role("button", name="Load it again")
    expect(again).to_be_visible()
    assert len(loads) == 1
    page.unroute("**/pages/keys.js")
    again.click()
    expect(page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    assert page.url.endswith(f"#/projects/{PROJECT}/keys")
