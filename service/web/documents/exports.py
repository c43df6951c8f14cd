"""Exports over HTTP: documents out as NDJSON or CSV."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.exports import Export, open_export
from service.domain.documents.import_rows import FileFormat
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import (
    Busy,
    CollectionNotFound,
    Invalid,
    QueryTooSlow,
)
from service.query.nodes import Count, ListQuery, SortKey
from service.query.parse import parse_filters, parse_pairs
from service.schema.csv_text import write_record
from service.services import Services
from service.storage.documents import StoredDocument
from service.web.asgi.streaming import Streamed
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import find_client_address
from service.web.documents.bodies import document_view
from service.web.documents.examples import FILTERS, NDJSON_LINE
from service.web.http.disposition import content_disposition
from service.web.http.render import write_json
from service.web.openapi.declaration import TEXT, Content, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.query_parameters import filters, where_parameter

# Seconds MongoDB may take to find the first documents of an export.
EXPORT_ANSWER_SECONDS = 30.0
MEDIA_TYPES = {FileFormat.NDJSON: "application/x-ndjson", FileFormat.CSV: "text/csv; charset=utf-8; header=present"}
# Some milliseconds of work, before others have their turn.
PIECE_BYTES = 16_384

WriteLine = Callable[[StoredDocument], bytes]


by_server = partial(endpoint, credential=Credential.API_KEY, policy=DAILY, tag=Tag.DOCUMENTS)


@by_server(
    "GET /api/collections/{name}/export",
    operator=Access("data", "read", audited=True),
    description="All documents that the filters find, as they were at one moment, in the order of their ids: NDJSON, one "
    "document a line, or CSV, a column for each field of the schema. An answer that ends before its last chunk is not whole.",
    parameters=(
        Parameter(
            name="format",
            description="What is sent.",
            schema={"type": "string", "enum": ["ndjson", "csv"], "default": "ndjson"},
        ),
        where_parameter({"title_icontains": "les"}),
        filters(FILTERS),
    ),
    answer=Success(
        "The documents",
        content=(
            Content(media_type="application/x-ndjson", schema=TEXT, examples={"a book": NDJSON_LINE}),
            Content(
                media_type="text/csv",
                schema=TEXT,
                examples={"a book": "title,in_print\r\nLes Misérables,true\r\n"},
            ),
        ),
        headers={"Content-Disposition": "A name to save it under"},
    ),
    errors=(CollectionNotFound, QueryTooSlow, Busy),
    answer_seconds=EXPORT_ANSWER_SECONDS,
    takes_head=False,
)
async def export_documents(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Export documents."""
    query, format_ = _read_export(request)
    name = request.path_params["name"]
    export = await open_export(services.documents, caller, name, query)
    headers = {
        "content-type": MEDIA_TYPES[format_],
        "content-disposition": content_disposition(f"{name}.{format_.value}", inline=False),
    }
    address = find_client_address(request, services.web.trusted_proxies)
    return Streamed(ExportPieces(export, format_), 200, headers, address=address)


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

        def line(document: StoredDocument) -> bytes:
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


def _ndjson_line(document: StoredDocument) -> bytes:
    return write_json(document_view(document)) + b"\n"


def _read_export(request: Request) -> tuple[ListQuery, FileFormat]:
    """The documents asked for, in the order of their ids, and the format. Raises Invalid."""
    pairs = parse_pairs(request.scope["query_string"])
    format_ = read_format(dict(pairs).get("format", FileFormat.NDJSON.value))
    query = parse_filters((name, text) for name, text in pairs if name != "format")
    return replace(query, sort=(SortKey(("id",)),), count=Count.NONE), format_


def read_format(text: str) -> FileFormat:
    try:
        return FileFormat(text)
    except ValueError:
        raise Invalid.one(("query", "format"), "Must be ndjson or csv") from None
