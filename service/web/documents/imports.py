"""Imports over HTTP: documents in as NDJSON or CSV."""

from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import ClientDisconnect, Request

from service.bounds import MAX_IMPORT_BYTES
from service.domain.access.caller import SecretKeyCaller
from service.domain.documents import imports
from service.domain.documents.import_rows import FileFormat, Layout
from service.domain.permissions import Access
from service.errors import (
    Busy,
    CollectionNotFound,
    Invalid,
    ProjectNotFound,
    UnsupportedMedia,
)
from service.query.parse import parse_pairs
from service.services import Services
from service.web.documents.bodies import ImportResult, import_view
from service.web.documents.examples import IMPORTED
from service.web.documents.exports import by_server, read_format
from service.web.http.forms import read_media_type
from service.web.http.query_values import refuse_unknown
from service.web.http.render import Json, leaving_the_rest
from service.web.openapi.declaration import Content, Parameter, Success

# A batch of an import has so long.
IMPORT_ANSWER_SECONDS = 60.0
FORMATS = {
    "application/x-ndjson": FileFormat.NDJSON,
    "application/ndjson": FileFormat.NDJSON,
    "application/jsonl": FileFormat.NDJSON,
    "text/csv": FileFormat.CSV,
}
# The media type of bytes of any format; `format` names it.
ANY_BYTES = "application/octet-stream"
MODES = ("create", "upsert")
DELIMITERS = {",": ",", ";": ";", "\t": "\t", "tab": "\t"}


@by_server(
    "POST /api/collections/{name}/import",
    operator=Access("data", "write"),
    description='NDJSON (`application/x-ndjson`), one `{"data": {...}}` a line, or CSV (`text/csv`) whose header names fields. '
    "`application/octet-stream` is taken with `format`. A row that is refused stops no other.",
    parameters=(
        Parameter(
            name="mode",
            description="`create`: each row is a new document. `upsert`: it replaces the one that has its value of `by`.",
            schema={"type": "string", "enum": ["create", "upsert"], "default": "create"},
        ),
        Parameter(
            name="by",
            description="A field that is declared unique; with `upsert` only, and needed there.",
            schema={"type": "string", "minLength": 1},
            example="sku",
        ),
        Parameter(
            name="format",
            description="What an `application/octet-stream` is.",
            schema={"type": "string", "enum": ["ndjson", "csv"]},
            example="ndjson",
        ),
        Parameter(
            name="delimiter",
            description="The character between the cells of CSV.",
            schema={"type": "string", "enum": [",", ";", "\t", "tab"], "default": ","},
            example=";",
        ),
        Parameter(
            name="dry_run",
            description="`true` stores nothing, and answers as the import would.",
            schema={"type": "boolean", "default": False},
        ),
    ),
    body=(Content(media_type=ANY_BYTES, schema={"type": "string", "format": "binary"}),),
    max_body=MAX_IMPORT_BYTES,
    answer=Success("What became of the rows", IMPORTED),
    errors=(CollectionNotFound, Busy, ProjectNotFound),
    answer_seconds=IMPORT_ANSWER_SECONDS,
)
async def import_documents(request: Request, caller: SecretKeyCaller, services: Services) -> Json[ImportResult]:
    """Import documents."""
    options = _read_options(request, ("mode", "by", "format", "delimiter", "dry_run"))
    layout = _read_layout(_import_format(request, options.get("format")), options.get("delimiter"))
    by, dry_run = _upsert_by(options), _read_flag(options, "dry_run")
    with leaving_the_rest(request):
        report = await imports.import_documents(
            services.documents,
            caller.project,
            request.path_params["name"],
            _body(request),
            layout=layout,
            by=by,
            dry_run=dry_run,
        )
    return Json(import_view(report))


async def _body(request: Request) -> AsyncIterator[bytes]:
    """The pieces of the body; a client that leaves has sent what it has."""
    with suppress(ClientDisconnect):
        async for piece in request.stream():
            yield piece
        return
    raise Invalid.one(("body",), "The body ends before its length", type_="import_incomplete")


def _read_options(request: Request, names: tuple[str, ...]) -> dict[str, str]:
    """Raises Invalid for any parameter but those."""
    options = dict(parse_pairs(request.scope["query_string"]))
    refuse_unknown(options, names)
    return options


def _import_format(request: Request, named: str | None) -> FileFormat:
    """Raises Invalid, UnsupportedMedia."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without Content-Encoding")
    media_type = read_media_type(request)
    wanted = read_format(named) if named is not None else None
    found = wanted if media_type == ANY_BYTES else FORMATS.get(media_type)
    if found is None:
        raise UnsupportedMedia(
            "Send the body as Content-Type: application/x-ndjson or text/csv, or as application/octet-stream with `format`"
        )
    if wanted not in {None, found}:
        raise Invalid.one(("query", "format"), "The Content-Type says otherwise")
    return found


def _read_layout(format_: FileFormat, delimiter: str | None) -> Layout:
    """Raises Invalid."""
    if delimiter is None:
        return Layout(format_)
    if format_ is not FileFormat.CSV:
        raise Invalid.one(("query", "delimiter"), "Only CSV has a delimiter", type_="extra_forbidden")
    if delimiter not in DELIMITERS:
        raise Invalid.one(("query", "delimiter"), "Must be a comma, a semicolon (%3B) or a tab (%09)", type_="enum")
    return Layout(format_, DELIMITERS[delimiter])


def _read_flag(options: dict[str, str], name: str) -> bool:
    """Raises Invalid."""
    text = options.get(name, "false")
    if text not in {"true", "false"}:
        raise Invalid.one(("query", name), "Must be true or false", type_="bool_parsing")
    return text == "true"


def _upsert_by(options: dict[str, str]) -> str | None:
    """The field by which documents are found; None where each row is a new one. Raises Invalid."""
    mode, by = options.get("mode", MODES[0]), options.get("by")
    if mode not in MODES:
        raise Invalid.one(("query", "mode"), f"Must be {' or '.join(MODES)}")
    if (mode == "upsert") != (by is not None):
        msg = "Name the unique field by which documents are found" if by is None else "Only mode=upsert takes it"
        raise Invalid.one(("query", "by"), msg, type_="missing" if by is None else "extra_forbidden")
    return by
