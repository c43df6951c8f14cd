"""`auth-collections seed`: runs a manifest, shows how far it is, and reports what it did."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from service.cli.runtime import run_command
from service.seeding.files import FileSeeder
from service.seeding.manifest import Manifest, read_manifest
from service.seeding.report import Report
from service.seeding.run import Seeder
from service.services import Services


def seed(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="A YAML or JSON file; docs/seeding.md.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be different.")] = False,
) -> None:
    """Make a project as a file describes it: settings, users, files, collections, documents. A second run changes nothing."""
    wanted = read_manifest(manifest)
    started = time.perf_counter()
    with Bars() as bars:
        report = Report(bars.advance, dry_run)
        api_key = run_command(lambda services: _seed(services, wanted, manifest.parent, report))
    for line in report.lines(differences=dry_run):
        typer.echo(line)
    seconds = time.perf_counter() - started
    typer.echo(f"{report.rows:,} rows in {seconds:.1f} s ({report.rows / seconds:,.0f} a second)")
    if dry_run:
        typer.echo("Dry run: nothing was changed; the counts say what a run would do.")
    if api_key is not None:
        typer.echo(f"The API key of {wanted.project.id}, shown this once: {api_key}")
    if report.refused:
        raise typer.Exit(1)


async def _seed(services: Services, wanted: Manifest, folder: Path, report: Report) -> str | None:
    files = FileSeeder(services.accounts, services.files, folder, report)
    seeder = Seeder(services.admin, services.passwords, services.collections, services.documents, files, folder, report)
    return await seeder.seed(wanted)


class Bars:
    """A line for each kind of record with its count and rate, on a terminal only. Streams do not know their end."""

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
