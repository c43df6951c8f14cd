"""Declared collections over HTTP: specification section 4.3 and what completes it."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller
from service.services import Services
from service.web.collections.bodies import NewCollection, collection_view, findings_view, list_view, read_change
from service.web.http.json_body import read_object, validated
from service.web.http.query_flags import read_flags
from service.web.http.render import json_response

# A change has 45 s of MongoDB's time; looking at many documents may need them.
CHANGE_ANSWER_SECONDS = 60.0


async def list_collections(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List the collections."""
    found = await services.collections.list(caller.project)
    return json_response(list_view(found))


async def create_collection(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Create a collection with a declared schema."""
    form = validated(NewCollection, await read_object(request))
    collection = await services.collections.create(caller.project, form.name, form.declared, realtime=form.realtime)
    return json_response(collection_view(collection), 201)


async def get_collection(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Get one collection."""
    collection = await services.collections.get(caller.project, request.path_params["name"])
    return json_response(collection_view(collection))


async def change_collection(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Change the schema of a collection, or tell what a change would meet."""
    dry_run = read_flags(request, ("dry_run",))["dry_run"]
    (declared, realtime), name = read_change(await read_object(request)), request.path_params["name"]
    changes = services.schema_changes
    if dry_run:
        return json_response(findings_view(await changes.preview(caller.project, name, declared, realtime=realtime)))
    return json_response(collection_view(await changes.change(caller.project, name, declared, realtime=realtime)))


async def delete_collection(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Delete a collection with its documents."""
    await services.collections.delete(caller.project, request.path_params["name"])
    return Response(status_code=204)
