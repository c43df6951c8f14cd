"""Aggregations over HTTP: of a collection, of users, and saved ones. `docs/aggregations.md` says what they mean."""

from functools import partial

from starlette.requests import Request

from service.bounds import MAX_AGGREGATION_BYTES, MAX_AGGREGATIONS
from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.limits.policies import AUTH, DAILY
from service.domain.permissions import Access
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
from service.query.parse import parse_pairs
from service.query.shapes import USERS
from service.services import Services
from service.web.aggregations.bodies import (
    BY_DOMAIN,
    DEFINITION,
    NAME,
    REVENUE,
    ROWS,
    SAVED,
    Aggregation,
    AggregationDefinition,
    AggregationList,
    AggregationRows,
    SavedAggregation,
    definition_view,
    list_view,
    rows_view,
)
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_object
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.shapes import EXAMPLE_TIME

FOUND = Success("The rows, in their order", ROWS)
CONFLICT = ErrorExample(
    AggregationConflict, [Violation(("aggregate", "group", "city"), "There is no such field", "value_error")]
)
SLOW = (QueryTooSlow, Busy, ErrorExample(AggregationTooLarge))

by_server = partial(endpoint, credential=Credential.API_KEY, policy=DAILY, tag=Tag.AGGREGATIONS)
aggregates = partial(
    by_server,
    description="Keys are fields of the documents, or of records that they refer to, as they are or in buckets of dates and "
    "numbers; values are counts, sums, averages, least and greatest. The secret key only.",
    idempotency_key=KeyUse.IGNORED,
)


@aggregates(
    "POST /api/collections/{name}/aggregate",
    operator=Access("data", "read"),
    body={"revenue by month and city": REVENUE},
    answer=FOUND,
    errors=(CollectionNotFound, *SLOW),
)
async def aggregate_documents(
    request: RequestWith[Aggregation], caller: SecretKeyCaller, services: Services
) -> Json[AggregationRows]:
    """Group a collection's documents, and compute values of each group."""
    body = await read_object(request)
    return Json(rows_view(await services.aggregations.run(caller, request.path_params["name"], body)))


@aggregates(
    "POST /auth-collections/users/aggregate",
    operator=Access("users", "read"),
    policy=AUTH,
    body={"users who are verified, and not": BY_DOMAIN},
    answer=Success(
        FOUND.description,
        {"of all": {"rows": [{"verified": None, "users": 12, "first": EXAMPLE_TIME}], "limit": 100}},
    ),
    errors=SLOW,
)
async def aggregate_users(
    request: RequestWith[Aggregation], caller: SecretKeyCaller, services: Services
) -> Json[AggregationRows]:
    """Group users, and compute values of each group."""
    body = await read_object(request)
    return Json(rows_view(await services.aggregations.run(caller, USERS.collection, body)))


@by_server(
    "GET /api/aggregations",
    operator=Access("data", "read"),
    answer=Success("All of them, by name", {"one": {"aggregations": [SAVED], "total": 1}}),
)
async def list_aggregations(request: Request, caller: SecretKeyCaller, services: Services) -> Json[AggregationList]:
    """List the saved aggregations."""
    return Json(list_view(await services.aggregations.list(caller.project)))


@by_server(
    "PUT /api/aggregations/{name}",
    operator=Access("schema", "write"),
    description='A value in `where` or `having` that is `"$name"` stands for a parameter. The definition is tried before it is '
    "saved.",
    path_parameters=NAME,
    body={"orders by status": DEFINITION},
    max_body=MAX_AGGREGATION_BYTES,
    answer=(
        Success("A new one", {"orders by status": SAVED}),
        Success("In the place of another", {"orders by status": SAVED}),
    ),
    errors=(CollectionNotFound, ErrorExample(AggregationLimit, MAX_AGGREGATIONS), *SLOW),
)
async def save_aggregation(
    request: RequestWith[AggregationDefinition], caller: SecretKeyCaller, services: Services
) -> Created[SavedAggregation] | Json[SavedAggregation]:
    """Save an aggregation, in the place of the one of that name."""
    body = await read_object(request)
    saved = await services.aggregations.save(caller, request.path_params["name"], body)
    view = definition_view(saved)
    return Created(view) if saved.is_new else Json(view)


@endpoint(
    "GET /api/aggregations/{name}",
    operator=Access("data", "read"),
    credential=Credential.BY_RULE,
    policy=DAILY,
    tag=Tag.AGGREGATIONS,
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
    answer=FOUND,
    errors=(AggregationNotFound, CollectionNotFound, Forbidden, Unauthorized, CONFLICT, *SLOW),
)
async def run_aggregation(request: Request, caller: ProjectCaller, services: Services) -> Json[AggregationRows]:
    """Run a saved aggregation."""
    pairs, name = parse_pairs(request.scope["query_string"]), request.path_params["name"]
    return Json(rows_view(await services.aggregations.run_saved(caller, name, pairs)))


@by_server(
    "DELETE /api/aggregations/{name}",
    operator=Access("schema", "write"),
    path_parameters=NAME,
    answer=Success("It is gone"),
    errors=(AggregationNotFound,),
)
async def delete_aggregation(request: Request, caller: SecretKeyCaller, services: Services) -> NoContent:
    """Delete a saved aggregation."""
    await services.aggregations.delete(caller.project, request.path_params["name"])
    return NoContent()
