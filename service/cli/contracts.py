"""`auth-collections types` and `openapi`: a project's own contract, for the code that relies on it."""

import hashlib
import os
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from typer.exceptions import TyperException

from service.cli.output import AsJson, print_json
from service.cli.runtime import run_command
from service.contract.model import View
from service.errors import ServiceError

if TYPE_CHECKING:
    from service.contract.model import Contract
    from service.contract.written import WrittenTypes
    from service.services import Services

app = typer.Typer(rich_markup_mode=None, add_completion=False)

DIFFERENT = 1
# The line of a text that names a collection, in each language.
NAMED = re.compile(
    r"""^ {4}"?([A-Za-z][A-Za-z0-9_-]*)"?: \{ data: |^\w+Ref: .* = CollectionRef\("([^"]+)"\)$""", re.MULTILINE
)


class TypeLanguage(Enum):
    """The languages of generated types."""

    TYPESCRIPT = "typescript"
    PYTHON = "python"


ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
ViewOption = Annotated[View, typer.Option("--view", help="The callers that it is for.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write into a file, in one step.")]


@app.command()
def types(
    project_id: ProjectId,
    language: Annotated[TypeLanguage, typer.Option("--language", help="The language of the types.")],
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


@app.command()
def openapi(
    project_id: Annotated[str, typer.Argument(metavar="[PROJECT]", help="The project's id.")] = "",
    of_admin: Annotated[bool, typer.Option("--admin", help="That of the Admin API.")] = False,
    view: ViewOption = View.SERVER,
    out: Out = None,
) -> None:
    """Write the OpenAPI document of a project, of the service, or of the Admin API."""
    if of_admin and project_id:
        raise TyperException("--admin is the document of no project")
    text = _write_document(project_id, view) if project_id else _own_document(of_admin=of_admin)
    if out is None:
        typer.echo(text.decode())
    else:
        _replace(out, text)


def _own_document(*, of_admin: bool) -> bytes:
    from service.web.openapi.document import ADMIN, build_document
    from service.web.routes import ADMIN_ROUTES, ROUTES

    document = build_document(ADMIN_ROUTES, ADMIN) if of_admin else build_document(ROUTES)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _write_document(project_id: str, view: View) -> bytes:
    from service.contract.document import Base, write_document
    from service.web.openapi.document import build_document
    from service.web.routes import ROUTES

    contract, url = _read_contract(project_id, view)
    return write_document(contract, Base(build_document(ROUTES), url), view)


def _write_types(project_id: str, language: TypeLanguage, view: View) -> "WrittenTypes":
    from service.contract.python import write_python
    from service.contract.typescript import write_typescript

    write = write_typescript if language is TypeLanguage.TYPESCRIPT else write_python
    return write(_read_contract(project_id, view)[0])


def _read_contract(project_id: str, view: View) -> "tuple[Contract, str]":
    """The contract, and the address of the service. Every failure ends the command with status 2, for 1 is a difference."""

    async def read(services: "Services") -> "tuple[Contract, str]":
        project = await services.base.admin.find(project_id)
        return await services.contracts.read(project, view), services.base.base_url

    try:
        return run_command(read, only_reads=True)
    except ServiceError as error:
        raise TyperException(error.detail) from None


def _compare(written: "WrittenTypes", out: Path) -> list[str] | None:
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
