"""A list that is asked for with a body: the same query as in a query string, with typed values."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from service.bounds import MAX_LIMIT, MAX_POPULATE
from service.errors import Invalid
from service.query.names import RELATION
from service.query.nodes import ListQuery
from service.query.parse import MAX_OFFSET, parse_body
from service.web.http.json_body import read_object, validated

Where = Annotated[
    dict[str, Any],
    Field(
        description="Conditions `<field>_<operator>` with typed values, all of which must hold; `and` and `or` take lists of "
        "such objects, `not` takes one."
    ),
]
RelationName = Annotated[str, Field(json_schema_extra={"pattern": rf"^(\*|{RELATION})$"})]


class ListForm(BaseModel):
    """What a list is to show; each part may be left out."""

    model_config = ConfigDict(strict=True, extra="forbid")

    where: Where = Field(default_factory=dict)
    populate: Annotated[list[RelationName], Field(max_length=MAX_POPULATE)] = Field(default_factory=list)
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = ListQuery().limit
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = ListQuery().offset


async def read_list_body(request: Request) -> ListQuery:
    """Raises Invalid, UnsupportedMedia, TooLarge."""
    form = validated(ListForm, await read_object(request))
    return parse_body({name: getattr(form, name) for name in form.model_fields_set})


@contextmanager
def located_in_body() -> Iterator[None]:
    """What is refused as a parameter of a query string stands in the body."""
    try:
        yield
    except Invalid as invalid:
        found = (replace(each, loc=("body", *each.loc[1:])) for each in invalid.violations)
        raise Invalid(found, omitted=invalid.omitted) from None
