"""The types that bodies are declared with, and the schemas of all declared types. A type is the only place of its shape.

Answers are typed dictionaries: they cost nothing when a request is answered, and mypy compares them with what is rendered.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema
from pydantic.annotated_handlers import GetJsonSchemaHandler
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypeAliasType

from service.bounds import MAX_DEPTH, MAX_FILES, MAX_LIMIT, MAX_NAME
from service.query.options import MAX_OFFSET
from service.schema.options import COLLECTION_NAME
from service.web.openapi.declaration import JSON, Content, Schema

EXAMPLE_ID = "66f0c1a2b3c4d5e6f7a8b9c0"
EXAMPLE_TIME = "2026-01-31T12:00:00.000Z"
ID_SCHEMA: Schema = {"type": "string", "pattern": "^[0-9a-f]{24}$", "examples": [EXAMPLE_ID]}

Id = Annotated[str, WithJsonSchema(dict(ID_SCHEMA))]
Time = Annotated[datetime, WithJsonSchema({"type": "string", "format": "date-time", "examples": [EXAMPLE_TIME]})]
WholeNumber = Annotated[int, Field(ge=0)]
Version = Annotated[
    int,
    Field(ge=0, description="Each write through the service adds 1; 0 of what another program stored. Also the `ETag`"),
]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET)]
Total = Annotated[int | None, Field(ge=0, description="How many match; null with count=false")]

NAMES = (
    f"Names have 1 to {MAX_NAME} characters, no control character and no '.', and do not begin with '$'; objects and arrays "
    f"are nested at most {MAX_DEPTH} deep."
)
# Neither names nor depth are said as schemas: what generators make of those does not compile.
Data = TypeAliasType("Data", Annotated[dict[str, Any], Field(description=f"Free-form fields. {NAMES}")])


# The parameters that stand in paths, by their names.
PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "project_id": {
        "description": "The project's id.",
        "schema": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"},
        "example": "demo",
    },
    "name": {
        "description": "The collection's name.",
        "schema": {"type": "string", "pattern": f"^{COLLECTION_NAME.pattern}$"},
        "example": "books",
    },
    "provider": {
        "description": "The name of one of the project's providers.",
        "schema": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"},
        "example": "google",
    },
    "id": {"description": "The record's id.", "schema": ID_SCHEMA, "example": EXAMPLE_ID},
    "file_name": {
        "description": "The file's name, as it stands at the end of its URL.",
        "schema": {"type": "string", "pattern": r"^[a-z0-9-]{1,100}\.[a-z]{1,5}$"},
        "example": "demo-2b6a1f1c0d5e4c6f8a9b0c1d2e3f4a5b.png",
    },
}


class Strict(BaseModel):
    """A body that has its own fields and no others, each of its own type."""

    model_config = ConfigDict(strict=True, extra="forbid")


File = Annotated[bytes, WithJsonSchema({"type": "string", "format": "binary"})]


class FormParts(BaseModel):
    """A form is read part by part, see `web/http/multipart`; this says what the parts are."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"maxProperties": MAX_FILES + 1})
    __pydantic_extra__: dict[str, File]


def form_content(form: type[FormParts]) -> Content:
    return Content(type=form, media_type="multipart/form-data", encoding={"data": {"contentType": JSON}})


class ShownAs:
    """Marks a field whose value is judged elsewhere: in the document it has the shape of `type_`."""

    def __init__(self, type_: Any) -> None:
        self._type = type_

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(TypeAdapter(self._type).core_schema)


class _Shapes(GenerateJsonSchema):
    """pydantic's schemas without a title for each field; an answer has no fields but its own, unless it says so."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return {"additionalProperties": False, **super().typed_dict_schema(schema)}


# The keywords that hold values, not schemas. A set would order them otherwise in each process, and so would the document.
KEPT_AS_IS = ("examples", "enum", "const")


def schemas_of(types: Iterable[Any]) -> tuple[list[JsonSchemaValue], Mapping[str, Schema]]:
    """The schema of each type, which refers to components, and the components by their names."""
    inputs = [(str(place), "validation", TypeAdapter(type_)) for place, type_ in enumerate(types)]
    found, definitions = TypeAdapter.json_schemas(
        inputs,  # type: ignore[arg-type]
        ref_template="#/components/schemas/{model}",
        schema_generator=_Shapes,
    )
    return list(found.values()), {
        name: _with_defaults_told(each) for name, each in definitions.get("$defs", {}).items()
    }


def _with_defaults_told(schema: Any) -> Any:
    """Defaults in words: makers of types demand what has a `default`, in requests as in answers (openapi-typescript)."""
    if isinstance(schema, list):
        return [_with_defaults_told(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    told = {name: _with_defaults_told(value) for name, value in schema.items() if name not in KEPT_AS_IS}
    told |= {name: schema[name] for name in KEPT_AS_IS if name in schema}
    if not isinstance(told.get("default", {}), dict) and (default := told.pop("default")) is not None:
        words = [told["description"].removesuffix(".")] if "description" in told else []
        told["description"] = ". ".join([*words, f"`{json.dumps(default)}` where it is not sent"])
    return told
