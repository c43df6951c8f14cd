"""The grid of documents: its requests, its elements, its keys, edits in place and at the right, and several at once."""

import json
from collections.abc import Iterator
from subprocess import run
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.conftest import PROJECT, Console, find_faults, find_misfits, needs_console

pytestmark = needs_console
HOSTILE = "<img src=x onerror=alert(1)> {{7*7}} ${1} \u202egnp.exe javascript:alert(1)"
GRID = f"#/projects/{PROJECT}/data/books"
# Counts the nodes that come and go in the grid.
COUNTER = """() => {
  window.moved = 0;
  const count = all => { for (const each of all) window.moved += each.addedNodes.length + each.removedNodes.length; };
  new MutationObserver(count).observe(document.querySelector('[role=grid]'), {childList: true, subtree: true});
}"""
SCHEMA = {
    "title": {"type": "string", "required": True},
    "year": {"type": "integer", "index": True},
    "kept": {"type": "boolean"},
    "author_id": {"type": "reference", "collection": "authors"},
    "tags": {"type": "array", "items": {"type": "string"}},
}


@pytest.fixture(scope="module")
def books(owned: Console) -> Iterator[Console]:
    """350 books, the newest of which has hostile values, and an author of some of them."""
    api = f"projects/{PROJECT}/api/collections"
    owned.admin("POST", api, {"name": "authors", "schema": {"name": {"type": "string"}}})
    author = owned.admin("POST", f"{api}/authors/documents", {"data": {"name": "Hugo"}})["id"]
    owned.admin("POST", api, {"name": "books", "schema": SCHEMA})
    rows = [{"title": f"Tome {at}", "year": 1800 + at % 100, "author_id": author} for at in range(349)]
    rows.append({"title": HOSTILE, "tags": ["x" * 100_000, "</script>"]})
    lines = "\n".join(json.dumps({"data": row}) for row in rows)
    owned.admin("POST", f"{api}/books/import", lines.encode())
    yield owned
    owned.admin("DELETE", f"{api}/books")
    owned.admin("DELETE", f"{api}/authors")


def cell(page: Page, text: str) -> Any:
    return page.get_by_role("gridcell", name=text, exact=True).first


def test_the_grid_asks_for_its_page_alone(books: Console, console: Console) -> None:
    """Nothing grows with the collection: three requests, one page of documents, a pool of elements; hostile values are text."""
    page = console.open("#/me")
    page.get_by_role("heading", name="My account").wait_for()
    asked: list[str] = []
    page.on("response", lambda answer: asked.append(answer.url) if "/admin/v1/projects/" in answer.url else None)
    with page.expect_response(
        lambda answer: "query" in answer.url and '"cursor"' in (answer.request.post_data or "")
    ) as first:
        page.goto(f"{console.url}{GRID}?columns=title,year,author_id,tags")
    assert len(first.value.json()["documents"]) == 100
    expect(cell(page, HOSTILE)).to_be_visible()
    expect(cell(page, "Tome 348")).to_be_visible()
    expect(page.get_by_text("350", exact=True)).to_be_visible()
    assert len(asked) == 3, asked
    assert find_faults(page) == []
    assert page.evaluate("document.querySelectorAll('*').length") <= 1_500
    page.evaluate(COUNTER)
    page.get_by_role("grid").focus()
    for loaded in ("200 loaded", "300 loaded", "350 documents"):
        page.keyboard.press("Control+End")
        expect(page.get_by_text(loaded)).to_be_visible()
    page.keyboard.press("Control+End")
    expect(cell(page, "Tome 0")).to_be_visible()
    assert page.evaluate("window.moved") == 0
    assert len(asked) == 6
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/console/')).map(e => e.encodedBodySize)"
    )
    assert sum(sizes) <= 150_000


