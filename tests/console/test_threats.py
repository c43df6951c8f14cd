"""Attacks on the console itself: other pages around it, what a sign-out leaves, an update under an open page."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Page, Route, expect

from tests.console.conftest import BLANK, OWNER, PROJECT, Console, needs_console

pytestmark = needs_console
API = f"projects/{PROJECT}/api/collections"
# A string as long as a line of an import may be, without the rest of the line.
LONG = "x" * (1_048_576 - 100)
HOSTILE = (
    "<img src=http://192.0.2.1/a.png onerror=document.title='ran'>",
    "<script>document.title='ran'</script></textarea></title>",
    "javascript:document.title='ran'",
    "${document.title} {{7*7}} <${Icon}",
    "\u202egpj.exe\u2066",
)
SCRIPT_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="ran"</script></svg>'
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", '=a,"b"')
# Calls the guard with the text in two parts, cut at each place, and returns the different results.
CUT = """async ([address, text]) => {
  const { makeGuard } = await import(address);
  const results = new Set();
  for (let at = 0; at <= text.length; at++) {
    const guard = makeGuard();
    results.add(guard(text.slice(0, at), false) + guard(text.slice(at), true));
  }
  return [...results];
}"""


def answer_with(status: int, body: Any) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, json=body)


def import_rows(console: Console, name: str, schema: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    console.admin("POST", API, {"name": name, "schema": schema})
    lines = "\n".join(json.dumps({"data": row}) for row in rows)
    assert console.admin("POST", f"{API}/{name}/import", lines.encode())["created"] == len(rows)


def watch_requests(page: Page, console: Console) -> list[str]:
    """The addresses that the page asks elsewhere."""
    others = list[str]()
    at_home = (console.settings["BASE_URL"], "blob:", "data:", "about:")
    page.on("request", lambda each: None if each.url.startswith(at_home) else others.append(each.url))
    return others


def test_c12_values_of_others_are_text(console: Console) -> None:
    """Documents, names and a string of 1 MiB in the grid and the record; a file that may have scripts is in a sandbox."""
    schema = {"text": {"type": "string"}, "any": {"type": "object"}, "drawing": {"type": "file", "types": ["svg"]}}
    rows: list[dict[str, Any]] = [{"text": each, "any": {"of": [each]}} for each in HOSTILE]
    import_rows(console, "letters", schema, [*rows, {"text": LONG}])
    console.admin(
        "POST",
        f"projects/{PROJECT}/views",
        {"kind": "grid", "of": "letters", "name": HOSTILE[0], "state": {"__proto__": {}}, "shared": True},
    )
    page = console.open(f"#/projects/{PROJECT}/data/letters?columns=text,any,drawing")
    others = watch_requests(page, console)
    for each in HOSTILE:
        expect(page.get_by_role("gridcell", name=each, exact=True).first).to_be_visible()
    page.get_by_role("gridcell").filter(has_text="x" * 100).click()
    expect(page.get_by_role("complementary").get_by_label("text", exact=True)).to_have_value(LONG)
    page.keyboard.press("Escape")
    page.get_by_role("gridcell", name=HOSTILE[0], exact=True).first.click()
    panel = page.get_by_role("complementary")
    expect(panel.get_by_role("textbox", name="text")).to_have_value(HOSTILE[0])
    panel.get_by_label("Drop a file, or choose").set_input_files(
        {"name": "<img src=x>.svg", "mimeType": "image/svg+xml", "buffer": SCRIPT_SVG}
    )
    panel.get_by_role("button", name="Save").click()
    stored = panel.get_by_role("link", name=".svg")
    expect(stored).to_be_visible()
    assert stored.get_attribute("rel") == "noreferrer"
    policy = httpx2.get(stored.get_attribute("href") or "").headers["content-security-policy"]
    assert {"default-src 'none'", "sandbox"} <= {part.strip() for part in policy.split(";")}
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("button", name=f"{HOSTILE[0]} shared")).to_be_visible()
    assert "ran" not in page.title()
    assert page.locator("[onerror], main script, main title").count() == 0
    assert others == []
    for view in console.admin("GET", f"projects/{PROJECT}/views")["views"]:
        console.admin("DELETE", f"projects/{PROJECT}/views/{view['id']}")
    console.admin("DELETE", f"{API}/letters")


def test_c12_names_and_errors_of_others_are_text(console: Console) -> None:
    """Names of projects and users, replies of a provider and errors of the service are shown as they are."""
    page = console.open("#/me")
    others = watch_requests(page, console)
    page.get_by_role("heading", name="My account").wait_for()
    for each in HOSTILE:
        shown = {"name": each, "id": PROJECT, "created_at": "2026-11-23T13:00:00Z", "role": "owner", "figures": None}
        answers: dict[str, tuple[int, Any]] = {
            "**/admin/v1/projects?*": (200, {"projects": [shown], "total": 1, "next": None}),
            "**/admin/v1/system": (409, {"detail": each, "code": "conflict"}),
            "**/files?*": (403, {"detail": each, "code": "forbidden", "needs": each}),
        }
        for pattern, (status, body) in answers.items():
            page.route(pattern, answer_with(status, body))
        # A page that is loaded again has no answer from before these.
        page.reload()
        for fragment in ("#/", "#/system", f"#/projects/{PROJECT}/files"):
            page.goto(f"{console.url}{fragment}")
            expect(page.get_by_text(each, exact=True).first).to_be_visible()
        page.unroute_all()
    assert "ran" not in page.title()
    assert page.locator("[onerror], main script, main title").count() == 0
    assert others == []


def test_c22_cells_of_an_export_are_no_formulas(console: Console, tmp_path: Path) -> None:
    """The dialog warns, and puts an apostrophe before formulas unless the operator declines; the service's bytes stay."""
    rows: list[dict[str, Any]] = [{"text": each} for each in (*FORMULAS, "-5", "plain")]
    import_rows(
        console, "sums", {"text": {"type": "string"}, "sum": {"type": "number"}}, [*rows, {"text": "n", "sum": -3.5}]
    )
    page = console.open(f"#/projects/{PROJECT}/data/sums")

    def export(*, is_safe: bool) -> bytes:
        page.get_by_role("button", name="Export").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text("A spreadsheet runs cells")).to_be_visible()
        dialog.get_by_role("checkbox", name="Safe for spreadsheets").set_checked(is_safe)
        with page.expect_download() as saved:
            dialog.get_by_role("button", name="Export").click()
        path = tmp_path / "sums.csv"
        saved.value.save_as(path)
        return path.read_bytes()

    plain, safe = export(is_safe=False), export(is_safe=True)
    cookies = {each["name"]: each["value"] for each in console.cookies}
    url = f"{console.settings['BASE_URL']}/admin/v1/{API}/sums/export?format=csv"
    assert plain == httpx2.get(url, cookies=cookies, headers={"sec-fetch-site": "same-origin"}).content
    read = [
        {row["text"]: row["sum"] for row in csv.DictReader(text.decode().splitlines(keepends=True))}
        for text in (plain, safe)
    ]
    assert read[0].keys() == {*FORMULAS, "-5", "plain", "n"}
    assert read[1].keys() == {*(f"'{each}" for each in FORMULAS), "-5", "plain", "n"}
    assert read[1]["n"] == "-3.5"
    address = page.evaluate(
        "performance.getEntriesByType('resource').find(e => e.name.endsWith('/grid/export.js')).name"
    )
    assert page.evaluate(CUT, [address, plain.decode()]) == [safe.decode()]
    console.admin("DELETE", f"{API}/sums")


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


def test_c13_no_answer_of_the_admin_api_is_kept(console: Console) -> None:
    """A browser keeps no answer for the time after the sign-out, of own and of mirrored rows."""
    cookies = {each["name"]: each["value"] for each in console.cookies}
    for path in ("session", "projects", API, f"projects/{PROJECT}/audit", "nowhere"):
        answer = httpx2.get(
            f"{console.settings['BASE_URL']}/admin/v1/{path}",
            cookies=cookies,
            headers={"sec-fetch-site": "same-origin"},
        )
        assert answer.headers["cache-control"] == "no-store", path


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
