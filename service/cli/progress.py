"""What a person at a terminal sees of long work."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from service.seeding.demo import collections as demo_collections


@contextmanager
def progress_bars() -> Iterator[demo_collections.Progress]:
    """A function that shows (name, done, total) as one bar for each name, on stderr."""
    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done)

        yield show
