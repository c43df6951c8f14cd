"""`auth-collections types` and `openapi`: a project's own contract, for the code that relies on it."""

import hashlib
import os
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_command
from service.contract.model import View
from service.errors import ServiceError

if TYPE_CHECKING:
    from service.contract.model import Contract
    from service.contract.written import Written
    from service.services import Services

app = typer.Typer(rich_markup_mode=None, add_completion=False)

DIFFERENT = 1
# The line of a text that names a collection, in each language.
NAMED = re.compile(
    r"""^ {4}"?([A-Za-z][A-Za-z0-9_-]*)"?: \{ data: |^\w+Ref: .* = CollectionRef\("([^"]+)"\)$""", re.MULTILINE
)


class Language(Enum):
    """The languages of generated types."""

    TYPESCRIPT = "typescript"
    PYTHON = "python"


ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
ViewOption = Annotated[View, typer.Option("--view", help="The callers that it is for.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write into a file, in one step.")]


@app.command()
def types(
    project_id: ProjectId,
    language: Annotated[Language, typer.Option("--language", help="The language of the types.")],
    view: ViewOption = View.SERVER,
    out: Out = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; status 1 if FILE differs, with the collections that do.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write types of a project's records for TypeScript or Python."""
    if out is None and (check or as_json):
        raise TyperException("--check and --json need --out FILE")
    written = _write_types(project_id, language, view)
    text = written.text.encode()
    if out is None:
        typer.echo(written.text, nl=False)
        return
    found = {"language": language.value, "view": view.value, "etag": _etag(text), "bytes": len(text), "out": str(out)}
    differs = _compare(written, out) if check else None
    if differs is None and not check:
        _replace(out, text)
    if as_json:
        print_json(found | ({"equal": differs is None, "differs": differs or []} if check else {}))
    elif check and differs is not None:
        typer.echo("\n".join([f"{out} differs from the types of {project_id}", *differs]))
    if differs is not None:
        raise typer.Exit(DIFFERENT)


def _write_types(project_id: str, language: Language, view: View) -> "Written":
    from service.contract.python import write_python
    from service.contract.typescript import write_typescript

    write = write_typescript if language is Language.TYPESCRIPT else write_python
    return write(_read_contract(project_id, view))


def _read_contract(project_id: str, view: View) -> "Contract":
    """Every failure ends the command with status 2: 1 says that a file differs."""

    async def read(services: "Services") -> "Contract":
        return await services.contracts.read(await services.base.admin.find(project_id), view)

    try:
        return run_command(read, only_reads=True)
    except ServiceError as error:
        raise TyperException(error.detail) from None


def _compare(written: "Written", out: Path) -> list[str] | None:
    """The collections whose parts of the file differ; None where all of the file is the same."""
    try:
        present = out.read_bytes()
    except FileNotFoundError:
        return sorted(written.parts)
    except OSError as error:
        raise TyperException(f"{out}: {error.strerror}") from None
    if present == written.text.encode():
        return None
    text = present.decode(errors="replace")
    changed = {name for name, parts in written.parts.items() if not all(part in text for part in parts)}
    gone = {one or other for one, other in NAMED.findall(text)} - written.parts.keys()
    return sorted(changed | gone)


def _replace(out: Path, text: bytes) -> None:
    """Writes beside the file and renames: a reader sees the old text or the new one."""
    part = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        part.write_bytes(text)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise TyperException(f"{out}: {error.strerror}") from None


def _etag(text: bytes) -> str:
    return f'"{hashlib.sha256(text).hexdigest()}"'
