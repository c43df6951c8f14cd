"""`auth-collections requests ...`: the log of a project's requests."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_command
from service.schema.values import write_time

if TYPE_CHECKING:
    from service.domain.traffic.request_log import RequestPage
    from service.services import Services
    from service.storage.request_log import RequestFilter

requests_app = typer.Typer(
    help="Look at the requests of a project.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)
ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
Failed = Annotated[bool, typer.Option("--failed", help="Only requests that were refused or failed.")]
FOLLOW_SECONDS = 1.0


@requests_app.command("list")
def list_requests(
    project_id: ProjectId,
    failed: Failed = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Number of requests.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the latest requests of a project, the newest first."""

    async def read(services: "Services") -> "RequestPage":
        await services.base.admin.find(project_id)
        return await services.traffic.log.page(_filter(project_id, failed), limit=limit)

    page = run_command(read, only_reads=True)
    shown = _shown(page.rows)
    if as_json:
        print_json({"requests": shown, "skipped": page.skipped})
    elif shown:
        typer.echo("\n".join(map(_line, shown)))


@requests_app.command()
def follow(project_id: ProjectId, failed: Failed = False) -> None:
    """Print the requests of a project as they come, until Ctrl-C."""

    async def read(services: "Services") -> None:
        await services.base.admin.find(project_id)
        requests = services.traffic.live.follow(_filter(project_id, failed))
        while True:
            rows, skipped = await requests.look()
            for each in _shown(rows):
                typer.echo(_line(each))
            if skipped:
                typer.echo(f"{skipped} more requests are not shown", err=True)
            await asyncio.sleep(FOLLOW_SECONDS)

    run_command(read, only_reads=True)


def _filter(project_id: str, failed: bool) -> "RequestFilter":
    from service.storage.request_log import RequestFilter

    return RequestFilter(project_id, statuses=(400, 600) if failed else None)


def _shown(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    from service.domain.traffic.request_log import show_request

    return [{**show_request(row), "at": write_time(row["at"])} for row in rows]


def _line(request: Mapping[str, Any]) -> str:
    by = request["user_id"] or request["operator_id"] or request["key_id"] or "-"
    reason = request["rule"] or request["code"] or "-"
    what = (request["method"], request["route"], str(request["status"]), f"{request['ms']:g} ms", by, reason)
    return "\t".join((request["at"], *what))
