"""`auth-collections key ...`: a project's API keys."""

from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.output import AsJson, print_json, print_values
from service.cli.runtime import run_on_foundation
from service.errors import ConfigurationError
from service.schema.values import write_time

if TYPE_CHECKING:
    from service.domain.projects.keys import KeyEntry

key_app = typer.Typer(
    help="Create, list and revoke API keys.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]


@key_app.command()
def create(
    project_id: Project,
    kind: Annotated[
        str, typer.Option("--kind", metavar="secret|publishable", help="For servers, or for pages and apps.")
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the key, for people.")],
    as_json: AsJson = False,
) -> None:
    """Create a key and print it, once."""
    from service.domain.projects.keys import PREFIXES

    if kind not in PREFIXES:
        raise ConfigurationError("--kind is secret or publishable")
    new = run_on_foundation(lambda base: base.keys.create(project_id, kind, name))
    print_values({"project_id": project_id, "id": new.id, "kind": kind, "name": name, "key": new.key}, as_json=as_json)


@key_app.command("list")
def list_keys(project_id: Project, as_json: AsJson = False) -> None:
    """List the keys of a project, without the keys themselves."""
    entries = [_described(entry) for entry in run_on_foundation(lambda base: base.keys.list(project_id))]
    if as_json:
        print_json(entries)
    else:
        typer.echo("\n".join("\t".join(value or "-" for value in entry.values()) for entry in entries))


@key_app.command()
def revoke(
    project_id: Project,
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The key's id, as `key list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Revoke a key; it stops working within five seconds."""
    run_on_foundation(lambda base: base.keys.revoke(project_id, key_id))
    print_values({"project_id": project_id, "id": key_id, "revoked": True}, as_json=as_json)


def _described(entry: "KeyEntry") -> dict[str, str | None]:
    times = {name: getattr(entry, name) for name in ("created_at", "last_used_at")}
    written = {name: write_time(moment) if moment else None for name, moment in times.items()}
    return {"id": entry.id, "kind": entry.kind, "name": entry.name, **written}
