"""The declarations of what is done to many documents at once: files of them, and bulk writes."""

from dataclasses import replace

from service.bounds import MAX_BULK, MAX_CURSOR
from service.errors import Busy, CollectionNotFound, CountChanged, DuplicateValue, ProjectNotFound, QueryTooSlow
from service.web.documents.bodies import BulkAnswer, BulkDeleteForm, BulkUpdateForm, ImportResult
from service.web.documents.openapi import EXAMPLE
from service.web.openapi import tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, Parameter, SuccessResponse
from service.web.openapi.query_parameters import filters, where_parameter

NDJSON_LINE = (
    '{"id":"66f0c1a2b3c4d5e6f7a8b9c2","data":{"title":"Les Misérables"},"created_at":"2026-01-31T12:00:00.000Z",'
    '"updated_at":"2026-01-31T12:00:00.000Z","version":1}\n'
)
EXPORT = Operation(
    id="exportDocuments",
    tag=tags.DOCUMENTS,
    description="All documents that the filters find, as they were at one moment, in the order of their ids: NDJSON, one "
    "document a line, or CSV, a column for each field of the schema. An answer that ends before its last chunk is not whole.",
    parameters=(
        Parameter(
            name="format",
            description="What is sent.",
            schema={"type": "string", "enum": ["ndjson", "csv"], "default": "ndjson"},
        ),
        where_parameter({"title_icontains": "les"}),
        filters({"title_icontains": "les", "in_print_eq": "true"}),
    ),
    answers=(
        SuccessResponse(
            description="The documents",
            content=(
                Content(media_type="application/x-ndjson", schema={"type": "string"}, examples={"a book": NDJSON_LINE}),
                Content(
                    media_type="text/csv",
                    schema={"type": "string"},
                    examples={"a book": "title,in_print\r\nLes Misérables,true\r\n"},
                ),
            ),
            headers={"Content-Disposition": "A name to save it under"},
        ),
    ),
    errors=(CollectionNotFound, QueryTooSlow, Busy),
)
IMPORT = Operation(
    id="importDocuments",
    tag=tags.DOCUMENTS,
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
    body=(Content(media_type="application/octet-stream", schema={"type": "string", "format": "binary"}),),
    answers=(
        SuccessResponse(
            description="What became of the rows",
            content=(
                Content(
                    type=ImportResult,
                    examples={
                        "one refused": {
                            "created": 499,
                            "updated": 0,
                            "refused": 1,
                            "errors": [
                                {
                                    "line": 17,
                                    "errors": [
                                        {
                                            "loc": ["body", "data", "title"],
                                            "msg": "Field required",
                                            "type": "missing",
                                        }
                                    ],
                                }
                            ],
                            "groups": [
                                {
                                    "count": 1,
                                    "line": 17,
                                    "error": {
                                        "loc": ["body", "data", "title"],
                                        "msg": "Field required",
                                        "type": "missing",
                                    },
                                }
                            ],
                        }
                    },
                ),
            ),
        ),
    ),
    errors=(CollectionNotFound, Busy, ProjectNotFound),
)
BULK = (
    "By the secret key alone. Ask with `dry_run=true` first: the answer says how many documents there are, and `expect` must "
    f"say the same. A call changes at most {MAX_BULK:,}, in transactions of 1,000 each; `next` is then the `cursor` of the "
    "next call, with the same body."
)
BULK_UPDATE = Operation(
    id="bulkUpdateDocuments",
    tag=tags.DOCUMENTS,
    description=BULK,
    parameters=(
        Parameter(
            name="dry_run",
            description="`true` only counts.",
            schema={"type": "boolean", "default": False},
        ),
        Parameter(
            name="cursor",
            description="The `next` of the call before.",
            schema={"type": "string", "maxLength": MAX_CURSOR},
        ),
    ),
    body=(
        Content(
            type=BulkUpdateForm,
            examples={"a price": {"where": {"in_print_eq": False}, "unset": ["price"], "expect": 120}},
        ),
    ),
    answers=(
        SuccessResponse(
            description="What was changed, or would be",
            content=(
                Content(
                    type=BulkAnswer,
                    examples={
                        "done": {"matched": 120, "changed": 120, "next": None},
                        "dry_run": {"matched": 120, "sample": [EXAMPLE["id"]]},
                    },
                ),
            ),
        ),
    ),
    errors=(
        CollectionNotFound,
        ErrorExample(CountChanged, 121),
        ErrorExample(DuplicateValue, "data.title"),
        QueryTooSlow,
        Busy,
    ),
)
BULK_DELETE = replace(
    BULK_UPDATE,
    id="bulkDeleteDocuments",
    body=(Content(type=BulkDeleteForm, examples={"the old": {"where": {"in_print_eq": False}, "expect": 120}}),),
    errors=(CollectionNotFound, ErrorExample(CountChanged, 121), QueryTooSlow, Busy),
)
