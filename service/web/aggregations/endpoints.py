"""Aggregations over HTTP: of a collection, of users, and saved ones. `docs/aggregations.md` says what they mean."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.query.parse import parse_pairs
from service.query.shapes import USERS
from service.services import Services
from service.web.aggregations.bodies import definition_view, list_view, rows_view
from service.web.http.json_body import read_object
from service.web.http.render import json_response


async def aggregate_documents(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Group a collection's documents, and compute values of each group."""
    body = await read_object(request)
    return json_response(rows_view(await services.aggregations.run(caller, request.path_params["name"], body)))


async def aggregate_users(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Group users, and compute values of each group."""
    body = await read_object(request)
    return json_response(rows_view(await services.aggregations.run(caller, USERS.collection, body)))


async def list_aggregations(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List the saved aggregations."""
    return json_response(list_view(await services.aggregations.list(caller.project)))


async def save_aggregation(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Save an aggregation, in the place of the one of that name."""
    body = await read_object(request)
    saved = await services.aggregations.save(caller, request.path_params["name"], body)
    return json_response(definition_view(saved), 201 if saved.is_new else 200)


async def run_aggregation(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Run a saved aggregation."""
    pairs, name = parse_pairs(request.scope["query_string"]), request.path_params["name"]
    return json_response(rows_view(await services.aggregations.run_saved(caller, name, pairs)))


async def delete_aggregation(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Delete a saved aggregation."""
    await services.aggregations.delete(caller.project, request.path_params["name"])
    return Response(status_code=204)
