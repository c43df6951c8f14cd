"""A list that is asked for with a body: the same query as in a query string, with typed values."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from service.bounds import MAX_CHOSEN, MAX_COUNTS, MAX_CURSOR, MAX_LIMIT, MAX_POPULATE, MAX_SORT_KEYS
from service.errors import Invalid
from service.query.names import NAME, PATH, RELATION
from service.query.nodes import ListQuery
from service.query.options import COUNTED_NAME, MAX_OFFSET
from service.query.parse import parse_body
from service.web.http.json_body import read_object, validated

Where = Annotated[
    dict[str, Any],
    Field(
        description="Conditions `<field>_<operator>` with typed values, all of which must hold; `and` and `or` take lists of "
        "such objects, `not` takes one."
    ),
]
FieldName = Annotated[str, Field(json_schema_extra={"pattern": rf"^{PATH}$"})]
SortName = Annotated[str, Field(json_schema_extra={"pattern": rf"^-?(data\.)?{NAME}$"})]
CountedName = Annotated[str, Field(json_schema_extra={"pattern": f"^{COUNTED_NAME.pattern}$"})]
RelationName = Annotated[str, Field(json_schema_extra={"pattern": rf"^(\*|{RELATION})$"})]


class ListForm(BaseModel):
    """What a list is to show; each part may be left out: only those in `model_fields_set` are read."""

    model_config = ConfigDict(strict=True, extra="forbid")

    where: Where = Field(default_factory=dict)
    fields: Annotated[
        list[FieldName],
        Field(min_length=1, max_length=MAX_CHOSEN, description="What is shown of `data`; all of it without them"),
    ] = Field(default_factory=list)
    populate: Annotated[list[RelationName], Field(max_length=MAX_POPULATE)] = Field(default_factory=list)
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = ListQuery().limit
    sort_by: Annotated[
        list[SortName],
        Field(
            min_length=1, max_length=MAX_SORT_KEYS, description="`-` before a field descends; oldest first without them"
        ),
    ] = Field(default_factory=list)
    count: Annotated[
        bool | Literal["exact", "none", "estimated", "capped"],
        Field(description="What the total is to be; exact without it, and none with a cursor"),
    ] = Field(default_factory=bool)
    cursor: Annotated[
        str,
        Field(min_length=1, max_length=MAX_CURSOR, description="`*`, or the `next` of a page; in place of an offset"),
    ] = Field(default_factory=str)
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = ListQuery().offset
    with_counts: Annotated[
        list[CountedName],
        Field(
            min_length=1, max_length=MAX_COUNTS, description="Collections whose records that refer to these are counted"
        ),
    ] = Field(default_factory=list)


async def read_list_body(request: Request) -> ListQuery:
    """Raises Invalid, UnsupportedMedia, TooLarge."""
    form = validated(ListForm, await read_object(request))
    return parse_body({name: getattr(form, name) for name in form.model_fields_set})


@contextmanager
def located_in_body() -> Iterator[None]:
    """Puts the faults of query parameters into the body, where the values are."""
    try:
        yield
    except Invalid as invalid:
        found = (replace(each, loc=("body", *each.loc[1:])) for each in invalid.violations)
        raise Invalid(found, omitted=invalid.omitted) from None
