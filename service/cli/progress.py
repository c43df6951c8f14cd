"""Progress of long work: bars for a person at a terminal, lines for a log, JSON for a program. All goes to stderr."""

import sys
import time
from typing import Protocol

import orjson
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn


class Bars:
    """Progress lines on a terminal: count and rate for each kind of record.

    There is no percentage, because the total is unknown.
    """

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,.0f}"))
        rate = TextColumn("{task.fields[rate]}")
        console = Console(file=sys.stderr)
        self._progress = Progress(*columns, rate, TimeElapsedColumn(), console=console, disable=not console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, kind: str, count: int) -> None:
        if kind not in self._tasks:
            self._tasks[kind] = self._progress.add_task(kind, total=None, rate="")
        task = self._tasks[kind]
        self._progress.advance(task, count)
        speed = self._progress.tasks[task].speed
        self._progress.update(task, rate=f"{speed:,.0f}/s" if speed else "")


LINE_SECONDS = 10.0


class Progressing(Protocol):
    """Shows progress while it is entered."""

    def __enter__(self) -> "Progressing": ...

    def __exit__(self, *_: object) -> None: ...

    def advance(self, kind: str, count: int) -> None: ...


class Lines:
    """A line at most every ten seconds, with the count of one kind and its rate; with `as_json` an object."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._counts: dict[str, int] = {}
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

    def _print(self, kind: str, moment: float) -> None:
        done, rate = self._counts[kind], self._counts[kind] / max(moment - self._began[kind], 0.001)
        if self._as_json:
            typer.echo(orjson.dumps({"phase": kind, "done": done, "rate": round(rate)}).decode(), err=True)
        else:
            typer.echo(f"{kind}: {done:,} ({rate:,.0f}/s)", err=True)


def show_progress(*, as_json: bool) -> Progressing:
    """The form that fits stderr."""
    return Bars() if sys.stderr.isatty() and not as_json else Lines(as_json=as_json)
