"""Declared collections over HTTP: specification section 4.3 and what completes it."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import SecretKeyCaller
from service.domain.collections.schema_changes import change_schema, preview_change
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import (
    CollectionExists,
    CollectionLimit,
    CollectionNotFound,
    DuplicateValue,
    IndexLimit,
    RuleConflict,
    SchemaChanging,
    SchemaConflict,
    Violation,
)
from service.schema.collection_options import OPTION_NAMES, read_options
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.collections.bodies import (
    CONFLICT,
    EXAMPLE,
    EXAMPLE_SCHEMA,
    Collection,
    CollectionList,
    NewCollection,
    OptionsChange,
    SchemaChange,
    SchemaFindings,
    collection_view,
    findings_view,
    list_view,
    read_change,
)
from service.web.http.json_body import RequestWith, read_form, read_object
from service.web.http.query_values import read_flags
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint

# A change has 45 s of MongoDB's time; looking at many documents may need them.
CHANGE_ANSWER_SECONDS = 60.0
RULE_CONFLICT = ErrorExample(
    RuleConflict,
    [Violation(("body", "collections", "books", "read", "in_print_eq"), "There is no such field", "value_error")],
)
TOO_MANY_INDEXES = ErrorExample(IndexLimit, 301, 300)
ONE = {"books": EXAMPLE}

by_server = partial(endpoint, credential=Credential.API_KEY, policy=DAILY, tag=Tag.COLLECTIONS)


@by_server(
    "GET /api/collections",
    operator=Access("data", "read", other="schema"),
    answer=Success("All of them, by name", {"one": {"collections": [EXAMPLE], "total": 1}}),
)
async def list_collections(request: Request, caller: SecretKeyCaller, services: Services) -> Json[CollectionList]:
    """List the collections."""
    found = await services.collections.list(caller.project)
    return Json(list_view(found))


@by_server(
    "POST /api/collections",
    operator=Access("schema", "write"),
    body={"books": {"name": "books", "schema": EXAMPLE_SCHEMA}},
    answer=Success("The new collection", ONE),
    errors=(CollectionExists, ErrorExample(CollectionLimit, 200), TOO_MANY_INDEXES),
)
async def create_collection(
    request: RequestWith[NewCollection], caller: SecretKeyCaller, services: Services
) -> Created[Collection]:
    """Create a collection with a declared schema."""
    form = await read_form(request)
    options = read_options(form.model_dump(include={*OPTION_NAMES}))
    collection = await services.collections.create(caller.project, form.name, form.declared, options)
    return Created(collection_view(collection))


@by_server(
    "GET /api/collections/{name}",
    operator=Access("data", "read", other="schema"),
    answer=Success("The collection", ONE),
    errors=(CollectionNotFound,),
)
async def read_collection(request: Request, caller: SecretKeyCaller, services: Services) -> Json[Collection]:
    """Get one collection."""
    collection = await services.collections.get(caller.project, request.path_params["name"])
    return Json(collection_view(collection))


@by_server(
    "PATCH /api/collections/{name}",
    operator=Access("schema", "write"),
    description="Declares the fields in `schema` anew, removes those that are null there, leaves the others. Documents that "
    "would break the new schema, and that no default repairs, are counted and nothing changes. "
    "`realtime` says if changes of the documents can be followed.",
    parameters=(
        Parameter(name="dry_run", description="Only tell what the change would meet.", schema={"type": "boolean"}),
    ),
    body={
        "a field more and one less": {"schema": {"year": {"type": "integer"}, "in_print": None}},
        "live": {"realtime": True},
    },
    answer=Success(
        "The collection afterwards; with `dry_run=true` what the change would meet",
        {"changed": EXAMPLE, "dry run": {"applies": False, "repairs": 0, "conflicts": CONFLICT}},
    ),
    errors=(
        CollectionNotFound,
        ErrorExample(SchemaConflict, CONFLICT),
        SchemaChanging,
        RULE_CONFLICT,
        TOO_MANY_INDEXES,
        ErrorExample(DuplicateValue, "data.title"),
    ),
    answer_seconds=CHANGE_ANSWER_SECONDS,
)
async def change_collection(
    request: RequestWith[SchemaChange | OptionsChange], caller: SecretKeyCaller, services: Services
) -> Json[Collection | SchemaFindings]:
    """Change the schema of a collection, or tell what a change would meet."""
    dry_run = read_flags(request, ("dry_run",))["dry_run"]
    (declared, options), name = read_change(await read_object(request)), request.path_params["name"]
    if dry_run:
        return Json(findings_view(await preview_change(services.collections, caller.project, name, declared, options)))
    return Json(collection_view(await change_schema(services.collections, caller.project, name, declared, options)))


@by_server(
    "DELETE /api/collections/{name}",
    operator=Access("schema", "write", confirm=True),
    answer=Success("It and its documents are gone"),
    errors=(CollectionNotFound, SchemaChanging, RULE_CONFLICT),
)
async def delete_collection(request: Request, caller: SecretKeyCaller, services: Services) -> NoContent:
    """Delete a collection with its documents."""
    await services.collections.delete(caller.project, request.path_params["name"])
    return NoContent()
