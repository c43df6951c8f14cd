"""Whole collections over HTTP: documents out as NDJSON or CSV, and in again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.exports import Export
from service.domain.documents.import_rows import FileFormat, Layout
from service.errors import Invalid, UnsupportedMedia, Violation
from service.query.nodes import Count, ListQuery, SortKey
from service.query.parse import parse_filters, parse_pairs
from service.schema.csv_text import write_record
from service.services import Services
from service.storage.documents import Document
from service.web.asgi.streaming import Streamed
from service.web.auth.client_address import find_client_address
from service.web.documents.bodies import document_view, import_view
from service.web.http.disposition import content_disposition
from service.web.http.render import json_response, leaving_the_rest, write_json

# A batch of an import has so long.
IMPORT_ANSWER_SECONDS = 60.0
# Seconds MongoDB may take to find the first documents of an export.
EXPORT_ANSWER_SECONDS = 30.0
MEDIA_TYPES = {FileFormat.NDJSON: "application/x-ndjson", FileFormat.CSV: "text/csv; charset=utf-8; header=present"}
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
# Some milliseconds of work, before others have their turn.
PIECE_BYTES = 16_384

WriteLine = Callable[[Document], bytes]


async def export_documents(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Export documents."""
    query, format_ = _read_export(request)
    name = request.path_params["name"]
    export = await services.exports.open(caller.project, name, query)
    headers = {
        "content-type": MEDIA_TYPES[format_],
        "content-disposition": content_disposition(f"{name}.{format_.value}", inline=False),
    }
    address = find_client_address(request, services.trusted_proxies)
    return Streamed(ExportPieces(export, format_), 200, headers, address=address)


async def import_documents(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Import documents."""
    options = _read_options(request, ("mode", "by", "format", "delimiter", "dry_run"))
    layout = _read_layout(_import_format(request, options.get("format")), options.get("delimiter"))
    by, dry_run = _upsert_by(options), _read_flag(options, "dry_run")
    with leaving_the_rest(request):
        report = await services.imports.run(
            caller.project, request.path_params["name"], _body(request), layout=layout, by=by, dry_run=dry_run
        )
    return json_response(import_view(report))


class ExportPieces:
    """An export as bytes, some lines at a time, so that others have their turns between them."""

    def __init__(self, export: Export, format_: FileFormat) -> None:
        self._export = export
        self._pieces = self._csv() if format_ is FileFormat.CSV else self._cut(_ndjson_line)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._export.close()

    async def _csv(self) -> AsyncIterator[bytes]:
        names = self._export.fields
        yield write_record(names, write_json).encode()

        def line(document: Document) -> bytes:
            return write_record([document.data.get(name) for name in names], write_json).encode()

        async for piece in self._cut(line):
            yield piece

    async def _cut(self, line: WriteLine) -> AsyncIterator[bytes]:
        piece = bytearray()
        async for document in self._export.documents:
            piece += line(document)
            if len(piece) >= PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
                await asyncio.sleep(0)
        if piece:
            yield bytes(piece)


def _ndjson_line(document: Document) -> bytes:
    return write_json(document_view(document)) + b"\n"


async def _body(request: Request) -> AsyncIterator[bytes]:
    """The pieces of the body; a client that leaves has sent what it has."""
    with suppress(ClientDisconnect):
        async for piece in request.stream():
            yield piece
        return
    raise Invalid.one(("body",), "The body ends before its length", type_="import_incomplete")


def _read_export(request: Request) -> tuple[ListQuery, FileFormat]:
    """The documents asked for, in the order of their ids, and the format. Raises Invalid."""
    pairs = parse_pairs(request.scope["query_string"])
    format_ = _format(dict(pairs).get("format", FileFormat.NDJSON.value))
    query = parse_filters((name, text) for name, text in pairs if name != "format")
    return replace(query, sort=(SortKey(("id",)),), count=Count.NONE), format_


def _format(text: str) -> FileFormat:
    try:
        return FileFormat(text)
    except ValueError:
        raise Invalid.one(("query", "format"), "Must be ndjson or csv") from None


def _read_options(request: Request, names: tuple[str, ...]) -> dict[str, str]:
    """Raises Invalid for any parameter but those."""
    options = dict(parse_pairs(request.scope["query_string"]))
    if unknown := [name for name in options if name not in names]:
        msg = "This endpoint takes no such parameter"
        raise Invalid(Violation(("query", name), msg, "extra_forbidden") for name in unknown)
    return options


def _import_format(request: Request, named: str | None) -> FileFormat:
    """Raises Invalid, UnsupportedMedia."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without Content-Encoding")
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted = _format(named) if named is not None else None
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
