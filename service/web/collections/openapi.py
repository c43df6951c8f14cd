"""The declarations of web/collections."""

from dataclasses import replace
from typing import Any

from service.bounds import MAX_ENUM, MAX_PATTERN
from service.errors import CollectionExists, CollectionNotFound, DuplicateValue, SchemaChanging, SchemaConflict
from service.schema.options import COLLECTION_NAME, COLLECTION_NAME_RULE, OPTIONS
from service.schema.values import Kind
from service.web.collections.endpoints import NewCollection, SchemaChange
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import (
    Component,
    Content,
    Operation,
    Parameter,
    Schema,
    SuccessResponse,
)

DEFINITION_REF = {"$ref": "#/components/schemas/FieldDefinition"}
NAME: Schema = {"type": "string", "pattern": f"^{COLLECTION_NAME.pattern}$", "description": COLLECTION_NAME_RULE}
BOOLEAN: Schema = {"type": "boolean"}
LENGTH: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
OPTION_SCHEMAS: dict[str, Schema] = {
    "required": {"type": "boolean", "description": "Whether the field must be present"},
    "default": {"description": "Used when the field is absent; it must fit the definition"},
    "nullable": BOOLEAN,
    "unique": BOOLEAN,
    "index": BOOLEAN,
    "enum": {"type": "array", "minItems": 1, "maxItems": MAX_ENUM, "uniqueItems": True},
    "min": {"type": "number"},
    "max": {"type": "number"},
    "min_length": LENGTH,
    "max_length": LENGTH,
    "pattern": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_PATTERN,
        "description": "A regular expression (PCRE)",
    },
    "items": DEFINITION_REF,
    "properties": {"type": "object", "propertyNames": shapes.FIELD_NAME, "additionalProperties": DEFINITION_REF},
    "collection": {"type": "string", "description": "The collection that a reference points at, or `users`"},
}


def _definition(kind: Kind) -> dict[str, Any]:
    """The definitions of one type, with the options that it takes."""
    options = {option: OPTION_SCHEMAS[option] for option in sorted(OPTIONS[kind] - {"type"})}
    required = ["type", "collection"] if kind is Kind.REFERENCE else ["type"]
    return {
        "type": "object",
        "title": kind.value,
        "properties": {"type": {"type": "string", "const": kind.value}, **options},
        "required": required,
        "additionalProperties": False,
    }


DEFINITION = Component("FieldDefinition", {"oneOf": [_definition(kind) for kind in OPTIONS]})
FIELDS: Schema = {"type": "object", "propertyNames": shapes.FIELD_NAME, "additionalProperties": DEFINITION.ref}
CHANGED_FIELDS: Schema = {
    "type": "object",
    "propertyNames": shapes.FIELD_NAME,
    "additionalProperties": {"anyOf": [DEFINITION.ref, {"type": "null"}]},
}


def _body(model: type[NewCollection | SchemaChange], properties: dict[str, Schema]) -> Component:
    """A model's own schema, with what its validators check beyond types."""
    schema = model.model_json_schema()
    merged = {name: {**field, **properties[name]} for name, field in schema["properties"].items()}
    return Component(model.__name__, {**schema, "properties": merged})


EXAMPLE_SCHEMA = {
    "title": {"type": "string", "required": True, "max_length": 200},
    "in_print": {"type": "boolean", "default": True},
    "author_id": {"type": "reference", "collection": "users"},
}
EXAMPLE = {
    "name": "books",
    "schema": EXAMPLE_SCHEMA,
    "created_at": shapes.EXAMPLE_TIME,
    "updated_at": shapes.EXAMPLE_TIME,
}
COLLECTION = Component(
    "Collection",
    shapes.object_of(name=NAME, schema={"type": "object"}, created_at=shapes.TIME, updated_at=shapes.TIME),
)
COUNTS = shapes.object_of(
    total=shapes.WHOLE,
    documents={
        "type": "array",
        "items": shapes.object_of(
            id=shapes.ID, errors={"type": "array", "items": {"$ref": "#/components/schemas/Violation"}}
        ),
    },
)
FINDINGS = Component("SchemaFindings", shapes.object_of(applies=BOOLEAN, repairs=shapes.WHOLE, conflicts=COUNTS))
CONFLICT = {
    "total": 1,
    "documents": [
        {
            "id": shapes.EXAMPLE_ID,
            "errors": [{"loc": ["body", "data", "title"], "msg": "Field required", "type": "missing"}],
        }
    ],
}
COLLECTIONS = Component(
    "CollectionList",
    shapes.object_of(collections={"type": "array", "items": COLLECTION.ref}, total=shapes.WHOLE),
)
ONE = Content(schema=COLLECTION, examples={"books": EXAMPLE})

LIST = Operation(
    id="listCollections",
    tag=tags.COLLECTIONS,
    components=(DEFINITION, FINDINGS, COLLECTION),
    answers=(
        SuccessResponse(
            description="All of them, by name",
            content=(Content(schema=COLLECTIONS, examples={"one": {"collections": [EXAMPLE], "total": 1}}),),
        ),
    ),
)
CREATE = Operation(
    id="createCollection",
    tag=tags.COLLECTIONS,
    body=(
        Content(
            schema=_body(NewCollection, {"name": NAME, "schema": FIELDS}),
            examples={"books": {"name": "books", "schema": EXAMPLE_SCHEMA}},
        ),
    ),
    answers=(SuccessResponse(status=201, description="The new collection", content=(ONE,)),),
    errors=(CollectionExists,),
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
    "would break the new schema, and that no default repairs, are counted and nothing changes.",
    parameters=(Parameter(name="dry_run", description="Only tell what the change would meet.", schema=BOOLEAN),),
    body=(
        Content(
            schema=_body(SchemaChange, {"schema": CHANGED_FIELDS}),
            examples={"a field more and one less": {"schema": {"year": {"type": "integer"}, "in_print": None}}},
        ),
    ),
    answers=(
        SuccessResponse(
            description="The collection afterwards; with `dry_run=true` what the change would meet",
            content=(
                Content(
                    schema={"anyOf": [COLLECTION.ref, FINDINGS.ref]},
                    examples={
                        "changed": EXAMPLE,
                        "dry run": {"applies": False, "repairs": 0, "conflicts": CONFLICT},
                    },
                ),
            ),
        ),
    ),
    errors=(CollectionNotFound, SchemaConflict(CONFLICT), SchemaChanging, DuplicateValue("data.title")),
)
DELETE = replace(
    READ,
    id="deleteCollection",
    answers=(SuccessResponse(status=204, description="It and its documents are gone"),),
    errors=(CollectionNotFound, SchemaChanging),
)
