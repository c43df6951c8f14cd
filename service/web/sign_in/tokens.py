"""Tokens for what a sign-in brought that is no token yet."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import KeyCaller
from service.domain.sign_in.native import NativeAnswer
from service.services import Services
from service.web.accounts.endpoints import signed_in_view
from service.web.auth.client import read_client
from service.web.http.json_body import read_object, validated
from service.web.http.render import json_response
from service.web.sign_in.bodies import IdTokenForm, NativeStartView, ProviderForm, TokenForm


async def exchange_code(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Get the user token for a code that a sign-in brought."""
    form = validated(TokenForm, await read_object(request))
    client = read_client(request, services)
    signed_in = await services.sign_ins.exchange(caller.project, form.code, form.code_verifier, client)
    return json_response(signed_in_view(signed_in))


async def begin_native(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Get the nonce that the provider's ID token must have."""
    form = validated(ProviderForm, await read_object(request))
    start = await services.native_sign_in.begin(caller.project, form.provider)
    view: NativeStartView = {"flow_id": start.flow_id, "nonce": start.nonce}
    return json_response(view)


async def login_by_id_token(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Get the user token for a provider's ID token."""
    form = validated(IdTokenForm, await read_object(request))
    answer = NativeAnswer(form.flow_id, form.id_token, form.name)
    client = read_client(request, services)
    return json_response(signed_in_view(await services.native_sign_in.finish(caller.project, answer, client)))
