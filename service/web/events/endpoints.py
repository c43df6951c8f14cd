"""Events over HTTP. `docs/administration.md` lists their types."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller, UserCaller
from service.domain.events import list_events, list_events_of
from service.services import Services
from service.web.events.bodies import page_view, read_event_query
from service.web.http.render import json_response


async def project_events(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List what happened to the project's users."""
    query = read_event_query(request.scope["query_string"])
    return json_response(page_view(await list_events(caller.project, query)))


async def own_events(request: Request, caller: UserCaller, services: Services) -> Response:
    """List what happened to the authenticated user."""
    query = read_event_query(request.scope["query_string"], of_one_user=True)
    await services.accounts.profile(caller)
    return json_response(page_view(await list_events_of(caller.project, caller.user_id, query)))
