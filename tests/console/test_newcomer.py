"""The newcomer's path: from the link that `serve` prints to a file, a reference, a record, a rule and a pinned chart."""

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import BLANK, PASSWORD, PROJECT, Console, find_faults, find_misfits, needs_console

pytestmark = needs_console
PATH_MAX = 40


@dataclass
class Steps:
    """Clicks and fields, counted. A second choice in the same field is another step."""

    page: Page
    count: int = 0

    def click(self, where: Locator) -> None:
        self.count += 1
        where.click()

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True).last)

    def link(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name, exact=True).last)

    def fill(self, name: str, text: str) -> None:
        self.count += 1
        self.page.get_by_role("textbox", name=name, exact=True).last.fill(text)

    def choose(self, name: str, option: str) -> None:
        self.count += 1
        self.page.get_by_role("combobox", name=name, exact=True).last.select_option(option)


def write_rows(path: Path) -> Path:
    lines = [f'"Tome {at}, ""{at}""",{1800 + at % 50},{at % 2 == 0},2026-01-31T12:00:00Z,00{at}' for at in range(2_000)]
    path.write_text(
        "\ufefftitle,year,in print,bought,shelf.mark\n"
        + "\n".join(lines).replace("True", "true").replace("False", "false")
    )
    return path


def test_a_newcomer_comes_from_a_file_to_a_chart(console: Console, tmp_path: Path) -> None:
    page = console.open(BLANK, is_signed_in=False)
    steps = Steps(page)
    # The link is opened. That of the first owner asks for an address, too.
    steps.count += 2
    page.goto(console.invite("newcomer@example.com"))
    steps.fill("Name", "Nell")
    steps.count += 1
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    steps.button("Create account")
    steps.button("New project")
    steps.fill("Name", "Bookshop")
    steps.button("Create")
    steps.button("I have kept them")
    expect(page.get_by_role("heading", name="No collections yet")).to_be_visible()
    steps.button("Import")
    steps.count += 1
    page.get_by_label("File").set_input_files(write_rows(tmp_path / "books.csv"))
    expect(page.get_by_role("textbox", name="Collection name")).to_have_value("books")
    proposed = page.get_by_role("group", name="Columns of the file")
    types = [each.input_value() for each in proposed.get_by_role("combobox").all()]
    assert types == ["string", "integer", "boolean", "datetime", "string"]
    expect(proposed.get_by_role("textbox", name="Field for shelf.mark")).to_have_value("shelf_mark")
    assert find_faults(page) == []
    steps.button("Import")
    expect(page.get_by_text("2,000 created")).to_be_visible()
    expect(page.get_by_role("gridcell", name='Tome 1999, "1999"')).to_be_visible()
    steps.button("Add a collection")
    steps.fill("Name", "authors")
    steps.button("Create")
    steps.fill("Field name", "name")
    expect(page.get_by_text("It can be saved")).to_be_visible()
    steps.button("Save")
    steps.fill("name", "Victor Hugo")
    steps.button("Save")
    expect(page.get_by_role("complementary", name="Record Victor Hugo")).to_be_visible()
    steps.link("books")
    steps.link("Schema")
    steps.button("Add field")
    steps.fill("Field name", "author_id")
    expect(page.get_by_role("combobox", name="Type", exact=True)).to_have_value("reference")
    expect(page.get_by_role("combobox", name="Collection")).to_have_value("authors")
    expect(page.get_by_text("It can be saved")).to_be_visible()
    assert find_faults(page) == []
    steps.button("Save")
    expect(page.get_by_text("1 change", exact=True)).to_have_count(0)
    steps.link("Documents")
    steps.click(page.get_by_role("gridcell", name='Tome 1999, "1999"'))
    steps.click(page.get_by_role("combobox", name="author_id"))
    steps.click(page.get_by_role("option", name="Victor Hugo"))
    steps.button("Save")
    expect(page.get_by_role("link", name="Victor Hugo").first).to_be_visible()
    steps.link("Rules")
    steps.choose("Read", "anyone")
    steps.button("Save")
    expect(page.get_by_text("Changed", exact=True)).to_have_count(0)
    steps.button("Test")
    expect(page.get_by_text("Allowed", exact=True)).to_be_visible()
    steps.link("Charts")
    steps.button("New chart")
    expect(page.get_by_role("combobox", name="Source")).to_have_value("books")
    steps.choose("Group by", "year")
    expect(page.get_by_role("combobox", name="Chart", exact=True)).to_have_value("bar")
    expect(page.get_by_role("table").get_by_role("cell", name="1800")).to_be_visible()
    steps.button("Save")
    steps.button("Save")
    expect(page.get_by_role("heading", name="books_by_year")).to_be_visible()
    assert find_faults(page) == []
    steps.button("Pin to overview")
    steps.link("Overview")
    expect(page.get_by_role("region", name="books_by_year").get_by_role("img")).to_be_visible()
    assert steps.count <= PATH_MAX, steps.count
    console.admin("POST", "projects/bookshop/deletion", {"confirm": "Bookshop"})


