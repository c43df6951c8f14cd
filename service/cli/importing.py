"""`auth-collections import`: users, documents and files of another backend."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_command
from service.errors import ConfigurationError

app = typer.Typer(rich_markup_mode=None, add_completion=False)
SOURCES = "users, csv, ndjson, mongodump, pocketbase or firebase"
SOME_REJECTED = 3


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=f"One of {SOURCES}.")],
    inputs: Annotated[
        list[Path], typer.Argument(metavar="INPUT...", help="The file or the folder; docs/moving-in.md.")
    ],
    project: Annotated[str, typer.Option("--project", metavar="ID", help="The project, which exists.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge everything, and write nothing.")] = False,
    infer_schema: Annotated[
        bool, typer.Option("--infer-schema", help="Make a schema of the records of a new collection.")
    ] = False,
    detect_dates: Annotated[
        bool, typer.Option("--detect-dates", help="Texts of an inferred schema that are all times become times.")
    ] = False,
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="JSON: which collection has the users, and new names.")
    ] = None,
    users: Annotated[str, typer.Option("--users", metavar="NAME", help="The collection with the users.")] = "users",
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="The collection for csv and ndjson.")
    ] = None,
    hash_config: Annotated[
        Path | None,
        typer.Option("--hash-config", metavar="FILE", help="The hash parameters that Firebase's console shows."),
    ] = None,
    database: Annotated[
        str | None, typer.Option("--db", metavar="NAME", help="The database of a dump that has several.")
    ] = None,
    placeholder: Annotated[
        str | None,
        typer.Option("--placeholder-email", metavar="DOMAIN", help="Users without an address get <id>@DOMAIN."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="The folder of the report; import-<time> by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import users, documents and files of another backend into a project. A second run changes nothing."""
    from service.cli.progress import show_progress
    from service.importing.run import ImportChoices, run_import
    from service.importing.sources import ImportSource

    folder = report or (None if dry_run else Path(f"import-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"))
    asked = ImportSource(inputs, _lose_nothing, users, collection, _read_map(mapping), database, hash_config)
    choices = ImportChoices(dry_run, infer_schema, detect_dates, placeholder, folder)
    with show_progress(as_json=as_json) as progress:
        found = run_command(lambda services: run_import(services, project, source, asked, choices, progress.advance))
    if as_json:
        print_json(found)
    else:
        _print(found, folder)
    if any(each["rejected"] for each in found["targets"].values()):
        raise typer.Exit(SOME_REJECTED)


def _lose_nothing(_target: str, _field: str, _kind: str, _example: str) -> None:
    """The import counts losses in its report."""


def _read_map(path: Path | None) -> dict[str, Any]:
    """Raises ConfigurationError."""
    if path is None:
        return {}
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    if not isinstance(found, dict) or found.keys() - {"users", "collections"}:
        raise ConfigurationError(f"{path}: must be an object with users and collections")
    return found


def _print(found: Any, folder: Path | None) -> None:
    for name, counts in found["targets"].items():
        counted = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in counts.items() if number)
        typer.echo(f"{name}: {counted or 'nothing'}")
    files = found["files"]
    if any(files.values()):
        typer.echo(f"files: {files['created']:,} created, {files['refused']:,} refused")
    if found["users"]["without_password"]:
        typer.echo(f"{found['users']['without_password']:,} users have no password here: they reset it by mail")
    if found["dangling"]:
        typer.echo(f"{len(found['dangling']):,} references name no record")
    for loss in found["losses"]:
        place = ".".join(filter(None, (loss["target"], loss["field"])))
        typer.echo(f"{place}: {loss['kind'].replace('_', ' ')} ({loss['count']:,})")
    if found["dry_run"]:
        typer.echo("Dry run: nothing was written.")
    if folder is not None:
        typer.echo(f"The report is in {folder}")
