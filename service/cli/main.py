"""The command line: `auth-collections`. Every error is one line on stderr and exit status 1 or 2."""

import fcntl
import os
import sys
from functools import partial
from typing import Annotated, NoReturn

import typer
from typer.exceptions import Abort, TyperException

from service.cli.check import run_checks
from service.cli.progress import progress_bars
from service.cli.projects import project_app
from service.cli.runtime import refuse_wrong_key, run_command, run_on
from service.cli.seed import seed
from service.domain.files.sweep import sweep_projects
from service.domain.projects.lookup import Project
from service.embedded.local import with_database
from service.errors import ServiceError
from service.observe.logging import configure_logging
from service.seeding.demo.collections import DemoCollections
from service.seeding.demo.pictures import add_pictures
from service.seeding.demo.project import DEMO_PASSWORD, Demo, ensure_demo
from service.server.run import check_address, serve_http
from service.services import Services
from service.settings import Settings, read_settings
from service.storage.files.deletions import Swept

app = typer.Typer(
    name="auth-collections",
    help="A hosted backend on MongoDB: accounts, sign-in, files and collections for many projects.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(project_app, name="project")
app.command()(seed)


def main() -> None:
    """Runs one command; whatever goes wrong becomes one line and an exit status."""
    _open_closed_streams()
    try:
        status = app(standalone_mode=False)
    except TyperException as error:
        _fail(error.format_message(), 2)
    except ServiceError as error:
        _fail(error.detail, 1)
    except (Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _open_closed_streams() -> None:
    """Where one of the three is closed, the next file to be opened would take its place, and get what is meant for it."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _fail(message: str, status: int) -> NoReturn:
    typer.echo(f"auth-collections: {' '.join(message.split())}", err=True)
    sys.exit(status)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="How many processes serve.", min=1, max=64)] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Make a demo project on the first run.")] = False,
) -> None:
    """Serve HTTP. Without MONGODB_URI, a MongoDB under DATA_DIR is started and stopped with the service."""
    settings = read_settings()
    if "base_url" not in settings.model_fields_set:
        settings = settings.model_copy(update={"base_url": f"http://127.0.0.1:{port}"})
    configure_logging(settings.log_level, settings.log_format)
    check_address(host, port)
    with with_database(settings) as located:
        refuse_wrong_key(located)
        typer.echo(_banner(located, _demo(located) if demo else None))
        embedded = settings.data_dir if settings.mongodb_uri is None else None
        serve_http(located, host=host, port=port, workers=workers, mongod_folder=embedded)


def _demo(settings: Settings) -> Demo:
    """The lock makes two first runs agree on one demo project."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with (settings.data_dir / "demo.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return run_on(settings, _ensure_demo)


async def _ensure_demo(services: Services) -> Demo:
    return await ensure_demo(services.admin, services.passwords, add_pictures, partial(_load_demo, services))


async def _load_demo(services: Services, project: Project) -> None:
    with progress_bars() as progress:
        report = await DemoCollections(services.collections, services.documents).load(project, progress)
    typer.echo("\n".join(report))


def _banner(settings: Settings, demo: Demo | None) -> str:
    lines = [f"Serving on {settings.base_url} (Ctrl-C stops)"]
    if demo is not None and demo.api_key is not None:
        users = f"{settings.base_url}/auth-collections/users"
        flights = f"{settings.base_url}/api/collections/flights/documents"
        lines += [
            f"Demo project: {demo.project.id}; the password of each of its users is {DEMO_PASSWORD}",
            "Its API key, shown this once:",
            f"  export API_KEY={demo.api_key}",
            "Try:",
            f"  curl -H 'x-api-key: {demo.api_key}' '{users}?name_eq=Valjean'",
            f"  curl -H 'x-api-key: {demo.api_key}' '{flights}?origin.state_eq=CA&populate=origin,destination'",
        ]
    elif demo is not None:
        lines.append(
            "Demo project: demo; its API key was shown on the first run. "
            "`auth-collections project rotate-key demo` makes another"
        )
    return "\n".join(lines)


@app.command()
def sweep() -> None:
    """Remove files that no record names: what uploads left that were cut short more than an hour ago."""
    outcomes = run_command(lambda services: sweep_projects(services.databases))
    for project_id, swept in outcomes.items():
        if isinstance(swept, Swept):
            typer.echo(f"{project_id}: removed {swept.files} files of {swept.intents} unfinished uploads")
        else:
            typer.echo(f"{project_id}: could not be swept ({type(swept).__name__}); the others were", err=True)
    if not all(isinstance(swept, Swept) for swept in outcomes.values()):
        raise typer.Exit(1)


@app.command()
def check() -> None:
    """Check the configuration, MongoDB's version and topology, and the indexes; say how to mend what is wrong."""
    findings = run_command(lambda services: run_checks(services.databases, services.admin))
    for finding in findings:
        typer.echo(str(finding))
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)
