"""Writing the documents of a declared collection over HTTP: specification section 4.3 and what completes it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request

from service.domain.access.caller import ProjectCaller
from service.domain.documents.documents import Documents
from service.domain.documents.writes import Precondition, Upsert, Upserted, Written
from service.domain.files.files import Submission
from service.domain.files.intake import DocumentFields
from service.domain.idempotency import Keep
from service.domain.permissions import Access
from service.errors import (
    CollectionNotFound,
    ConditionFailed,
    DocumentNotFound,
    DuplicateValue,
    Forbidden,
    Invalid,
)
from service.query.parse import parse_pairs
from service.schema.values import check_data
from service.services import Services
from service.storage.documents import ReplaceData, SetFields
from service.storage.ids import new_id
from service.web.documents.bodies import (
    ON_CONFLICT,
    DocumentChange,
    DocumentFiles,
    DocumentForm,
    WrittenDocument,
    read_change,
    read_upsert,
    reference_view,
    written_version,
    written_view,
)
from service.web.documents.examples import (
    CHANGED_MEANWHILE,
    CHANGES,
    CONFORM,
    WRITTEN,
)
from service.web.documents.reading import READ_ERRORS, by_rule, permit
from service.web.http.conditional import read_if_match
from service.web.http.forms import is_form, read_submission
from service.web.http.idempotency import Review, Sent, answer_once, find_key, is_reference, keep_small, refuse_form
from service.web.http.json_body import RequestWith, read_object, validated
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ETAG, IF_MATCH, ErrorExample, Parameter, Success
from service.web.openapi.endpoint import KeyUse


@asynccontextmanager
async def read_document_form(
    request: Request, caller: ProjectCaller, services: Services, owner: str
) -> AsyncIterator[Submission[None]]:
    """The contents of a form for the document `owner`; its files are removed again unless a document came to name them.

    Raises as `read_submission`, CollectionNotFound, and Invalid for an idempotency key.
    """
    if find_key(request) is not None:
        refuse_form(request)
    name = request.path_params["name"]
    fields = DocumentFields(name, (await services.documents.catalogs.get(caller.project, name)).fields)
    async with read_submission(request, services.files, caller.project, owner, _check, fields) as submission:
        yield submission


async def _check(fields: dict[str, Any]) -> None:
    """Before a byte behind the fields is read."""
    if violations := check_data(fields, ("body", "data")):
        raise Invalid(violations)


NEW = Success("The new document, defaults filled in", WRITTEN, ETAG)
WRITE_ERRORS = (CollectionNotFound, Forbidden, ErrorExample(DuplicateValue, "data.title"))
CHANGE_ERRORS = (*WRITE_ERRORS, DocumentNotFound, CHANGED_MEANWHILE)


@by_rule(
    "POST /api/collections/{name}/documents",
    operator=Access("data", "write"),
    description=CONFORM,
    body={"a book": {"data": {"title": "Les Misérables"}}},
    idempotency_key=KeyUse.TAKEN,
    answer=NEW,
    errors=WRITE_ERRORS,
)
async def create_document(
    request: RequestWith[DocumentForm | DocumentFiles], caller: ProjectCaller, services: Services
) -> Created[WrittenDocument]:
    """Add a document."""
    documents = await permit(request, caller, services, "create")

    if is_form(request):
        async with read_document_form(request, caller, services, new_id()) as sent:
            return _created(await documents.create(sent.data, id_=sent.owner, upload=sent.upload))

    # In quotes, or Python would work out what it means with each request.
    async def create(sent: Sent, keep: "Keep[Written] | None") -> Written:
        return await documents.create(_data(sent), keep)

    return await answer_once(
        request, caller, services.idempotency, write=create, render=_created, abridge=_KEEP, review=_review(documents)
    )


@by_rule(
    "PUT /api/collections/{name}/documents/{id}",
    operator=Access("data", "write"),
    description=CONFORM,
    parameters=(IF_MATCH,),
    body={"a book": {"data": {"title": "Les Misérables"}}},
    answer=Success("The document with its new data, defaults filled in", WRITTEN, ETAG),
    errors=CHANGE_ERRORS,
)
async def replace_document(
    request: RequestWith[DocumentForm | DocumentFiles], caller: ProjectCaller, services: Services
) -> Json[WrittenDocument]:
    """Give a document other data."""
    documents, id_ = await permit(request, caller, services, "update"), request.path_params["id"]
    precondition = Precondition(read_if_match(request.headers))
    if is_form(request):
        async with read_document_form(request, caller, services, id_) as sent:
            return _answer(await documents.change(id_, ReplaceData(sent.data), precondition, upload=sent.upload))
    return _answer(await documents.change(id_, ReplaceData(_data(await read_object(request))), precondition))


@by_rule(
    "PUT /api/collections/{name}/documents",
    operator=Access("data", "write"),
    description=f"In one step, whoever else writes. {CONFORM}",
    parameters=(
        Parameter(
            name="by",
            description="A unique field, of which `data` has a value.",
            schema={"type": "string"},
            example="isbn",
            required=True,
        ),
        Parameter(
            name="on_conflict",
            description="What becomes of a document that has this value: all its data is replaced, the fields sent are "
            "set, or it stays as it is.",
            schema={"type": "string", "enum": ON_CONFLICT, "default": ON_CONFLICT[0]},
        ),
    ),
    body={"a book": {"data": {"isbn": "2253096334", "title": "Les Misérables"}}},
    answer=(NEW, Success("The document that was there, as it is now", WRITTEN, ETAG)),
    errors=WRITE_ERRORS,
)
async def upsert_document(
    request: RequestWith[DocumentForm | DocumentFiles], caller: ProjectCaller, services: Services
) -> Created[WrittenDocument] | Json[WrittenDocument]:
    """Create a document, or change the one with the same value of a unique field."""
    documents = await permit(request, caller, services, "create")
    by, on_conflict = read_upsert(parse_pairs(request.scope["query_string"]))
    if is_form(request):
        async with read_document_form(request, caller, services, new_id()) as sent:
            upsert = Upsert(sent.data, by, on_conflict, id=sent.owner, upload=sent.upload)
            return _answer_upsert(await documents.upsert(upsert))
    return _answer_upsert(await documents.upsert(Upsert(_data(await read_object(request)), by, on_conflict)))


@by_rule(
    "PATCH /api/collections/{name}/documents/{id}",
    operator=Access("data", "write"),
    description="Sets the top-level fields named in `data`, changes others by operators, in one step with all that others do "
    f"at the same time, and leaves the rest. {CONFORM}",
    parameters=(IF_MATCH,),
    body=CHANGES,
    idempotency_key=KeyUse.TAKEN,
    answer=Success("The document afterwards", WRITTEN, ETAG),
    errors=(*CHANGE_ERRORS, ConditionFailed),
)
async def merge_document(
    request: RequestWith[DocumentChange | DocumentFiles], caller: ProjectCaller, services: Services
) -> Json[WrittenDocument]:
    """Change some fields of a document."""
    documents, id_ = await permit(request, caller, services, "update"), request.path_params["id"]
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


@by_rule(
    "DELETE /api/collections/{name}/documents/{id}",
    operator=Access("data", "write"),
    parameters=(IF_MATCH,),
    answer=Success("It is gone"),
    errors=(*READ_ERRORS, CHANGED_MEANWHILE),
)
async def delete_document(request: Request, caller: ProjectCaller, services: Services) -> NoContent:
    """Delete a document."""
    documents = await permit(request, caller, services, "delete")
    await documents.delete(request.path_params["id"], read_if_match(request.headers))
    return NoContent()


def _review(documents: Documents) -> Review:
    async def review(_: Sent, kept: Sent) -> Any:
        if is_reference(kept):
            return written_view(await documents.read_again(kept["id"]))
        return await documents.show_again(kept)

    return review


_KEEP = keep_small(reference_view)


def _answer(written: Written) -> Json[WrittenDocument]:
    view: Any = written_view(written)
    return Json(view, version=written_version(written))


def _created(written: Written) -> Created[WrittenDocument]:
    view: Any = written_view(written)
    return Created(view, version=written_version(written))


def _answer_upsert(upserted: Upserted) -> Created[WrittenDocument] | Json[WrittenDocument]:
    return _created(upserted.document) if upserted.is_created else _answer(upserted.document)


def _data(sent: Sent) -> dict[str, Any]:
    return validated(DocumentForm, sent).data
