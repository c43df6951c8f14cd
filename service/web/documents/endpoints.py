"""The documents of a declared collection over HTTP: specification section 4.3 and what completes it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller
from service.query.parse import parse_query
from service.web.documents.bodies import DocumentForm, document_view, list_view
from service.web.http.json_body import read_object, validated
from service.web.http.render import json_response
from service.web.http.services import services


async def create_document(request: Request, caller: SecretKeyCaller) -> Response:
    """Add a document."""
    name, data = await _sent(request)
    return json_response(document_view(await services(request).documents.create(caller.project, name, data)), 201)


async def list_documents(request: Request, caller: SecretKeyCaller) -> Response:
    """List and query documents."""
    query = parse_query(request.scope["query_string"])
    found = await services(request).documents.list(caller.project, request.path_params["name"], query)
    return json_response(list_view(found))


async def get_document(request: Request, caller: SecretKeyCaller) -> Response:
    """Get one document."""
    return json_response(document_view(await services(request).documents.get(caller.project, *_names(request))))


async def replace_document(request: Request, caller: SecretKeyCaller) -> Response:
    """Give a document other data."""
    _, data = await _sent(request)
    return json_response(
        document_view(await services(request).documents.replace(caller.project, *_names(request), data))
    )


async def merge_document(request: Request, caller: SecretKeyCaller) -> Response:
    """Set some fields of a document."""
    _, data = await _sent(request)
    return json_response(document_view(await services(request).documents.merge(caller.project, *_names(request), data)))


async def delete_document(request: Request, caller: SecretKeyCaller) -> Response:
    """Delete a document."""
    await services(request).documents.delete(caller.project, *_names(request))
    return Response(status_code=204)


def _names(request: Request) -> tuple[str, str]:
    return request.path_params["name"], request.path_params["id"]


async def _sent(request: Request) -> tuple[str, dict[str, Any]]:
    form = validated(DocumentForm, await read_object(request))
    return request.path_params["name"], form.data
