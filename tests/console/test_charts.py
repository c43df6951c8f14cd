"""Charts in Chromium: built from documents, refused, saved and opened again; by keyboard, and as JSON."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.console.conftest import BLANK, Console, find_faults, find_misfits, needs_console

# A request of the operator, from a page of the same origin.
ASK = """([method, path, body]) => fetch(`../admin/v1/${path}`, {
    method, headers: {'content-type': 'application/json'}, body: JSON.stringify(body),
}).then(answer => answer.status)"""
BOOKS = {
    "title": {"type": "string"},
    "year": {"type": "integer"},
    "price": {"type": "number"},
    "bought": {"type": "datetime"},
}
ROWS = [
    {
        "title": f"<b>{index}</b>",
        "year": 2020 + index % 3,
        "price": index,
        "bought": f"2026-0{index % 3 + 1}-10T10:00:00Z",
    }
    for index in range(6)
]

pytestmark = needs_console


def ask(page: Page, path: str, body: Any) -> None:
    assert page.evaluate(ASK, ["POST", path, body]) < 300


def open_shop(console: Console, project: str) -> Page:
    """The charts of a project of its own, which has books."""
    page = console.open(BLANK)
    page.goto(console.url)
    ask(page, "projects", {"name": project, "id": project})
    ask(page, f"projects/{project}/api/collections", {"name": "books", "schema": BOOKS})
    for row in ROWS:
        ask(page, f"projects/{project}/api/collections/books/documents", {"data": row})
    page.goto(f"{console.url}#/projects/{project}/charts")
    expect(page.get_by_text("No charts yet")).to_be_visible()
    return page


def test_a_chart_is_built_saved_and_opened_again(console: Console) -> None:
    page = open_shop(console, "old-books")
    page.get_by_role("button", name="New chart").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("combobox", name="Source").select_option("books")
    expect(page.get_by_role("combobox", name="Chart")).to_have_value("number")
    page.get_by_role("combobox", name="Group by").select_option("year")
    cells = page.get_by_role("table").get_by_role("cell")
    expect(cells).to_have_text(["2020", "2", "2021", "2", "2022", "2"])
    expect(page.get_by_role("img")).to_be_visible()
    expect(page.locator("rect.bar-1")).to_have_count(3)
    page.get_by_role("button", name="Another value").click()
    page.get_by_role("combobox", name="Value 2 is").select_option("sum")
    page.get_by_role("combobox", name="Value 2 of").select_option("price")
    page.get_by_role("combobox", name="Sort").select_option("-sum_price")
    expect(cells).to_have_text(["2022", "2", "7", "2021", "2", "5", "2020", "2", "3"])
    page.get_by_role("button", name="Another condition").click()
    page.get_by_role("combobox", name="Field 1").select_option("price")
    page.get_by_role("combobox", name="Operator 1").select_option("gte")
    page.get_by_role("textbox", name="Value 1", exact=True).fill("4")
    page.keyboard.press("Enter")
    expect(cells).to_have_text(["2022", "1", "5", "2021", "1", "4"])
    assert find_misfits(page) == []
    page.reload()
    expect(cells).to_have_text(["2022", "1", "5", "2021", "1", "4"])
    page.get_by_role("button", name="Save").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("Not A Name")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_attribute("aria-invalid", "true")
    assert find_faults(page) == []
    page.get_by_role("textbox", name="Name", exact=True).fill("dear_books")
    page.get_by_role("combobox", name="Who may run it").select_option("anyone")
    page.keyboard.press("Tab")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="dear_books")).to_be_visible()
    page.get_by_role("combobox", name="Chart").select_option("line")
    page.get_by_role("button", name="Pin to overview").click()
    expect(page.get_by_role("button", name="Take it off the overview")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    pinned = page.get_by_role("region", name="dear_books")
    expect(pinned.locator("polyline")).to_have_count(2)
    expect(page.get_by_text("Without rules only the secret key reads and writes.")).to_be_visible()
    assert find_misfits(page) == []
    page.get_by_role("link", name="Charts", exact=True).click()
    card = page.get_by_role("region", name="dear_books")
    expect(card.get_by_role("img")).to_be_visible()
    assert find_misfits(page) == []
    card.get_by_role("link").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No charts yet")).to_be_visible()


def test_a_part_that_is_refused_is_named_and_json_has_the_whole_language(console: Console) -> None:
    page = open_shop(console, "new-books")
    page.get_by_role("button", name="New chart").first.click()
    page.get_by_role("combobox", name="Source").select_option("books")
    page.get_by_role("combobox", name="Group by").select_option("bought")
    expect(page.get_by_role("combobox", name="Each")).to_have_value("month")
    cells = page.get_by_role("table").get_by_role("cell")
    expect(cells.first).to_contain_text("Jan")
    page.get_by_role("combobox", name="Chart").select_option("area")
    expect(page.locator("polygon")).to_have_count(1)
    page.get_by_role("button", name="JSON").click()
    text = page.get_by_role("textbox", name="Aggregation")
    text.fill("{")
    expect(page.get_by_role("button", name="Take it")).to_be_disabled()
    text.fill('{"where": {"or": [{"year_eq": 2020}, {"year_eq": 2021}]}, "values": {"most": {"sum": "title"}}}')
    assert find_faults(page) == []
    page.get_by_role("button", name="Take it").click()
    expect(page.get_by_role("alert").filter(has_text="cannot be run")).to_contain_text("values")
    expect(page.get_by_text("The filter has branches")).to_be_visible()
    assert find_faults(page) == []
    page.get_by_role("combobox", name="Value 1 is").select_option("max")
    page.get_by_role("combobox", name="Value 1 of").select_option("title")
    expect(cells).to_have_text(["<b>4</b>"])
    page.get_by_role("button", name="Another parameter").click()
    page.get_by_role("textbox", name="Try least with").fill("2")
    page.keyboard.press("Enter")
    expect(page.get_by_text("A condition names it")).to_be_visible()
