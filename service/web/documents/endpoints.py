"""The documents of a declared collection over HTTP: specification section 4.3 and what completes it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ProjectCaller
from service.domain.documents.documents import ReplaceData, SetFields
from service.domain.documents.permitted import CallersDocuments, Written
from service.query.parse import parse_query
from service.services import Services
from service.web.documents.bodies import DocumentForm, document_view, list_view, written_version, written_view
from service.web.http.conditional import find_known, read_if_match
from service.web.http.json_body import read_object, validated
from service.web.http.render import json_response, tagged_response


async def create_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Add a document."""
    documents = await _permitted(request, caller, services, "create")
    return _answer(await documents.create(await _sent(request)), 201)


async def list_documents(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """List and query documents."""
    documents = await _permitted(request, caller, services, "read")
    return json_response(list_view(await documents.list(parse_query(request.scope["query_string"]))))


async def get_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Get one document."""
    documents = await _permitted(request, caller, services, "read")
    document = await documents.get(request.path_params["id"])
    asks = "if-none-match" in request.headers and documents.shows_by_version
    found = find_known(request.headers, document.version) if asks else None
    return found or tagged_response(document_view(document), document.version)


async def replace_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Give a document other data."""
    documents = await _permitted(request, caller, services, "update")
    return await _change(request, documents, ReplaceData(await _sent(request)))


async def merge_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Set some fields of a document."""
    documents = await _permitted(request, caller, services, "update")
    return await _change(request, documents, SetFields(await _sent(request)))


async def delete_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Delete a document."""
    documents = await _permitted(request, caller, services, "delete")
    await documents.delete(request.path_params["id"], read_if_match(request.headers))
    return Response(status_code=204)


async def _permitted(request: Request, caller: ProjectCaller, services: Services, action: str) -> CallersDocuments:
    return await services.permits.permit(caller, request.path_params["name"], action)


async def _change(request: Request, documents: CallersDocuments, change: ReplaceData | SetFields) -> Response:
    return _answer(await documents.change(request.path_params["id"], change, read_if_match(request.headers)))


def _answer(written: Written, status: int = 200) -> Response:
    return tagged_response(written_view(written), written_version(written), status)


async def _sent(request: Request) -> dict[str, Any]:
    return validated(DocumentForm, await read_object(request)).data
