"""Results as a table and a plot in docs/performance.md."""

import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

from bench.figures import HEADINGS, Figure

DOCS = Path(__file__).parent.parent / "docs"
BETWEEN_MARKS = re.compile(r"(?<=<!-- results -->\n).*(?=<!-- end of results -->)", re.DOTALL)
ROW, LABELS, WIDTH, TOP = 22, 470, 330, 30
# A bar twice as long as its goal allows is as long as any: the number beside it tells the rest.
LONGEST = 2.0


def write_report(figures: Sequence[Figure]) -> None:
    """Replaces the results between the marks of docs/performance.md, and docs/performance.svg."""
    page = DOCS / "performance.md"
    measured = f"Measured {datetime.now(UTC):%Y-%m-%d} on {platform.system()}, {platform.machine()}, {_cores()}.\n\n"
    page.write_text(BETWEEN_MARKS.sub(lambda _: f"{measured}{_table(figures)}\n", page.read_text()))
    (DOCS / "performance.svg").write_text(_plot([figure for figure in figures if figure.goal is not None]))


def _cores() -> str:
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.+)$", info, re.MULTILINE)
    return f"{info.count('processor')} cores{f' ({model.group(1)})' if model else ''}"


def _table(figures: Sequence[Figure]) -> str:
    rows = [HEADINGS, ("---",) * len(HEADINGS), *(figure.cells for figure in figures)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _plot(figures: Sequence[Figure]) -> str:
    """One bar for each figure: its share of the value that its goal allows.

    A bar that ends left of the line meets its goal.
    """
    height = TOP + ROW * len(figures) + 10
    line = LABELS + WIDTH / LONGEST
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABELS + WIDTH + 110}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *(_bar(figure, TOP + ROW * number) for number, figure in enumerate(figures)),
        f'<line x1="{line}" y1="{TOP - 8}" x2="{line}" y2="{height - 8}" stroke="black" stroke-dasharray="4 3"/>',
        f'<text x="{line}" y="{TOP - 14}" text-anchor="middle">goal</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bar(figure: Figure, top: int) -> str:
    length = WIDTH * min(_share(figure), LONGEST) / LONGEST
    colour = "#2a7f62" if figure.verdict == "met" else "#c0392b"
    return (
        f'<text x="{LABELS - 8}" y="{top + 12}" text-anchor="end">{escape(figure.name)}</text>'
        f'<rect x="{LABELS}" y="{top}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>'
        f'<text x="{LABELS + length + 6:.1f}" y="{top + 12}">{escape(figure.cells[1])}</text>'
    )


def _share(figure: Figure) -> float:
    """1.0 is just the goal, less is better, whichever way the goal points."""
    if figure.goal is None or not figure.value:
        return 0.0
    if not figure.goal.bound:
        return LONGEST
    share = figure.value / figure.goal.bound
    return share if figure.goal.relation == "<=" else 1 / share
