"""The pages that people read, as tests compare them with the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]


def text_of(page: str) -> str:
    """The page on one line, so that a sentence is found however it is wrapped."""
    return " ".join((ROOT / page).read_text().split())


def missing(page: str, promised: list[str]) -> list[str]:
    """Those sentences that do not stand on the page."""
    text = text_of(page)
    return [sentence for sentence in promised if sentence not in text]


def table(page: str, heading: str) -> list[list[str]]:
    """The cells of each row of the table whose first row begins with `heading`."""
    rows = (ROOT / page).read_text().partition(f"\n{heading}")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def quoted(cell: str) -> list[str]:
    """What stands in back quotes."""
    return re.findall(r"`([^`]+)`", cell)
