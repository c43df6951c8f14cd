"""Tokens for what a sign-in brought that is no token yet."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import KeyCaller
from service.services import Services
from service.web.accounts.endpoints import signed_in_view
from service.web.auth.client import read_client
from service.web.http.json_body import read_object, validated
from service.web.http.render import json_response
from service.web.sign_in.bodies import TokenForm


async def exchange_code(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Get the user token for a code that a sign-in brought."""
    form = validated(TokenForm, await read_object(request))
    client = read_client(request, services)
    signed_in = await services.sign_ins.exchange(caller.project, form.code, form.code_verifier, client)
    return json_response(signed_in_view(signed_in))
