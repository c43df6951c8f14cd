"""`auth-collections project ...`: the commands that create and change projects, and how they print."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, print_json, print_values, read_pairs
from service.cli.portable import backup, clone, restore
from service.cli.runtime import run_on_foundation
from service.cli.verifying import verify
from service.errors import ConfigurationError
from service.schema.values import write_time

if TYPE_CHECKING:
    from service.domain.projects.admin import ProjectEntry
    from service.domain.projects.lookup import Project

project_app = typer.Typer(
    help="Create and change projects.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)
project_app.command()(backup)
project_app.command()(verify)
project_app.command()(restore)
project_app.command()(clone)

ProjectId = Annotated[str, typer.Argument(metavar="ID", help="The project's id.")]

# Values of settings that say nothing.
EMPTY: tuple[Any, ...] = (None, (), [], {})
# A request that a worker has begun may still write; see domain/projects/deletion.
WAITS = (
    "auth-collections: {} is closed; if a server runs, its data is gone in about half a minute, once no request can "
    "write to it any more. Ctrl-C leaves the rest to the server"
)


@project_app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the project, for people.")],
    project_id: Annotated[str | None, typer.Option("--id", help="Its id in URLs; random by default.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a project and print its two API keys, once: a secret one for servers, a publishable one for pages."""
    values = read_pairs(settings or [])
    project, keys = run_on_foundation(lambda base: base.admin.create_new(name, project_id, values), may_begin=True)
    shown = {"api_key": keys.secret, "publishable_key": keys.publishable}
    told = {} if as_json else {"tier": project.settings.describe_tier()}
    print_values({"project_id": project.id, "name": project.name, **shown, **told}, as_json=as_json)


@project_app.command("list")
def list_projects(as_json: AsJson = False) -> None:
    """List all projects."""
    summaries = [_summary(project) for project in run_on_foundation(lambda base: base.admin.list())]
    if as_json:
        print_json(summaries)
    else:
        typer.echo("\n".join("\t".join(summary.values()) for summary in summaries))


@project_app.command()
def show(project_id: ProjectId, as_json: AsJson = False) -> None:
    """Show a project and its settings; secrets are masked."""
    print_values(_described(run_on_foundation(lambda base: base.admin.find(project_id))), as_json=as_json)


@project_app.command("set")
def set_settings(
    project_id: ProjectId,
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...", help="Settings, which `project settings` lists; KEY= is the default again."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Change settings; in force within five seconds."""
    values = read_pairs(settings)
    print_values(_described(run_on_foundation(lambda base: base.admin.change(project_id, values))), as_json=as_json)


@project_app.command("settings")
def list_settings(
    project_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The project's id.")] = None,
    as_schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of all settings.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every setting with its default and meaning, and with its value in a project where one is named."""
    if as_schema:
        _print_schema(project_id)
        return
    from service.domain.projects.settings import describe_settings

    given = None
    if project_id is not None:
        given = _described(run_on_foundation(lambda base: base.admin.find(project_id)))["settings"]
    rows = describe_settings(given)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        value = row.get("value", row["default"])
        shown = value if isinstance(value, str) else orjson.dumps(value).decode() if value not in EMPTY else "(not set)"
        typer.echo(f"{row['name']} = {shown}\n    {row['meaning']}")


def _print_schema(project_id: str | None) -> None:
    from service.domain.projects.setting_forms import settings_schema

    if project_id is not None:
        raise ConfigurationError("--schema is the same for all projects; leave out the project")
    print_json(settings_schema())


@project_app.command()
def rename(
    project_id: ProjectId,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name, for people.")],
    as_json: AsJson = False,
) -> None:
    """Give a project another name; its id stays."""
    project = run_on_foundation(lambda base: base.admin.rename(project_id, name))
    print_values(_summary(project), as_json=as_json)


@project_app.command("rotate-key")
def rotate_key(project_id: ProjectId, as_json: AsJson = False) -> None:
    """Print a new secret key, once; all earlier secret ones stop working within five seconds."""
    api_key = run_on_foundation(lambda base: base.keys.rotate(project_id)).key
    print_values({"project_id": project_id, "api_key": api_key}, as_json=as_json)


@project_app.command("rotate-signing-key")
def rotate_signing_key(
    project_id: ProjectId,
    at_once: Annotated[
        bool, typer.Option("--now", help="Also where the next key was published less than ten minutes ago.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let the next key sign user tokens; tokens of earlier keys live out. The first call publishes the next key."""
    keys = run_on_foundation(lambda base: base.signing_keys.rotate(project_id, at_once=at_once))
    shown = {"kid": keys.current, "next": keys.next, "previous": list(keys.previous)}
    print_values({"project_id": project_id, **shown}, as_json=as_json)


@project_app.command()
def delete(
    project_id: ProjectId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a project with all its users, files and documents. Asks for the id once more, at a terminal."""
    if not yes:
        _ask_again(project_id)
    waits = partial(typer.echo, WAITS.format(project_id), err=True)
    run_on_foundation(lambda base: base.admin.delete(project_id, waits))
    print_values({"project_id": project_id, "deleted": True}, as_json=as_json)


def _ask_again(project_id: str) -> None:
    if not sys.stdin.isatty():
        raise TyperException(f"This deletes the project {project_id} with all its data; add --yes to say so")
    typed = typer.prompt(f"This deletes {project_id} with all its data. Type its id to go on", err=True)
    if typed != project_id:
        raise ConfigurationError(f"{typed} is not {project_id}; nothing was deleted")


def _summary(project: "Project | ProjectEntry") -> dict[str, str]:
    return {"project_id": project.id, "name": project.name, "created_at": write_time(project.created_at)}


def _described(project: "Project") -> dict[str, Any]:
    from service.domain.projects.settings import SECRET_SETTINGS, stored

    settings = stored(project.settings)
    return {**_summary(project), "settings": settings | dict.fromkeys(settings.keys() & SECRET_SETTINGS, "********")}