def test_what_breaks_a_schema_or_a_rule_is_said_before_it_is_saved(console: Console) -> None:
    api = f"projects/{PROJECT}/api"
    console.admin("POST", f"{api}/collections", {"name": "notes", "schema": {"text": {"type": "string"}}})
    console.admin(
        "POST", f"{api}/collections/notes/import", b'{"data": {"text": "long enough"}}\n{"data": {"text": "x"}}'
    )
    page = console.open(f"#/projects/{PROJECT}/data/notes/schema")
    page.get_by_role("button", name="Options of text").click()
    page.get_by_label("At least").fill("5")
    page.get_by_label("At most").focus()
    expect(page.get_by_text("1 document breaks the new schema")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    for width, scheme in ((1280, "dark"), (360, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("link", name="text: ").click()
    expect(page.get_by_role("complementary", name="Record x")).to_be_visible()
    page.get_by_role("link", name="Rules").click()
    page.get_by_role("combobox", name="Read").select_option("custom")
    editor = page.get_by_role("textbox", name="The rule for read")
    editor.fill('{"texd_eq": "x"')
    expect(editor).to_have_attribute("aria-invalid", "true")
    editor.fill('{"texd_eq": "x"}')
    expect(page.get_by_role("alert").get_by_text("texd_eq")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Revert").click()
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("Not allowed", exact=True)).to_be_visible()
    for width, scheme in ((1280, "dark"), (360, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("link", name="Schema").click()
    page.get_by_role("button", name="Delete collection").click()
    page.get_by_role("textbox", name="The collection's name").fill("notes")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="notes")).to_have_count(0)


def test_fields_are_unique_and_indexed_together(console: Console) -> None:
    api = f"projects/{PROJECT}/api/collections"
    fields = {name: {"type": "string"} for name in ("board", "member")}
    console.admin("POST", api, {"name": "seats", "schema": fields | {"due": {"type": "datetime"}}})
    row = b'{"data": {"board": "b", "member": "m"}}\n'
    console.admin("POST", f"{api}/seats/import", row * 2)
    page = console.open(f"#/projects/{PROJECT}/data/seats/schema")
    page.get_by_role("button", name="Add a unique key").click()
    unique = page.get_by_role("group", name="Unique together 1")
    unique.get_by_role("combobox", name="field 1").select_option("board")
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    unique.get_by_role("combobox", name="field 2").select_option("member")
    expect(page.get_by_text("documents break the new schema")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    assert find_misfits(page) == []
    unique.get_by_role("combobox", name="field 2").select_option("due")
    page.get_by_role("button", name="Add an index").click()
    index = page.get_by_role("group", name="Indexes of several fields 1")
    index.get_by_role("combobox", name="field 1").select_option("board")
    index.get_by_role("combobox", name="field 2").select_option("-created_at")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    stored = console.admin("GET", f"{api}/seats")
    assert (stored["unique"], stored["indexes"]) == ([["board", "due"]], [["board", "-created_at"]])
    page.get_by_role("button", name="Remove due").click()
    expect(page.get_by_role("alert")).to_contain_text("unique.0.1")
    page.get_by_role("button", name="Remove unique together 1").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    stored = console.admin("GET", f"{api}/seats")
    assert (stored.get("unique"), [*stored["schema"]]) == (None, ["board", "member"])
    console.admin("DELETE", f"{api}/seats")
