"""`auth-collections files ...`: the files of a project."""

from typing import Annotated, Any

import typer

from service.cli.output import AsJson, print_json

files_app = typer.Typer(
    help="Look at the files of a project.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@files_app.callback()
def files() -> None:
    """Look at the files of a project."""


@files_app.command("list")
def list_files(
    project_id: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")],
    owner: Annotated[str | None, typer.Option("--owner", metavar="ID", help="Files of this user or document.")] = None,
    media_type: Annotated[str | None, typer.Option("--type", help="Files of this type, as image/png or image.")] = None,
    sort_by: Annotated[
        str, typer.Option("--sort", help="created_at, bytes or name; - before it descends.")
    ] = "-created_at",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Number of files.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the files of a project, the newest first."""
    from service.cli.reading import read_row

    query = {"owner": owner, "type": media_type, "sort_by": sort_by, "limit": str(limit)}
    found = read_row(f"/admin/v1/projects/{project_id}/files", query)
    if as_json:
        print_json(found)
    elif found["files"]:
        typer.echo("\n".join(map(_line, found["files"])))


def _line(file: dict[str, Any]) -> str:
    owner = file["owner"]
    place = f"{owner['collection'] or 'users'}/{owner['id']}/{owner['field']}"
    return "\t".join((file["created_at"], str(file["bytes"]), file["type"], file["name"], place))
