"""The commands of `auth-collections` that belong to no group."""

import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.runtime import run_command, run_on_foundation

if TYPE_CHECKING:
    from service.checks import Finding
    from service.domain.projects.admin import ProjectAdmin
    from service.domain.projects.keys import ProjectKeys
    from service.foundation import Foundation
    from service.services import Services
    from service.storage.migrations import Migrations

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def seed(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="A YAML or JSON file; docs/seeding.md.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be different.")] = False,
    migrate: Annotated[bool, typer.Option("--migrate", help="Change schemas that differ, as PATCH does.")] = False,
) -> None:
    """Make a project as a file describes it: settings, users, files, collections, documents. A second run changes nothing."""
    from service.cli.output import list_exports
    from service.cli.progress import Bars
    from service.seeding.manifest import read_manifest
    from service.seeding.report import Report
    from service.seeding.run import make_seeder

    async def seed_with(services: "Services") -> tuple["ProjectKeys | None", str]:
        seeder = make_seeder(services, manifest.parent, report, migrate=migrate)
        return await seeder.seed(wanted), services.base.base_url

    wanted = read_manifest(manifest)
    started = time.perf_counter()
    with Bars() as bars:
        report = Report(bars.advance, dry_run)
        keys, base_url = run_command(seed_with, may_begin=not dry_run)
    for line in report.lines(differences=dry_run):
        typer.echo(line)
    seconds = time.perf_counter() - started
    typer.echo(f"{report.rows:,} rows in {seconds:.1f} s ({report.rows / seconds:,.0f} a second)")
    if dry_run:
        typer.echo("Dry run: nothing was changed; the counts say what a run would do.")
    if keys is not None:
        typer.echo(
            f"The secret key of {wanted.project.id}, and its publishable key for pages and apps, shown this once:"
        )
        typer.echo("\n".join(list_exports(base_url, keys)))
    if report.refused:
        raise typer.Exit(1)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Number of processes that serve.", min=1, max=64)] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Make a demo project on the first run.")] = False,
) -> None:
    """Serve HTTP. Without MONGODB_URI, a MongoDB under DATA_DIR is started and stopped with the service."""
    from service.cli.demo import describe_demo, ensure_demo
    from service.cli.first_owner import describe_console
    from service.cli.running import announce_beginning, refuse_data
    from service.embedded.local import serving_at, with_database
    from service.observe.logging import configure_logging
    from service.process import turn_on_collector
    from service.server.run import check_address, serve_http
    from service.settings import read_settings

    turn_on_collector()
    settings = read_settings()
    if "base_url" not in settings.model_fields_set:
        settings = settings.model_copy(update={"base_url": f"http://127.0.0.1:{port}"})
    configure_logging(settings.log_level, settings.log_format)
    check_address(host, port)
    announce_beginning(settings)
    with with_database(settings) as located, serving_at(settings) if settings.mongodb_uri is None else nullcontext():
        refuse_data(located)
        if demo:
            # The keys are shown once, so also where the server then cannot start.
            typer.echo("\n".join(describe_demo(located.base_url, ensure_demo(located))))
        embedded = settings.data_dir if settings.mongodb_uri is None else None
        lines = [_describe_address(host, port, located.base_url)]
        if console := describe_console(located, is_embedded=embedded is not None):
            lines.append(console)
        announce = partial(typer.echo, "\n".join(lines))
        serve_http(located, host=host, port=port, workers=workers, announce=announce, mongod_folder=embedded)


def _describe_address(host: str, port: int, base_url: str) -> str:
    """The line with the address the server listens on, and the address for clients, if it differs."""
    listens = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    elsewhere = "" if base_url == listens else f"; clients reach it at BASE_URL {base_url}"
    return f"Serving on {listens}{elsewhere} (Ctrl-C stops)"


@app.command()
def sweep() -> None:
    """Remove files that no record names: what uploads left that were cut short more than an hour ago."""
    from service.domain.files.sweep import sweep_projects
    from service.storage.files.deletions import Swept

    outcomes = run_on_foundation(lambda base: sweep_projects(base.databases))
    for project_id, swept in outcomes.items():
        if isinstance(swept, Swept):
            typer.echo(f"{project_id}: removed {swept.files} files of {swept.intents} unfinished uploads")
        else:
            typer.echo(f"{project_id}: could not be swept ({type(swept).__name__}); the others were", err=True)
    if not all(isinstance(swept, Swept) for swept in outcomes.values()):
        raise typer.Exit(1)


@app.command()
def migrate() -> None:
    """Bring all stored data to this version's form, and make indexes that are missing. A server does so by itself."""
    for name, made in run_on_foundation(lambda base: _migrate_all(base.migrations, base.admin)).items():
        typer.echo(f"{name}: {'made ' + ', '.join(made) if made else 'nothing to do'}")


async def _migrate_all(migrations: "Migrations", admin: "ProjectAdmin") -> dict[str, list[str]]:
    """A database's display name → what was made in it. The system's database is first."""
    made = {"system": await migrations.migrate_system()}
    for project in await admin.list():
        missing = [f"the index {name}" for name in await project.database.missing_indexes()]
        await project.database.ensure_indexes()
        made[f"project {project.id}"] = [*missing, *await migrations.migrate_project(project.id)]
    return made


@app.command()
def check(
    indexes: Annotated[str, typer.Option(metavar="PROJECT", help="Check a project's slow queries instead.")] = "",
) -> None:
    """Check the configuration, MongoDB's version and topology, and the indexes; say how to mend what is wrong."""
    from service.checks import run_checks
    from service.cli.indexes import check_indexes

    async def look(base: "Foundation") -> "list[Finding]":
        if indexes:
            return await check_indexes(base.databases, base.admin, indexes)
        return await run_checks(base.databases, base.admin)

    findings = run_on_foundation(look, only_reads=True)
    for finding in findings:
        typer.echo(str(finding))
    if any(finding.good is False for finding in findings):
        raise typer.Exit(1)


@app.command("mongodb-uri")
def mongodb_uri() -> None:
    """Print the URI of the MongoDB, with its password. The embedded one answers there while a `serve` runs."""
    from service.embedded.local import locate
    from service.settings import read_settings

    typer.echo(locate(read_settings()))
