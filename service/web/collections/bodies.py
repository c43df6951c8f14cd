"""Bodies and answers of the endpoints of collections: specification section 2.2."""

from typing import Annotated, Any, Literal, NotRequired, Required, cast

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from typing_extensions import TypedDict

from service.bounds import MAX_ENUM, MAX_FILE_BYTES, MAX_PATTERN, MAX_VARIANT_SIDE, MAX_VARIANTS
from service.domain.collections.catalog import Declaration
from service.domain.collections.conflicts import Findings
from service.schema.collection_options import OPTION_NAMES
from service.schema.file_urls import EXTENSIONS
from service.schema.options import COLLECTION_NAME, COLLECTION_NAME_RULE, MAX_LENGTH_OPTION, OPTIONS
from service.web.http.json_body import validated
from service.web.openapi.failures import BrokenRule
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, ShownAs, Time, WholeNumber

EXAMPLE_SCHEMA = {
    "title": {"type": "string", "required": True, "max_length": 200},
    "in_print": {"type": "boolean", "default": True},
    "author_id": {"type": "reference", "collection": "users"},
}
EXAMPLE = {
    "name": "books",
    "schema": EXAMPLE_SCHEMA,
    "realtime": False,
    "created_at": EXAMPLE_TIME,
    "updated_at": EXAMPLE_TIME,
}
CONFLICT = {
    "total": 1,
    "documents": [
        {
            "id": EXAMPLE_ID,
            "errors": [{"loc": ["body", "data", "title"], "msg": "Field required", "type": "missing"}],
        }
    ],
}

# The domain judges names and definitions, for the command line too.
CollectionName = Annotated[
    str, Field(description=COLLECTION_NAME_RULE, json_schema_extra={"pattern": f"^{COLLECTION_NAME.pattern}$"})
]
FieldType = Annotated[str, WithJsonSchema({"type": "string", "enum": [kind.value for kind in OPTIONS]})]
FileExtension = Annotated[str, WithJsonSchema({"type": "string", "enum": list(EXTENSIONS)})]
Length = Annotated[int, Field(ge=0, le=MAX_LENGTH_OPTION)]


Side = Annotated[int, Field(ge=1, le=MAX_VARIANT_SIDE)]


class VariantDefinition(TypedDict, total=False):
    """A smaller image; it has a width, a height, or both."""

    width: Side
    height: Side
    fit: Literal["contain", "cover"]
    format: Literal["webp", "jpeg"]


class FieldDefinition(TypedDict, total=False):
    """What a field holds. Which options a type takes, docs/schemas.md says; `collection` is that of a reference."""

    type: Required[FieldType]
    required: Annotated[bool, Field(description="Whether the field must be present")]
    default: Annotated[Any, Field(description="Used when the field is absent; it must fit the definition")]
    nullable: bool
    unique: bool
    index: bool
    enum: Annotated[list[Any], Field(min_length=1, max_length=MAX_ENUM)]
    min: float
    max: float
    min_length: Length
    max_length: Length
    pattern: Annotated[str, Field(min_length=1, max_length=MAX_PATTERN, description="A regular expression")]
    items: "FieldDefinition"
    properties: "dict[str, FieldDefinition]"
    types: Annotated[list[FileExtension], Field(min_length=1, description="Of a file: the extensions it may have")]
    max_bytes: Annotated[int, Field(ge=1, le=MAX_FILE_BYTES, description="Of a file")]
    protected: Annotated[bool, Field(description="Of a file: whether only signed URLs open it")]
    variants: Annotated[
        dict[str, VariantDefinition],
        Field(max_length=MAX_VARIANTS, description="Of a file: `?variant=<name>` of its URL"),
    ]
    collection: Annotated[str, Field(description="The collection that a reference points at, or `users`")]


Realtime = Annotated[bool, Field(description="Whether changes of the documents can be followed, docs/realtime.md")]


Together = Annotated[list[list[str]], Field(description="Lists of fields whose values together no two documents share")]
SortKeys = Annotated[
    list[list[str]], Field(description="Compound indexes: lists of fields, descending where `-` stands before the name")
]


class NewCollection(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: CollectionName
    declared: Annotated[dict[str, Any], ShownAs(dict[str, FieldDefinition])] = Field(alias="schema")
    realtime: Realtime = False
    unique: Together = []
    indexes: SortKeys = []


class SchemaChange(BaseModel):
    """Fields to declare; null removes one. Options that are left out stay as they are."""

    model_config = ConfigDict(strict=True, extra="forbid")

    declared: Annotated[dict[str, Any], ShownAs(dict[str, FieldDefinition | None])] = Field(alias="schema")
    realtime: Realtime | None = None
    unique: Together = []
    indexes: SortKeys = []


class OptionsChange(BaseModel):
    """The schema stays as it is, as do the options that are left out."""

    model_config = ConfigDict(strict=True, extra="forbid")

    realtime: Realtime = False
    unique: Together = []
    indexes: SortKeys = []


class Collection(TypedDict):
    name: CollectionName
    schema: dict[str, FieldDefinition]
    realtime: bool
    unique: NotRequired[Together]
    indexes: NotRequired[SortKeys]
    created_at: Time
    updated_at: Time


class CollectionList(TypedDict):
    collections: list[Collection]
    total: WholeNumber


class ConflictingDocument(TypedDict):
    id: Id
    errors: list[BrokenRule]


class Conflicts(TypedDict):
    total: WholeNumber
    documents: list[ConflictingDocument]


class SchemaFindings(TypedDict):
    applies: bool
    repairs: WholeNumber
    conflicts: Conflicts


def read_change(sent: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields to declare, and the options to set. Raises Invalid."""
    if "schema" not in sent and not sent.keys().isdisjoint(OPTION_NAMES):
        return {}, validated(OptionsChange, sent).model_dump(exclude_unset=True)
    form = validated(SchemaChange, sent)
    return form.declared, form.model_dump(include={*OPTION_NAMES}, exclude_unset=True, exclude_none=True)


def collection_view(collection: Declaration) -> Collection:
    named = {"name": collection.name, "schema": collection.schema}
    times = {"created_at": collection.created_at, "updated_at": collection.updated_at}
    return cast(Collection, named | collection.options.as_json() | times)


def list_view(collections: list[Declaration]) -> CollectionList:
    return {"collections": [collection_view(each) for each in collections], "total": len(collections)}


def findings_view(findings: Findings) -> SchemaFindings:
    documents: list[ConflictingDocument] = [{"id": each["id"], "errors": each["errors"]} for each in findings.documents]
    conflicts: Conflicts = {"total": findings.total, "documents": documents}
    return {"applies": findings.total == 0, "repairs": findings.repairs, "conflicts": conflicts}
