"""The declarations of web/documents."""

from dataclasses import replace

from service.errors import (
    CollectionNotFound,
    ConditionFailed,
    DocumentNotFound,
    DuplicateValue,
    Forbidden,
    QueryTooSlow,
    VersionConflict,
)
from service.web.documents.bodies import (
    ON_CONFLICT,
    Document,
    DocumentChange,
    DocumentFiles,
    DocumentForm,
    DocumentList,
    WrittenDocument,
)
from service.web.http.list_body import ListForm
from service.web.openapi import shapes, tags
from service.web.openapi.conditions import ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED
from service.web.openapi.declaration import Content, ErrorExample, Operation, Parameter, SuccessResponse
from service.web.openapi.forms import form_content
from service.web.openapi.lists import EXAMPLE_CURSOR, DistinctValues
from service.web.openapi.query_parameters import distinct_parameters, list_parameters

EXAMPLE_DATA = {"title": "Les Misérables", "in_print": True, "author_id": shapes.EXAMPLE_ID}
EXAMPLE = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c2",
    "data": EXAMPLE_DATA,
    "created_at": shapes.EXAMPLE_TIME,
    "updated_at": shapes.EXAMPLE_TIME,
    "version": 1,
}
ONE = Content(type=Document, examples={"a book": EXAMPLE})
WRITTEN = Content(
    type=WrittenDocument, examples={"a book": EXAMPLE, "one that its writer may not read": {"id": EXAMPLE["id"]}}
)
WITH_FILES = form_content(DocumentFiles)
CHANGED_MEANWHILE = ErrorExample(VersionConflict, '"v18"')
CONFORM = "`data` conforms to the collection's schema; fields that are not declared are refused."

LIST = Operation(
    id="listDocuments",
    tag=tags.DOCUMENTS,
    description="Filters, sorting and populate take the fields and references that the schema declares.",
    parameters=list_parameters({"title_icontains": "les", "in_print_eq": "true"}, "author"),
    answers=(
        SuccessResponse(
            description="One page of documents",
            content=(
                Content(
                    type=DocumentList,
                    examples={
                        "a page": {"documents": [EXAMPLE], "total": 1, "limit": 50, "offset": 0},
                        "a page by cursor": {"documents": [EXAMPLE], "total": None, "limit": 1, "next": EXAMPLE_CURSOR},
                    },
                ),
            ),
        ),
    ),
    errors=(CollectionNotFound, Forbidden, QueryTooSlow),
)
QUERY = replace(
    LIST,
    id="queryDocuments",
    description="As the list, with conditions that `and`, `or` and `not` join. The method QUERY takes the same at "
    "`/api/collections/{name}/documents`.",
    parameters=(),
    body=(
        Content(
            type=ListForm,
            examples={
                "either": {
                    "where": {"in_print_eq": True, "or": [{"title_startswith": "Les"}, {"author.name_eq": "Hugo"}]},
                    "fields": ["title", "author.name"],
                    "populate": ["author"],
                    "sort_by": ["-created_at", "title"],
                    "limit": 20,
                    "cursor": "*",
                }
            },
        ),
    ),
)
DISTINCT = Operation(
    id="distinctDocumentValues",
    tag=tags.DOCUMENTS,
    description="Each scalar once, elements of arrays one by one, in MongoDB's order; nulls are left out.",
    parameters=distinct_parameters("title", {"title_icontains": "les", "in_print_eq": "true"}),
    answers=(
        SuccessResponse(
            description="The first values",
            content=(
                Content(type=DistinctValues, examples={"titles": {"values": ["Les Misérables"], "truncated": False}}),
            ),
        ),
    ),
    errors=(CollectionNotFound, QueryTooSlow),
)
CREATE = Operation(
    id="createDocument",
    tag=tags.DOCUMENTS,
    description=CONFORM,
    body=(Content(type=DocumentForm, examples={"a book": {"data": {"title": "Les Misérables"}}}), WITH_FILES),
    answers=(
        SuccessResponse(
            status=201, description="The new document, defaults filled in", content=(WRITTEN,), headers=ETAG
        ),
    ),
    errors=(CollectionNotFound, Forbidden, ErrorExample(DuplicateValue, "data.title")),
)
READ = Operation(
    id="readDocument",
    tag=tags.DOCUMENTS,
    parameters=(IF_NONE_MATCH,),
    answers=(SuccessResponse(description="The document", content=(ONE,), headers=ETAG), NOT_MODIFIED),
    errors=(CollectionNotFound, DocumentNotFound, Forbidden),
)
REPLACE = replace(
    CREATE,
    id="replaceDocument",
    parameters=(IF_MATCH,),
    answers=(
        SuccessResponse(
            description="The document with its new data, defaults filled in", content=(WRITTEN,), headers=ETAG
        ),
    ),
    errors=(*CREATE.errors, DocumentNotFound, CHANGED_MEANWHILE),
)
UPSERT = replace(
    CREATE,
    id="upsertDocument",
    description=f"In one step, whoever else writes. {CONFORM}",
    parameters=(
        Parameter(
            name="by",
            description="A unique field, of which `data` has a value.",
            schema={"type": "string"},
            example="isbn",
            required=True,
        ),
        Parameter(
            name="on_conflict",
            description="What becomes of a document that has this value: all its data is replaced, the fields sent are "
            "set, or it stays as it is.",
            schema={"type": "string", "enum": ON_CONFLICT, "default": ON_CONFLICT[0]},
        ),
    ),
    body=(
        Content(type=DocumentForm, examples={"a book": {"data": {"isbn": "2253096334", "title": "Les Misérables"}}}),
        WITH_FILES,
    ),
    answers=(
        SuccessResponse(
            status=201, description="The new document, defaults filled in", content=(WRITTEN,), headers=ETAG
        ),
        SuccessResponse(description="The document that was there, as it is now", content=(WRITTEN,), headers=ETAG),
    ),
)
MERGE = replace(
    REPLACE,
    id="mergeDocument",
    description="Sets the top-level fields named in `data`, changes others by operators, in one step with all that others do "
    f"at the same time, and leaves the rest. {CONFORM}",
    errors=(*REPLACE.errors, ConditionFailed),
    body=(
        Content(
            type=DocumentChange,
            examples={
                "a field": {"data": {"title": "Les Misérables"}},
                "if there is one left": {"increment": {"stock": -1}, "where": {"stock_gte": 1}},
                "operators": {
                    "increment": {"stock": -1},
                    "add": {"tags": {"each": ["novel", "french"]}},
                    "unset": ["note"],
                },
            },
        ),
        WITH_FILES,
    ),
    answers=(SuccessResponse(description="The document afterwards", content=(WRITTEN,), headers=ETAG),),
)
DELETE = replace(
    READ,
    id="deleteDocument",
    parameters=(IF_MATCH,),
    answers=(SuccessResponse(status=204, description="It is gone"),),
    errors=(*READ.errors, CHANGED_MEANWHILE),
)
