"""Members of every list beside its records, the answer of `distinct`, and the parameters of lists paged by cursor."""

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from service.bounds import MAX_CAPPED, MAX_DISTINCT
from service.domain.lists import Listing
from service.domain.lists import TotalIs as Kind
from service.web.openapi.declaration import Parameter, Schema
from service.web.openapi.shapes import Limit, Offset, Total

EXAMPLE_CURSOR = "WyJSMmpqa3F3SGZ0RWUiLHsiZCI6MTc2OTg2MDgwMDAwMH0sIjY2ZjBjMWEyYjNjNGQ1ZTZmN2E4YjljMCJd"
TotalIs = Annotated[
    Kind,
    Field(description=f"With count=estimated and count=capped; at_least where more than {MAX_CAPPED:,} match"),
]
Next = Annotated[str | None, Field(description="With cursor: that of the next page, null at the end")]

Counts = Annotated[
    dict[str, int], Field(description="With `with_counts`: its names, and how many records refer to this one")
]


class PageDescription(TypedDict):
    """With a cursor there is `next` in place of `offset`."""

    total: Total
    total_is: NotRequired[TotalIs]
    limit: Limit
    offset: NotRequired[Offset]
    next: NotRequired[Next]


class DistinctValues(TypedDict):
    values: Annotated[list[Any], Field(max_length=MAX_DISTINCT)]
    truncated: Annotated[bool, Field(description="Whether there are more")]


def describe_page(listing: Listing) -> PageDescription:
    described: PageDescription = {"total": listing.total, "limit": listing.limit}
    if listing.total_is is not None:
        described = {"total": listing.total, "total_is": listing.total_is, "limit": listing.limit}
    if listing.by_cursor:
        described["next"] = listing.next
    else:
        described["offset"] = listing.offset
    return described


def distinct_view(values: Sequence[Any]) -> DistinctValues:
    return {"values": list(values[:MAX_DISTINCT]), "truncated": len(values) > MAX_DISTINCT}


DEFAULT_LIMIT, MAX_LIMIT = 50, 200
TIME: Schema = {"type": "string", "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"}
PAGE_PARAMETERS = (
    Parameter(
        name="limit",
        description="Page size.",
        schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    ),
    Parameter(name="cursor", description="The `next` of the page before.", schema={"type": "string"}),
)
