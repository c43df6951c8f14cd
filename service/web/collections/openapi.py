"""The declarations of web/collections."""

from dataclasses import replace

from service.errors import (
    CollectionExists,
    CollectionLimit,
    CollectionNotFound,
    DuplicateValue,
    IndexLimit,
    RuleConflict,
    SchemaChanging,
    SchemaConflict,
    Violation,
)
from service.web.collections.bodies import (
    Collection,
    CollectionList,
    NewCollection,
    RealtimeChange,
    SchemaChange,
    SchemaFindings,
)
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import (
    Content,
    ErrorExample,
    Operation,
    Parameter,
    SuccessResponse,
)

EXAMPLE_SCHEMA = {
    "title": {"type": "string", "required": True, "max_length": 200},
    "in_print": {"type": "boolean", "default": True},
    "author_id": {"type": "reference", "collection": "users"},
}
EXAMPLE = {
    "name": "books",
    "schema": EXAMPLE_SCHEMA,
    "realtime": False,
    "created_at": shapes.EXAMPLE_TIME,
    "updated_at": shapes.EXAMPLE_TIME,
}
CONFLICT = {
    "total": 1,
    "documents": [
        {
            "id": shapes.EXAMPLE_ID,
            "errors": [{"loc": ["body", "data", "title"], "msg": "Field required", "type": "missing"}],
        }
    ],
}
RULE_CONFLICT = ErrorExample(
    RuleConflict,
    [Violation(("body", "collections", "books", "read", "in_print_eq"), "There is no such field", "value_error")],
)
ONE = Content(type=Collection, examples={"books": EXAMPLE})

LIST = Operation(
    id="listCollections",
    tag=tags.COLLECTIONS,
    answers=(
        SuccessResponse(
            description="All of them, by name",
            content=(Content(type=CollectionList, examples={"one": {"collections": [EXAMPLE], "total": 1}}),),
        ),
    ),
)
CREATE = Operation(
    id="createCollection",
    tag=tags.COLLECTIONS,
    body=(
        Content(
            type=NewCollection,
            examples={"books": {"name": "books", "schema": EXAMPLE_SCHEMA}},
        ),
    ),
    answers=(SuccessResponse(status=201, description="The new collection", content=(ONE,)),),
    errors=(CollectionExists, ErrorExample(CollectionLimit, 200), ErrorExample(IndexLimit, 301, 300)),
)
READ = Operation(
    id="readCollection",
    tag=tags.COLLECTIONS,
    answers=(SuccessResponse(description="The collection", content=(ONE,)),),
    errors=(CollectionNotFound,),
)
CHANGE = replace(
    READ,
    id="changeCollection",
    description="Declares the fields in `schema` anew, removes those that are null there, leaves the others. Documents that "
    "would break the new schema, and that no default repairs, are counted and nothing changes. "
    "`realtime` says if changes of the documents can be followed.",
    parameters=(
        Parameter(name="dry_run", description="Only tell what the change would meet.", schema={"type": "boolean"}),
    ),
    body=(
        Content(
            type=SchemaChange | RealtimeChange,
            examples={
                "a field more and one less": {"schema": {"year": {"type": "integer"}, "in_print": None}},
                "live": {"realtime": True},
            },
        ),
    ),
    answers=(
        SuccessResponse(
            description="The collection afterwards; with `dry_run=true` what the change would meet",
            content=(
                Content(
                    type=Collection | SchemaFindings,
                    examples={
                        "changed": EXAMPLE,
                        "dry run": {"applies": False, "repairs": 0, "conflicts": CONFLICT},
                    },
                ),
            ),
        ),
    ),
    errors=(
        CollectionNotFound,
        ErrorExample(SchemaConflict, CONFLICT),
        SchemaChanging,
        RULE_CONFLICT,
        ErrorExample(IndexLimit, 301, 300),
        ErrorExample(DuplicateValue, "data.title"),
    ),
)
DELETE = replace(
    READ,
    id="deleteCollection",
    answers=(SuccessResponse(status=204, description="It and its documents are gone"),),
    errors=(CollectionNotFound, SchemaChanging, RULE_CONFLICT),
)
