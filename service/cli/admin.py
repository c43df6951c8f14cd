"""`auth-collections admin`: any row of the Admin API in this process."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from typer.exceptions import TyperException

from service.cli.output import read_pairs

if TYPE_CHECKING:
    from service.services import Services

app = typer.Typer(rich_markup_mode=None, add_completion=False)

PREFIX = "/admin/v1"
FAILED = 400


@app.command()
def admin(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="GET, POST, PUT, PATCH, DELETE or QUERY.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The path from /admin/v1 on.")],
    data: Annotated[
        str | None, typer.Option("--data", metavar="JSON|@FILE", help="The body, or a file that holds it.")
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option("--query", metavar="K=V", help="A parameter of the query; repeatable.")
    ] = None,
) -> None:
    """Do what a request to the Admin API does, as an owner; the answer's body goes to stdout."""
    from service.cli.runtime import run_command

    if not path.startswith(f"{PREFIX}/"):
        raise TyperException(f"PATH begins with {PREFIX}/")
    body = _read_body(data)
    pairs = read_pairs(query or [])

    async def work(services: "Services") -> int:
        from service.cli.asking import ask

        return await ask(services, method.upper(), path, pairs, body, sys.stdout.buffer.write)

    status = run_command(work)
    sys.stdout.buffer.flush()
    if status >= FAILED:
        typer.echo(f"auth-collections: {method.upper()} {path} was answered with {status}", err=True)
        raise typer.Exit(1)


def _read_body(data: str | None) -> bytes | None:
    """Raises TyperException for what is no JSON."""
    if data is None:
        return None
    try:
        body = Path(data[1:]).read_bytes() if data.startswith("@") else data.encode()
        orjson.loads(body)
    except OSError as error:
        raise TyperException(f"{data[1:]}: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise TyperException(f"--data is no JSON: {error}") from None
    return body
