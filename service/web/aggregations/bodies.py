"""Bodies and answers of the endpoints of aggregations.

The domain judges the bodies; these are their form for the document.
"""

from typing import Annotated, Any, Literal, NotRequired, Required

from pydantic import Field
from typing_extensions import TypedDict

from service.bounds import MAX_GROUP_KEYS, MAX_GROUP_VALUES, MAX_ROWS, MAX_SORT_KEYS
from service.domain.aggregations.aggregations import Definition
from service.domain.aggregations.runs import Rows
from service.schema.options import COLLECTION_NAME
from service.web.openapi.declaration import Schema
from service.web.openapi.shapes import EXAMPLE_TIME, Time, WholeNumber

REVENUE = {
    "where": {"status_eq": "paid"},
    "group": {
        "month": {"field": "created_at", "every": "month", "timezone": "Europe/Paris"},
        "city": "buyer.city",
    },
    "values": {"orders": "count", "revenue": {"sum": "total"}, "buyers": {"count_distinct": "buyer_id"}},
    "having": {"revenue_gte": 100},
    "sort_by": ["-revenue"],
    "limit": 100,
}
ROW = {"month": "2026-01-31T23:00:00.000Z", "city": "Paris", "orders": 12, "revenue": 340, "buyers": 7}
ROWS = {"revenue by month and city": {"rows": [ROW], "limit": 100}}
BY_DOMAIN = {
    "group": {"verified": "data.is_verified"},
    "values": {"users": "count", "first": {"min": "created_at"}},
}
DEFINITION = {
    "collection": "orders",
    "aggregate": {"where": {"total_gte": "$least"}, "group": {"status": "status"}, "values": {"orders": "count"}},
    "parameters": {"least": {"type": "number"}},
    "run": "users",
}
SAVED = {"name": "orders_by_status", **DEFINITION, "created_at": EXAMPLE_TIME, "updated_at": EXAMPLE_TIME}
NAME: dict[str, Schema] = {
    "name": {
        "description": "The aggregation's name.",
        "schema": {"type": "string", "pattern": f"^{COLLECTION_NAME.pattern}$"},
        "example": "orders_by_status",
    }
}

RowLimit = Annotated[int, Field(ge=1, le=MAX_ROWS)]
ParameterType = Literal["string", "integer", "number", "boolean", "datetime"]


class GroupKey(TypedDict, total=False):
    """A field, also along relations; of an array each element; of dates and numbers the bucket."""

    field: Required[str]
    each: bool
    every: Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
    timezone: Annotated[str, Field(description="As in Europe/Paris, or +05:30; UTC where none is sent")]
    step: Annotated[float, Field(gt=0)]


class GroupValue(TypedDict, total=False):
    """One of them, of a field."""

    count_distinct: str
    sum: str
    avg: str
    min: str
    max: str


class Aggregation(TypedDict, total=False):
    """docs/aggregations.md has the language."""

    where: Annotated[dict[str, Any], Field(description="Which records, as in a query")]
    group: Annotated[dict[str, str | GroupKey], Field(max_length=MAX_GROUP_KEYS)]
    values: Annotated[dict[str, Literal["count"] | GroupValue], Field(max_length=MAX_GROUP_VALUES)]
    having: Annotated[dict[str, Any], Field(description="Which rows, by their columns")]
    sort_by: Annotated[list[str], Field(max_length=MAX_SORT_KEYS, description="Columns; behind a - they descend")]
    limit: RowLimit


class AggregationRows(TypedDict):
    rows: Annotated[list[dict[str, Any]], Field(description="Each with the keys of the group, and the values")]
    limit: RowLimit


class AggregationParameter(TypedDict):
    type: ParameterType


class AggregationDefinition(TypedDict, total=False):
    """`run` says who may run it besides the secret key: "anyone", "users", or a rule on `$user`."""

    collection: Required[Annotated[str, Field(description="The name of a collection, or users")]]
    aggregate: Required[Aggregation]
    parameters: dict[str, AggregationParameter]
    run: Any


class SavedAggregation(TypedDict):
    name: str
    collection: str
    aggregate: dict[str, Any]
    parameters: dict[str, Any]
    run: NotRequired[Any]
    created_at: Time
    updated_at: Time


class AggregationList(TypedDict):
    aggregations: list[SavedAggregation]
    total: WholeNumber


def rows_view(found: Rows) -> AggregationRows:
    return {"rows": found.rows, "limit": found.limit}


def definition_view(saved: Definition) -> SavedAggregation:
    view: SavedAggregation = {
        "name": saved.name,
        "collection": saved.collection,
        "aggregate": dict(saved.aggregate),
        "parameters": dict(saved.parameters),
        "created_at": saved.created_at,
        "updated_at": saved.updated_at,
    }
    return view if saved.run is None else {**view, "run": saved.run}


def list_view(saved: list[Definition]) -> AggregationList:
    return {"aggregations": [definition_view(each) for each in saved], "total": len(saved)}