def test_a_cell_is_edited_by_keyboard_and_keeps_what_is_refused(books: Console, console: Console) -> None:
    page = console.open(f'{GRID}?where={{"title_eq":"Tome 7"}}')
    expect(cell(page, "Tome 7")).to_be_visible()
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.type("soon")
    page.keyboard.press("Enter")
    refused = page.get_by_title("Must be a whole number")
    expect(refused).to_have_text("1807")
    assert find_faults(page) == []
    page.keyboard.press("F2")
    page.keyboard.type("1999")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.keyboard.press("Tab")
    assert sent.value.post_data_json == {"data": {"year": 1999}}
    assert sent.value.headers["if-match"] == '"v1"'
    expect(cell(page, "1999")).to_be_visible()
    expect(page.get_by_role("combobox", name="kept")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("grid")).to_be_focused()


def test_two_who_edit_one_record_see_both_values(books: Console, console: Console) -> None:
    page = console.open(f'{GRID}?where={{"title_eq":"Tome 9"}}')
    cell(page, "Tome 9").click()
    panel = page.get_by_role("complementary", name="Record Tome 9")
    panel.get_by_role("textbox", name="year").fill("2001")
    expect(panel.get_by_text("1 field changed")).to_be_visible()
    assert find_faults(page) == []
    identity = page.url.rpartition("record=")[2]
    path = f"projects/{PROJECT}/api/collections/books/documents/{identity}"
    console.admin("PATCH", path, {"data": {"year": 1900, "kept": True}})
    panel.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog", name="It was changed meanwhile")
    expect(dialog.get_by_role("radio", name="Mine: 2001")).to_be_checked()
    expect(dialog.get_by_role("radio", name="Theirs: 1900")).not_to_be_checked()
    assert find_faults(page) == []
    dialog.get_by_role("button", name="Save").click()
    expect(cell(page, "2001")).to_be_visible()
    assert console.admin("GET", path)["data"] | {"author_id": ""} == {
        "title": "Tome 9",
        "year": 2001,
        "kept": True,
        "author_id": "",
    }
    panel.get_by_role("textbox", name="title").fill("half a thought")
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Leave the changes?").get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("textbox", name="title")).to_have_value("half a thought")
    panel.get_by_role("button", name="Revert").click()
    panel.get_by_role("combobox", name="author_id").click()
    page.keyboard.type("hug")
    expect(page.get_by_role("option", name="Hugo")).to_be_visible()
    assert find_faults(page) == []
    page.keyboard.press("Escape")
    panel.get_by_role("tab", name="History").click()
    expect(panel.get_by_text("Olga").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_a_record_is_made_found_and_deleted(books: Console, console: Console) -> None:
    page = console.open(GRID)
    page.get_by_role("button", name="New record").click()
    panel = page.get_by_role("complementary", name="Record New in books")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("textbox", name="title")).to_have_attribute("aria-invalid", "true")
    panel.get_by_role("textbox", name="title").fill("Waterloo")
    held = list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/books/documents", hold)
    with page.expect_request("**/books/documents"):
        panel.get_by_role("button", name="Save").click()
    # Escape comes before the answer does.
    page.keyboard.press("Escape")
    held[0].continue_()
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.unroute("**/books/documents")
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_role("combobox", name="Operator").select_option("eq")
    page.get_by_role("textbox", name="Value").fill("Waterloo")
    assert find_faults(page) == []
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("1 document", exact=True)).to_be_visible()
    assert "where=%7B%22title_eq%22%3A%22Waterloo%22%7D" in page.url
    page.get_by_role("button", name="Views").click()
    page.get_by_role("textbox", name="Name").fill("Waterloo alone")
    page.get_by_role("button", name="Save view").click()
    expect(page.get_by_role("button", name="Waterloo alone", exact=True)).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("button", name="Close").click()
    page.goto(f"{console.url}{GRID}")
    expect(page.get_by_text("100 loaded")).to_be_visible()
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Waterloo alone", exact=True).click()
    expect(page.get_by_text("1 document", exact=True)).to_be_visible()
    page.get_by_role("grid").focus()
    page.keyboard.press("Delete")
    dialog = page.get_by_role("dialog", name="Delete documents")
    expect(dialog.get_by_text("This deletes 1 document.")).to_be_visible()
    assert find_faults(page) == []
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("button", name="Clear the filter").click()
    expect(page.get_by_role("grid")).to_be_visible()


