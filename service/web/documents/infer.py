"""A schema proposed from the beginning of a file, over HTTP."""

from typing import Any, Literal

from starlette.requests import Request
from typing_extensions import TypedDict

from service.bounds import MAX_INFER_BYTES
from service.domain.access.caller import OperatorCaller
from service.domain.documents.import_rows import FileFormat, Layout
from service.domain.documents.inference import infer_schema
from service.domain.permissions import Access
from service.errors import Invalid
from service.schema.inference import Column
from service.schema.values import BadValue
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.documents.imports import ANY_BYTES, DELIMITERS
from service.web.http.json_body import read_raw
from service.web.http.query_values import read_values
from service.web.http.render import Json, leaving_the_rest
from service.web.openapi.declaration import Content, Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import WholeNumber

EXAMPLE_COLUMN = {
    "header": "Published",
    "name": "Published",
    "type": "datetime",
    "empty": 2,
    "distinct": 998,
    "examples": ["1862-03-30", "1866-01-01", "1869-01-01"],
}


class InferredColumn(TypedDict):
    """A column by its `header`, as a field; `distinct` is the number of its values, `empty` that of rows without one."""

    header: str
    name: str
    type: Literal["string", "integer", "number", "boolean", "datetime", "object", "array"]
    empty: WholeNumber
    distinct: WholeNumber
    examples: list[str]


class InferredSchema(TypedDict):
    """`schema` is that of a collection; `rows` were looked at."""

    schema: dict[str, Any]
    columns: list[InferredColumn]
    rows: WholeNumber


@endpoint(
    f"POST {IN_PROJECT}/infer",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("schema", "write"),
    description="The first MiB of a file is enough: its last line is left out then. Up to 1,000 rows of 200 columns are looked "
    "at, and nothing is stored.",
    parameters=(
        Parameter(
            name="format",
            description="The form of the file, as an import takes it.",
            schema={"type": "string", "enum": ["csv", "ndjson"]},
            required=True,
            example="csv",
        ),
        Parameter(
            name="delimiter",
            description="The character between the cells of CSV.",
            schema={"type": "string", "enum": [",", ";", "\t", "tab"], "default": ","},
            example=";",
        ),
    ),
    body=(Content(media_type=ANY_BYTES, schema={"type": "string", "format": "binary"}),),
    max_body=MAX_INFER_BYTES,
    answer=Success(
        "A schema, and what it was made from",
        {"one": {"schema": {"Published": {"type": "datetime"}}, "columns": [EXAMPLE_COLUMN], "rows": 1_000}},
    ),
)
async def infer(request: Request, caller: OperatorCaller, services: Services) -> Json[InferredSchema]:
    """Propose a schema for a file."""
    values = read_values(request.scope["query_string"], READERS)
    if "format" not in values:
        raise Invalid.one(("query", "format"), "This is missing", type_="missing")
    layout = Layout(FileFormat(values["format"]), values.get("delimiter", ","))
    with leaving_the_rest(request):
        raw = await read_raw(request)
    found = await infer_schema(raw, layout)
    columns: list[Any] = [_show(column) for column in found.columns]
    schema = {column.name: {"type": column.type} for column in found.columns}
    return Json({"schema": schema, "columns": columns, "rows": found.rows})


def _show(column: Column) -> dict[str, Any]:
    return {
        "header": column.header,
        "name": column.name,
        "type": column.type,
        "empty": column.empty,
        "distinct": len(column.values),
        "examples": column.examples,
    }


def _read_format(text: str) -> str:
    if text not in {each.value for each in FileFormat}:
        raise BadValue("must be csv or ndjson")
    return text


def _read_delimiter(text: str) -> str:
    if text not in DELIMITERS:
        raise BadValue("must be a comma, a semicolon (%3B) or a tab (%09)")
    return DELIMITERS[text]


READERS = {"format": _read_format, "delimiter": _read_delimiter}
