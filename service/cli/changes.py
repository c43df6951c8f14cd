"""`auth-collections changes`: the events of a project's feed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.runtime import run_command
from service.schema.values import BadValue

if TYPE_CHECKING:
    from service.domain.feed.reader import ChangesPage
    from service.services import Services

app = typer.Typer(rich_markup_mode=None, add_completion=False)
# A follower that has waited for so long asks again.
WAIT_SECONDS = 25.0


@app.command()
def changes(
    project_id: Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")],
    after: Annotated[str, typer.Option("--after", metavar="CURSOR", help="A cursor, now or first.")] = "first",
    events: Annotated[str, typer.Option("--events", metavar="PATTERNS", help="Patterns, separated by commas.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Number of events at once.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with later events, until Ctrl-C.")] = False,
) -> None:
    """Print the events that a project's feed keeps, one JSON object a line."""
    from service.domain.feed.questions import read_after, read_patterns
    from service.domain.feed.reader import ChangesQuery

    try:
        query = ChangesQuery(read_after(after), read_patterns(events) if events else (), limit)
    except BadValue as error:
        raise typer.BadParameter(f"This {error}") from None

    async def read(services: "Services") -> None:
        project = await services.base.admin.find(project_id)
        reader = await services.feed.open(project, query)
        _print(await reader.read())
        while follow:
            _print(await reader.wait(WAIT_SECONDS))

    run_command(read, only_reads=True)


def _print(found: "ChangesPage") -> None:
    from service.web.http.render import write_json

    events: list[Any] = list(found.events)
    for event in events:
        typer.echo(write_json(event).decode())
