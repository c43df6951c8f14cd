"""`auth-collections mail ...`: the mails that are kept, wait, or were sent."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_command
from service.schema.values import write_time

if TYPE_CHECKING:
    from service.domain.mail_flows.mailbox import Message

mail_app = typer.Typer(help="Look at mails.", no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@mail_app.callback()
def mails() -> None:
    """Look at mails."""


@mail_app.command("list")
def list_mails(
    project_id: Annotated[
        str | None, typer.Option("--project", metavar="ID", help="Only the mails of this project.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the newest mails, with their codes and links until they are sent."""

    async def read(services: Any) -> "list[Message]":
        if project_id is not None:
            await services.base.admin.find(project_id)
        from service.domain.mail_flows.mailbox import read_messages

        return list(await read_messages(services.flows, project_id))

    messages = run_command(read, only_reads=True)
    if as_json:
        print_json([_described(message) for message in messages])
    elif messages:
        typer.echo("\n".join(_line(message) for message in messages))


def _described(message: "Message") -> dict[str, Any]:
    described = asdict(message) | {"created_at": write_time(message.created_at)}
    del described["project_id"]
    return described


def _line(message: "Message") -> str:
    parts = (write_time(message.created_at), message.status, message.kind, message.to, message.code, message.link)
    return "\t".join(part or "-" for part in parts)