def test_more_are_changed_at_once_than_one_condition_may_name(books: Console, console: Console) -> None:
    api = f"projects/{PROJECT}/api/collections"
    books.admin("POST", api, {"name": "marks", "schema": {"mark": {"type": "integer"}}})
    books.admin(
        "POST", f"{api}/marks/import", "\n".join(json.dumps({"data": {"mark": at}}) for at in range(520)).encode()
    )
    page = console.open(f"#/projects/{PROJECT}/data/marks")
    for loaded in ("100 loaded", "200 loaded", "300 loaded", "400 loaded", "500 loaded", "520 documents"):
        expect(page.get_by_text(loaded)).to_be_visible()
        page.get_by_role("grid").focus()
        page.keyboard.press("Control+End")
    page.get_by_role("checkbox", name="Select all that are loaded").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    dialog = page.get_by_role("dialog", name="Edit documents")
    dialog.get_by_role("textbox", name="New value").fill("7")
    expect(dialog.get_by_text("This changes 520 documents.")).to_be_visible()
    assert find_faults(page) == []
    dialog.get_by_role("button", name="Change").click()
    expect(page.get_by_text("520 changed")).to_be_attached()
    changed = books.admin("POST", f"{api}/marks/query", {"where": {"mark_eq": 7}, "limit": 1, "count": "exact"})
    assert changed["total"] == 520
    books.admin("DELETE", f"{api}/marks")


def test_a_live_grid_shows_what_programs_do(books: Console, console: Console) -> None:
    """A change is shown in its row, and what comes is loaded; the calls of the API tab do what they say."""
    api = f"projects/{PROJECT}/api/collections"
    books.admin(
        "POST",
        api,
        {"name": "boats", "schema": {"name": {"type": "string", "required": True}, "at": {"type": "datetime"}}},
    )
    first = books.admin("POST", f"{api}/boats/documents", {"data": {"name": "Ada"}})["id"]
    page = console.open(f"#/projects/{PROJECT}/data/boats")
    page.get_by_role("button", name="Live", exact=True).click()
    page.get_by_role("button", name="Make it live").click()
    expect(page.locator(".dot-live")).to_be_visible()
    assert find_faults(page) == []
    books.admin("PATCH", f"{api}/boats/documents/{first}", {"data": {"name": "Bea"}})
    expect(cell(page, "Bea")).to_be_visible()
    books.admin("POST", f"{api}/boats/documents", {"data": {"name": "Cleo"}})
    expect(cell(page, "Cleo")).to_be_visible()
    page.get_by_role("link", name="API").click()
    assert find_misfits(page) == []
    key = books.admin("POST", f"projects/{PROJECT}/keys", {"kind": "secret", "name": "api tab"})["key"]
    page.get_by_role("radio", name="Python").check(force=True)
    codes = page.get_by_role("group").filter(has_text="client").all_inner_texts()
    assert len(codes) == 7
    found: dict[str, Any] = {"API_KEY": key}
    exec("\n".join(each.replace("66f0c1a2b3c4d5e6f7a8b9c0", first) for each in codes[:6]), found)  # noqa: S102
    assert (found["document"].data["name"], found["made"].data["name"]) == ("Bea", "text")
    names = [each["data"]["name"] for each in books.admin("GET", f"{api}/boats/documents?sort_by=name")["documents"]]
    assert names == ["Cleo", "text"]
    page.get_by_role("radio", name="curl").check(force=True)
    command = page.get_by_role("group", name="Create as code").inner_text()
    assert run(["/bin/sh", "-c", f"{command} -fsS"], env={"API_KEY": key}, check=True, capture_output=True)  # noqa: S603
    with page.expect_download() as types:
        page.get_by_role("link", name="TypeScript").click()
    assert "boats" in types.value.path().read_text()
    books.admin("DELETE", f"{api}/boats")


def test_the_grid_suits_both_schemes_and_widths(books: Console, console: Console) -> None:
    page = console.open(f"{GRID}?record=new")
    page.get_by_role("complementary").wait_for()
    for width, scheme in ((1280, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Close").click()
    expect(cell(page, HOSTILE)).to_be_visible()
    assert find_faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert find_faults(page) == []
