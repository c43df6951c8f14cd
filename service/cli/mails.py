"""`auth-collections mail ...`: the mails that are kept, wait, or were sent."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json, print_trial
from service.cli.runtime import run_command
from service.schema.values import write_time

if TYPE_CHECKING:
    from service.domain.mail_flows.mailbox import Message
    from service.schema.outcomes import Trial
    from service.services import Services

mail_app = typer.Typer(
    help="Look at mails, and test the mail server.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@mail_app.callback()
def mails() -> None:
    """Look at mails, and test the mail server."""


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


@mail_app.command("test")
def send_test(
    project_id: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")],
    to: Annotated[str, typer.Option("--to", metavar="ADDRESS", help="The address that gets the mail.")],
    as_json: AsJson = False,
) -> None:
    """Send a test mail by the project's mail server, and print each step. Status 1 if one fails."""

    async def work(services: "Services") -> "Trial":
        return await services.trials.test_mail(await services.base.admin.find(project_id), to)

    print_trial(run_command(work), as_json=as_json)


def _described(message: "Message") -> dict[str, Any]:
    described = asdict(message) | {"created_at": write_time(message.created_at)}
    del described["project_id"]
    return described


def _line(message: "Message") -> str:
    parts = (write_time(message.created_at), message.status, message.kind, message.to, message.code, message.link)
    return "\t".join(part or "-" for part in parts)
