"""The documents of a declared collection over HTTP: specification section 4.3 and what completes it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ProjectCaller
from service.domain.documents.permitted import CallersDocuments
from service.query.parse import parse_query
from service.services import Services
from service.web.documents.bodies import DocumentForm, document_view, list_view, written_view
from service.web.http.json_body import read_object, validated
from service.web.http.render import json_response


async def create_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Add a document."""
    documents = await _permitted(request, caller, services, "create")
    return json_response(written_view(await documents.create(await _sent(request))), 201)


async def list_documents(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """List and query documents."""
    documents = await _permitted(request, caller, services, "read")
    return json_response(list_view(await documents.list(parse_query(request.scope["query_string"]))))


async def get_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Get one document."""
    documents = await _permitted(request, caller, services, "read")
    return json_response(document_view(await documents.get(request.path_params["id"])))


async def replace_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Give a document other data."""
    documents = await _permitted(request, caller, services, "update")
    return json_response(written_view(await documents.replace(request.path_params["id"], await _sent(request))))


async def merge_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Set some fields of a document."""
    documents = await _permitted(request, caller, services, "update")
    return json_response(written_view(await documents.merge(request.path_params["id"], await _sent(request))))


async def delete_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Delete a document."""
    documents = await _permitted(request, caller, services, "delete")
    await documents.delete(request.path_params["id"])
    return Response(status_code=204)


async def _permitted(request: Request, caller: ProjectCaller, services: Services, action: str) -> CallersDocuments:
    return await services.permits.permit(caller, request.path_params["name"], action)


async def _sent(request: Request) -> dict[str, Any]:
    return validated(DocumentForm, await read_object(request)).data
