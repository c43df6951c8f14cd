"""`auth-collections backup ...`: the backups that the service keeps in BACKUP_STORE."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, print_json, print_values
from service.cli.portable import WithSecrets, print_outcome, read_parts
from service.cli.runtime import run_command

if TYPE_CHECKING:
    from service.services import Services
    from service.storage.client import Document

HELP = "Take, list, verify, restore and delete the backups that the service keeps."
backup_app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None, add_completion=False)
BackupId = Annotated[str, typer.Argument(metavar="ID", help="The backup's id.")]
MADE = ("project_id", "bytes", "sha256", "documents", "files", "consistency", "warnings")


@backup_app.command("list")
def list_backups(
    project_id: Annotated[
        str | None, typer.Option("--project", metavar="ID", help="Those of this project, which may be deleted.")
    ] = None,
    state: Annotated[str | None, typer.Option("--state", help="making, done or failed.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Number of backups.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the backups that the service keeps, the newest first."""
    from service.cli.reading import read_row

    found = read_row("/admin/v1/backups", {"project_id": project_id, "state": state, "limit": str(limit)})
    if as_json:
        print_json(found)
    for each in () if as_json else found["backups"]:
        size = "-" if each["bytes"] is None else str(each["bytes"])
        marks = "pinned" if each["pinned"] else "-"
        words = (each["id"], each["created_at"], each["project_id"], each["state"], size, marks, each["note"])
        typer.echo("\t".join(words))


@backup_app.command()
def show(backup_id: BackupId, as_json: AsJson = False) -> None:
    """Show a backup with its manifest."""
    print_values(_run_on(backup_id, _find, only_reads=True), as_json=as_json)


@backup_app.command()
def create(
    project_id: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")],
    without: Annotated[
        str, typer.Option("--without", metavar="PARTS", help="Leave out some of events,sessions,files.")
    ] = "",
    note: Annotated[str, typer.Option("--note", help="A note for people.")] = "",
    as_json: AsJson = False,
) -> None:
    """Take a backup into BACKUP_STORE. Ctrl-C cancels it."""
    from service.cli.following import begin_and_run

    parts = sorted(read_parts(without))

    async def begin(services: "Services") -> "Document":
        from service.domain.portable.backups import begin_backup

        await services.base.admin.find(project_id)
        job, _ = await begin_backup(services.backups, project_id, without=parts, note=note)
        return job

    made = begin_and_run(begin, as_json=as_json)["result"]["backup_id"]
    shown = _run_on(made, _find, only_reads=True)
    print_values({"id": made, **{name: shown[name] for name in MADE}}, as_json=as_json)


@backup_app.command()
def verify(backup_id: BackupId, as_json: AsJson = False) -> None:
    """Read a backup to its end: its directory, digests, counts and maker. Status 1 where something is wrong."""
    from service.cli.following import begin_and_run

    async def begin(services: "Services") -> "Document":
        from service.domain.portable.backups import begin_verification, find_whole

        return await begin_verification(services.backups, await find_whole(services.backups, backup_id))

    print_values(begin_and_run(begin, as_json=as_json)["result"], as_json=as_json)


@backup_app.command()
def restore(
    backup_id: BackupId,
    project_id: Annotated[
        str,
        typer.Option("--as", metavar="ID", help="The id that the project had, or that of a copy; it must be free."),
    ],
    accepts_foreign: Annotated[
        bool, typer.Option("--accept-foreign", help="Take a backup that was made with another SECRET_KEY.")
    ] = False,
    with_keys: Annotated[bool, typer.Option("--with-keys", help="Take the API keys of such a backup, too.")] = False,
    skips_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out documents that break their own definition.")
    ] = False,
    with_secrets: WithSecrets = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and judge the backup; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a project back, or a copy of it that has no API keys yet. Status 3 where documents were left out."""
    from service.cli.following import begin_and_run

    choices = {
        "accepts_foreign": accepts_foreign,
        "with_keys": with_keys,
        "skips_invalid": skips_invalid,
        "with_secrets": with_secrets,
        "is_dry_run": dry_run,
    }

    async def begin(services: "Services") -> "Document":
        from service.domain.portable.backups import begin_restore

        return await begin_restore(services.backups, backup_id, project_id, choices)

    print_outcome(begin_and_run(begin, as_json=as_json)["result"], as_json=as_json)


@backup_app.command()
def download(
    backup_id: BackupId,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The file; by default the name it has.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy a backup into a file, which only its owner may read."""

    async def copy(services: "Services", backup: "Document") -> dict[str, Any]:
        from service.domain.portable.backups import copy_backup

        path = file or Path(backup["name"])
        await copy_backup(services.backups, backup, path)
        return {"path": str(path), "bytes": backup["bytes"], "sha256": backup["sha256"]}

    print_values(_run_on(backup_id, copy), as_json=as_json)


@backup_app.command()
def pin(
    backup_id: BackupId,
    off: Annotated[bool, typer.Option("--off", help="Unpin it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pin a backup, as a mark that it is to be kept."""

    async def change(services: "Services", backup: "Document") -> dict[str, Any]:
        from service.domain.portable.backups import change_backup

        changed = await change_backup(services.backups, backup["_id"], None, {"pinned": not off})
        return {"id": changed["_id"], "pinned": changed["pinned"]}

    print_values(_run_on(backup_id, change), as_json=as_json)


@backup_app.command()
def delete(
    backup_id: BackupId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a backup and its file. Asks first, at a terminal."""
    if not yes and not sys.stdin.isatty():
        raise TyperException(f"This deletes the backup {backup_id}; add --yes to say so")
    if not yes:
        typer.confirm(f"Delete the backup {backup_id}?", abort=True, err=True)

    async def remove(services: "Services", backup: "Document") -> dict[str, Any]:
        from service.domain.portable.backups import delete_backup

        await delete_backup(services.backups, backup["_id"])
        return {"id": backup["_id"], "deleted": True}

    print_values(_run_on(backup_id, remove), as_json=as_json)


def _run_on(
    backup_id: str,
    work: "Callable[[Services, Document], Awaitable[Mapping[str, Any]]]",
    *,
    only_reads: bool = False,
) -> Mapping[str, Any]:
    """Runs `work` on the backup, whichever project it is of. Raises BackupNotFound."""

    async def find_and_work(services: "Services") -> Mapping[str, Any]:
        from service.domain.portable.backups import find_backup

        return await work(services, await find_backup(services.backups, backup_id))

    return run_command(find_and_work, only_reads=only_reads)


async def _find(_: "Services", backup: "Document") -> Mapping[str, Any]:
    """The backup as the Admin API shows it."""
    import orjson

    from service.web.http.render import Json
    from service.web.portable.bodies import show_detail

    found: dict[str, Any] = orjson.loads(bytes(Json(show_detail(backup)).body))
    return found
