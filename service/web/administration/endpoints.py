"""A project's users, administered with its secret key. `docs/administration.md` has examples."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller
from service.services import Services
from service.web.accounts.endpoints import record_view
from service.web.administration.bodies import LinkForm, NewUserForm, PasswordForm, UserChangeForm, link_view
from service.web.http.json_body import read_object, validated
from service.web.http.locales import find_locale
from service.web.http.render import json_response
from service.web.sessions.bodies import session_view


async def create_user(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Make a user."""
    form = validated(NewUserForm, await read_object(request))
    draft = form.draft(find_locale(request))
    return json_response(record_view(await services.user_administration.create(caller.project, draft)), 201)


async def change_user(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Change a user, or disable and enable the account."""
    form = validated(UserChangeForm, await read_object(request))
    changed = await services.user_administration.change(caller.project, request.path_params["id"], form.change())
    return json_response(record_view(changed))


async def delete_user(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Delete a user, and the user's files."""
    await services.user_administration.delete(caller.project, request.path_params["id"])
    return Response(status_code=204)


async def replace_password(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Give a user another password."""
    form = validated(PasswordForm, await read_object(request))
    await services.user_administration.replace_password(caller.project, request.path_params["id"], form.read())
    return Response(status_code=204)


async def list_sessions(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List a user's sessions."""
    found = await services.user_administration.list_sessions(caller.project, request.path_params["id"])
    return json_response({"sessions": [session_view(session, None) for session in found]})


async def end_sessions(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """End all sessions of a user."""
    await services.user_administration.end_sessions(caller.project, request.path_params["id"])
    return Response(status_code=204)


async def remove_factors(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Remove all second factors of a user."""
    await services.user_administration.remove_factors(caller.project, request.path_params["id"])
    return Response(status_code=204)


async def make_link(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Make a link and a code for a user, without a mail."""
    form = validated(LinkForm, await read_object(request))
    links, user_id = services.link_administration, request.path_params["id"]
    made = await links.make(caller.project, user_id, form.purpose, form.redirect_to)
    return json_response(link_view(made), 201)
