"""The declarations of web/aggregations."""

from dataclasses import replace

from service.bounds import MAX_AGGREGATIONS
from service.errors import (
    AggregationConflict,
    AggregationLimit,
    AggregationNotFound,
    AggregationTooLarge,
    Busy,
    CollectionNotFound,
    Forbidden,
    QueryTooSlow,
    Unauthorized,
    Violation,
)
from service.schema.options import COLLECTION_NAME
from service.web.aggregations.bodies import (
    Aggregation,
    AggregationDefinition,
    AggregationList,
    AggregationRows,
    SavedAggregation,
)
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, Parameter, Schema, SuccessResponse

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
ROWS = Content(type=AggregationRows, examples={"revenue by month and city": {"rows": [ROW], "limit": 100}})
FOUND = SuccessResponse(description="The rows, in their order", content=(ROWS,))
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
SAVED = {"name": "orders_by_status", **DEFINITION, "created_at": shapes.EXAMPLE_TIME, "updated_at": shapes.EXAMPLE_TIME}
NAME: dict[str, Schema] = {
    "name": {
        "description": "The aggregation's name.",
        "schema": {"type": "string", "pattern": f"^{COLLECTION_NAME.pattern}$"},
        "example": "orders_by_status",
    }
}
CONFLICT = ErrorExample(
    AggregationConflict, [Violation(("aggregate", "group", "city"), "There is no such field", "value_error")]
)
SLOW = (QueryTooSlow, Busy, ErrorExample(AggregationTooLarge))

AGGREGATE_DOCUMENTS = Operation(
    id="aggregateDocuments",
    tag=tags.AGGREGATIONS,
    description="Keys are fields of the documents, or of records that they refer to, as they are or in buckets of dates and "
    "numbers; values are counts, sums, averages, least and greatest. The secret key only.",
    body=(Content(type=Aggregation, examples={"revenue by month and city": REVENUE}),),
    answers=(FOUND,),
    errors=(CollectionNotFound, *SLOW),
)
AGGREGATE_USERS = replace(
    AGGREGATE_DOCUMENTS,
    id="aggregateUsers",
    body=(Content(type=Aggregation, examples={"users who are verified, and not": BY_DOMAIN}),),
    answers=(
        SuccessResponse(
            description="The rows, in their order",
            content=(
                Content(
                    type=AggregationRows,
                    examples={
                        "of all": {
                            "rows": [{"verified": None, "users": 12, "first": shapes.EXAMPLE_TIME}],
                            "limit": 100,
                        }
                    },
                ),
            ),
        ),
    ),
    errors=SLOW,
)
LIST = Operation(
    id="listAggregations",
    tag=tags.AGGREGATIONS,
    answers=(
        SuccessResponse(
            description="All of them, by name",
            content=(Content(type=AggregationList, examples={"one": {"aggregations": [SAVED], "total": 1}}),),
        ),
    ),
)
SAVE = Operation(
    id="saveAggregation",
    tag=tags.AGGREGATIONS,
    description='A value in `where` or `having` that is `"$name"` stands for a parameter. The definition is tried before it is '
    "saved.",
    path_parameters=NAME,
    body=(Content(type=AggregationDefinition, examples={"orders by status": DEFINITION}),),
    answers=(
        SuccessResponse(
            status=201,
            description="A new one",
            content=(Content(type=SavedAggregation, examples={"orders by status": SAVED}),),
        ),
        SuccessResponse(
            description="In the place of another",
            content=(Content(type=SavedAggregation, examples={"orders by status": SAVED}),),
        ),
    ),
    errors=(CollectionNotFound, ErrorExample(AggregationLimit, MAX_AGGREGATIONS), *SLOW),
)
RUN = Operation(
    id="runAggregation",
    tag=tags.AGGREGATIONS,
    description="Each parameter of the definition is sent. Users and guests run what its `run` allows them, over the records "
    "and fields that they may read.",
    path_parameters=NAME,
    parameters=(
        Parameter(
            name="parameters",
            description="The parameters that the definition declares, each by its name.",
            schema={"type": "object", "additionalProperties": {"type": "string"}},
            example={"least": "10"},
        ),
    ),
    answers=(FOUND,),
    errors=(AggregationNotFound, CollectionNotFound, Forbidden, Unauthorized, CONFLICT, *SLOW),
)
DELETE = Operation(
    id="deleteAggregation",
    tag=tags.AGGREGATIONS,
    path_parameters=NAME,
    answers=(SuccessResponse(status=204, description="It is gone"),),
    errors=(AggregationNotFound,),
)
