"""A user's own password, and the end of the account. `docs/accounts.md` has examples."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import UserCaller
from service.domain.accounts.own_account import PasswordChange
from service.services import Services
from service.web.accounts.bodies import OwnPasswordForm
from service.web.accounts.endpoints import signed_in_view
from service.web.auth.client import read_client
from service.web.http.json_body import read_object, validated
from service.web.http.locales import find_locale
from service.web.http.render import json_response


async def replace_password(request: Request, caller: UserCaller, services: Services) -> Response:
    """Choose another password."""
    form = validated(OwnPasswordForm, await read_object(request))
    change = PasswordChange(form.password, form.current_password, find_locale(request))
    signed_in = await services.own_account.replace_password(caller, change, read_client(request, services))
    return json_response(signed_in_view(signed_in))


async def delete_account(request: Request, caller: UserCaller, services: Services) -> Response:
    """Delete the authenticated user's account."""
    await services.own_account.delete(caller, read_client(request, services))
    return Response(status_code=204)
