"""`auth-collections seed`: runs a manifest, shows how far it is, and reports what it did."""

import time
from pathlib import Path
from typing import Annotated

import typer

from service.cli.progress import Bars
from service.cli.runtime import run_command
from service.seeding.manifest import read_manifest
from service.seeding.report import Report
from service.seeding.run import make_seeder


def seed(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="A YAML or JSON file; docs/seeding.md.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be different.")] = False,
    migrate: Annotated[bool, typer.Option("--migrate", help="Change schemas that differ, as PATCH does.")] = False,
) -> None:
    """Make a project as a file describes it: settings, users, files, collections, documents. A second run changes nothing."""
    wanted = read_manifest(manifest)
    started = time.perf_counter()
    with Bars() as bars:
        report = Report(bars.advance, dry_run)
        keys = run_command(
            lambda services: make_seeder(services, manifest.parent, report, migrate=migrate).seed(wanted),
            may_begin=not dry_run,
        )
    for line in report.lines(differences=dry_run):
        typer.echo(line)
    seconds = time.perf_counter() - started
    typer.echo(f"{report.rows:,} rows in {seconds:.1f} s ({report.rows / seconds:,.0f} a second)")
    if dry_run:
        typer.echo("Dry run: nothing was changed; the counts say what a run would do.")
    if keys is not None:
        typer.echo(f"The API key of {wanted.project.id}, shown this once: {keys.secret}")
        typer.echo(f"Its publishable key, for pages and apps: {keys.publishable}")
    if report.refused:
        raise typer.Exit(1)
