"""The documents of a declared collection over HTTP: specification section 4.3 and what completes it."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.documents.documents import Documents
from service.domain.documents.writes import Precondition, Upsert, Upserted, Written
from service.domain.idempotency import Keep
from service.query.parse import parse_distinct, parse_pairs, parse_query
from service.services import Services
from service.storage.documents import ReplaceData, SetFields
from service.storage.ids import new_id
from service.web.documents.bodies import (
    DocumentForm,
    document_view,
    list_view,
    read_change,
    read_upsert,
    reference_view,
    written_version,
    written_view,
)
from service.web.documents.forms import read_document_form
from service.web.http.conditional import find_known, read_if_match
from service.web.http.forms import is_form
from service.web.http.idempotency import Review, Sent, answer_once, is_reference, keep_small
from service.web.http.json_body import read_object, validated
from service.web.http.list_body import located_in_body, read_list_body
from service.web.http.render import json_response, tagged_response
from service.web.openapi.lists import distinct_view


async def create_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Add a document."""
    documents = await _permitted(request, caller, services, "create")

    if is_form(request):
        async with read_document_form(request, caller, services, new_id()) as sent:
            return _answer(await documents.create(sent.data, id_=sent.owner, upload=sent.upload), 201)

    # In quotes, or Python would work out what it means with each request.
    async def create(sent: Sent, keep: "Keep[Written] | None") -> Written:
        return await documents.create(_data(sent), keep)

    render = partial(_answer, status=201)
    return await answer_once(
        request, caller, services.idempotency, write=create, render=render, abridge=_KEEP, review=_review(documents)
    )


async def list_documents(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """List and query documents."""
    documents = await _permitted(request, caller, services, "read")
    return json_response(list_view(await documents.list(parse_query(request.scope["query_string"]))))


async def query_documents(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """List and query documents with conditions in the body."""
    documents = await _permitted(request, caller, services, "read")
    with located_in_body():
        return json_response(list_view(await documents.list(await read_list_body(request))))


async def distinct_documents(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List the values of a field of documents."""
    path, query = parse_distinct(request.scope["query_string"])
    documents = await _permitted(request, caller, services, "read")
    return json_response(distinct_view(await documents.distinct(path, query)))


async def get_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Get one document."""
    documents = await _permitted(request, caller, services, "read")
    document = await documents.get(request.path_params["id"])
    asks = (
        "if-none-match" in request.headers
        and not documents.permissions.has_field_rules
        and not document.has_signed_urls
    )
    found = find_known(request.headers, document.version) if asks else None
    return found or tagged_response(document_view(document), document.version)


async def replace_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Give a document other data."""
    documents, id_ = await _permitted(request, caller, services, "update"), request.path_params["id"]
    precondition = Precondition(read_if_match(request.headers))
    if is_form(request):
        async with read_document_form(request, caller, services, id_) as sent:
            return _answer(await documents.change(id_, ReplaceData(sent.data), precondition, upload=sent.upload))
    return _answer(await documents.change(id_, ReplaceData(_data(await read_object(request))), precondition))


async def upsert_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Create a document, or change the one with the same value of a unique field."""
    documents = await _permitted(request, caller, services, "create")
    by, on_conflict = read_upsert(parse_pairs(request.scope["query_string"]))
    if is_form(request):
        async with read_document_form(request, caller, services, new_id()) as sent:
            upsert = Upsert(sent.data, by, on_conflict, id=sent.owner, upload=sent.upload)
            return _answer_upsert(await documents.upsert(upsert))
    return _answer_upsert(await documents.upsert(Upsert(_data(await read_object(request)), by, on_conflict)))


async def merge_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Change some fields of a document."""
    documents, id_ = await _permitted(request, caller, services, "update"), request.path_params["id"]
    if is_form(request):
        precondition = Precondition(read_if_match(request.headers))
        async with read_document_form(request, caller, services, id_) as sent:
            return _answer(await documents.change(id_, SetFields(sent.data), precondition, upload=sent.upload))

    async def merge(sent: Sent, keep: "Keep[Written] | None") -> Written:
        wanted = read_change(sent)
        precondition = Precondition(read_if_match(request.headers), wanted.where)
        return await documents.change(id_, wanted.change, precondition, keep)

    return await answer_once(
        request, caller, services.idempotency, write=merge, render=_answer, abridge=_KEEP, review=_review(documents)
    )


async def delete_document(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Delete a document."""
    documents = await _permitted(request, caller, services, "delete")
    await documents.delete(request.path_params["id"], read_if_match(request.headers))
    return Response(status_code=204)


async def _permitted(request: Request, caller: ProjectCaller, services: Services, action: str) -> Documents:
    return Documents(await services.documents.permit(caller, request.path_params["name"], action))


def _review(documents: Documents) -> Review:
    async def review(_: Sent, kept: Sent) -> Any:
        if is_reference(kept):
            return written_view(await documents.read_again(kept["id"]))
        return await documents.show_again(kept)

    return review


_KEEP = keep_small(reference_view)


def _answer(written: Written, status: int = 200) -> Response:
    return tagged_response(written_view(written), written_version(written), status)


def _answer_upsert(upserted: Upserted) -> Response:
    return _answer(upserted.document, 201 if upserted.is_created else 200)


def _data(sent: Sent) -> dict[str, Any]:
    return validated(DocumentForm, sent).data
