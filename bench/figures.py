"""A measured value beside its goal."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal for a value: at most (`<=`) or at least (`>=`) `bound`, in the unit of the value."""

    relation: str
    bound: float

    def met_by(self, value: float) -> bool:
        return value <= self.bound if self.relation == "<=" else value >= self.bound

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the result. A figure without a goal is there to explain another."""

    name: str
    value: float
    unit: str
    goal: Goal | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """`met`, `SHORT`, or nothing where there is no goal."""
        return "" if self.goal is None else "met" if self.goal.met_by(self.value) else "SHORT"

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Name, value with unit, goal, verdict, note."""
        goal = "" if self.goal is None else str(self.goal)
        value = f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.3g}"
        return self.name, f"{value} {self.unit}".strip(), goal, self.verdict, self.note


HEADINGS = ("figure", "measured", "goal", "", "how it came about")


def show(figures: Iterable[Figure]) -> None:
    """Prints a table on stdout, as wide as it needs to be, so that nothing is cut off in a file."""
    table = Table(*HEADINGS)
    for figure in figures:
        table.add_row(*figure.cells)
    Console(width=180).print(table)
