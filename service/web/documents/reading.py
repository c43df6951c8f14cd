"""Reading the documents of a declared collection over HTTP: specification section 4.3."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.documents.documents import Documents
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import (
    CollectionNotFound,
    DocumentNotFound,
    Forbidden,
    QueryTooSlow,
)
from service.query.parse import parse_counts, parse_distinct, parse_query
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.documents.bodies import (
    Document,
    DocumentList,
    document_view,
    list_view,
)
from service.web.documents.examples import (
    CONDITIONS,
    FILTERS,
    ONE,
    PAGE,
)
from service.web.http.conditional import Unchanged, find_known
from service.web.http.json_body import RequestWith
from service.web.http.list_body import ListForm, located_in_body, read_list_body
from service.web.http.render import Json
from service.web.openapi.declaration import ETAG, IF_NONE_MATCH, NOT_MODIFIED, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.lists import DistinctValues, distinct_view
from service.web.openapi.query_parameters import COUNTS_PARAMETER, distinct_parameters, list_parameters
from service.web.realtime.event_streams import follow_documents

READ_ERRORS = (CollectionNotFound, DocumentNotFound, Forbidden)

by_rule = partial(endpoint, credential=Credential.BY_RULE, policy=DAILY, tag=Tag.DOCUMENTS)
lists = partial(
    by_rule, answer=Success("One page of documents", PAGE), errors=(CollectionNotFound, Forbidden, QueryTooSlow)
)
by_query = partial(
    lists,
    description="As the list, with conditions that `and`, `or` and `not` join. The method QUERY takes the same at "
    "`/api/collections/{name}/documents`.",
    body={"either": CONDITIONS},
    idempotency_key=KeyUse.IGNORED,
)


@lists(
    "GET /api/collections/{name}/documents",
    operator=Access("data", "read"),
    description="Filters, sorting and populate take the fields and references that the schema declares.",
    parameters=list_parameters(FILTERS, "author"),
    events=follow_documents,
)
async def list_documents(request: Request, caller: ProjectCaller, services: Services) -> Json[DocumentList]:
    """List and query documents."""
    documents = await permit(request, caller, services, "read")
    return Json(list_view(await documents.list(parse_query(request.scope["query_string"]))))


@by_query("POST /api/collections/{name}/query", operator=Access("data", "read"))
@by_query("QUERY /api/collections/{name}/documents", operator=Access("data", "read"))
async def query_documents(
    request: RequestWith[ListForm], caller: ProjectCaller, services: Services
) -> Json[DocumentList]:
    """List and query documents with conditions in the body."""
    documents = await permit(request, caller, services, "read")
    with located_in_body():
        return Json(list_view(await documents.list(await read_list_body(request))))


@endpoint(
    "GET /api/collections/{name}/distinct",
    operator=Access("data", "read"),
    credential=Credential.API_KEY,
    policy=DAILY,
    tag=Tag.DOCUMENTS,
    description="Each scalar once, elements of arrays one by one, in MongoDB's order; nulls are left out.",
    parameters=distinct_parameters("title", FILTERS),
    answer=Success("The first values", {"titles": {"values": ["Les Misérables"], "truncated": False}}),
    errors=(CollectionNotFound, QueryTooSlow),
)
async def distinct_document_values(
    request: Request, caller: SecretKeyCaller, services: Services
) -> Json[DistinctValues]:
    """List the values of a field of documents."""
    path, query = parse_distinct(request.scope["query_string"])
    documents = await permit(request, caller, services, "read")
    return Json(distinct_view(await documents.distinct(path, query)))


@by_rule(
    "GET /api/collections/{name}/documents/{id}",
    operator=Access("data", "read"),
    parameters=(COUNTS_PARAMETER, IF_NONE_MATCH),
    answer=(Success("The document", ONE, ETAG), NOT_MODIFIED),
    errors=READ_ERRORS,
)
async def read_document(request: Request, caller: ProjectCaller, services: Services) -> Json[Document] | Unchanged:
    """Get one document."""
    documents = await permit(request, caller, services, "read")
    document = await documents.get(request.path_params["id"])
    if names := parse_counts(request.scope["query_string"]):
        counted = document._replace(counts=await documents.count_related(document.id, names))
        return Json(document_view(counted), version=document.version)
    asks = (
        "if-none-match" in request.headers
        and not documents.permissions.has_field_rules
        and not document.has_signed_urls
    )
    found = find_known(request.headers, document.version) if asks else None
    return found or Json(document_view(document), version=document.version)


async def permit(request: Request, caller: ProjectCaller, services: Services, action: str) -> Documents:
    return Documents(await services.documents.permit(caller, request.path_params["name"], action))
