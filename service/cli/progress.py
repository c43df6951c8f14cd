"""Progress of long work: bars for a person at a terminal, lines for a log, JSON for a program. All goes to stderr."""

import sys
import time
from typing import Protocol

import orjson
import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

COUNT, RATE = TextColumn("{task.completed:,.0f}"), TextColumn("{task.fields[rate]}")


class Bars:
    """A line on a terminal for each kind of record: its count and rate, and a bar where its total is known."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), COUNT, RATE)
        times = (TimeElapsedColumn(), TimeRemainingColumn())
        console = Console(file=sys.stderr)
        self._progress = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, kind: str, count: int) -> None:
        task = self._find(kind)
        self._progress.advance(task, count)
        speed = self._progress.tasks[task].speed
        self._progress.update(task, rate=f"{speed:,.0f}/s" if speed else "")

    def expect(self, kind: str, total: int) -> None:
        self._progress.update(self._find(kind), total=total)

    def _find(self, kind: str) -> TaskID:
        if kind not in self._tasks:
            self._tasks[kind] = self._progress.add_task(kind, total=None, rate="")
        return self._tasks[kind]


LINE_SECONDS = 10.0


class Progressing(Protocol):
    """Shows progress while it is entered."""

    def __enter__(self) -> "Progressing": ...

    def __exit__(self, *_: object) -> None: ...

    def advance(self, kind: str, count: int) -> None: ...

    def expect(self, kind: str, total: int) -> None:
        """Sets the estimated number of records of a kind."""


class Lines:
    """A line at most every ten seconds, with the count of one kind and its rate; with `as_json` an object."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._counts: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._next = time.monotonic() + LINE_SECONDS

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        if self._as_json:
            for kind in self._counts:
                self._print(kind, time.monotonic())

    def advance(self, kind: str, count: int) -> None:
        moment = time.monotonic()
        self._began.setdefault(kind, moment)
        self._counts[kind] = self._counts.get(kind, 0) + count
        if moment >= self._next:
            self._next = moment + LINE_SECONDS
            self._print(kind, moment)

    def expect(self, kind: str, total: int) -> None:
        self._totals[kind] = total

    def _print(self, kind: str, moment: float) -> None:
        total = self._totals.get(kind)
        done, rate = self._counts[kind], self._counts[kind] / max(moment - self._began[kind], 0.001)
        if self._as_json:
            shown = {"phase": kind, "done": done, "total": total, "rate": round(rate)}
            typer.echo(orjson.dumps(shown).decode(), err=True)
        else:
            of = "" if total is None else f" of {total:,}"
            typer.echo(f"{kind}: {done:,}{of} ({rate:,.0f}/s)", err=True)


def show_progress(*, as_json: bool) -> Progressing:
    """The form that fits stderr."""
    return Bars() if sys.stderr.isatty() and not as_json else Lines(as_json=as_json)
