"""Progress bars of long work, for a person at a terminal."""

import sys

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
