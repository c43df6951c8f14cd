"""`auth-collections audit ...`: the log of changes of configuration, and of writes by operators."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_on_foundation
from service.errors import ConfigurationError
from service.schema.values import write_time

if TYPE_CHECKING:
    from datetime import datetime

    from service.domain.audit.audit import AuditPage
    from service.foundation import Foundation

audit_app = typer.Typer(
    help="Look at the audit log.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@audit_app.callback()
def audit() -> None:
    """Look at the audit log."""


@audit_app.command("list")
def list_entries(
    project_id: Annotated[str | None, typer.Option("--project", metavar="ID", help="Entries of this project.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="Entries of this action, as key.created.")] = None,
    actor: Annotated[str | None, typer.Option("--actor", help="Entries of this actor, by its id.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="Entries about this thing, by its id.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Entries from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Entries before this time.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Number of entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the newest entries of the audit log, also those of deleted projects."""
    from service.domain.audit.actions import is_action, show_entry
    from service.storage.audit import AuditFilter

    if action is not None and not is_action(action):
        raise ConfigurationError(f"There is no action {action}; docs/audit.md lists them")
    wanted = AuditFilter(project_id, action, actor, target, _read_time(since), _read_time(until))

    async def read(base: "Foundation") -> "AuditPage":
        return await base.audit.list(wanted, limit=limit)

    entries = [_with_time(show_entry(row)) for row in run_on_foundation(read, only_reads=True).rows]
    if as_json:
        print_json({"entries": entries})
    elif entries:
        typer.echo("\n".join(map(_line, entries)))


def _read_time(text: str | None) -> "datetime | None":
    from service.schema.values import BadValue, read_time

    try:
        return read_time(text) if text is not None else None
    except BadValue as error:
        raise ConfigurationError(f"{text} {error}") from None


def _with_time(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "at": write_time(entry["at"])}


def _line(entry: dict[str, Any]) -> str:
    actor, target = entry["actor"], entry["target"]
    by = f"{actor['kind']}:{actor['name'] or actor['id'] or '-'}"
    changed = ", ".join(".".join(change["path"]) for change in entry["changes"])
    return "\t".join((entry["at"], by, entry["project_id"] or "-", entry["action"], target["id"], changed or "-"))
