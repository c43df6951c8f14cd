"""A user's own identities at providers, and the ways to sign in that a project has."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import AnonymousCaller, PublishableKeyCaller, SecretKeyCaller, UserCaller
from service.domain.sign_in.flow import SignInWish
from service.domain.sign_in.own_identities import Asker, LinkProof
from service.services import Services
from service.storage.identities import OwnIdentity
from service.web.auth.authenticate import MAX_PROJECT_ID
from service.web.auth.client import read_client
from service.web.http.json_body import read_object, validated
from service.web.http.locales import find_locale
from service.web.http.render import json_response
from service.web.sign_in.bodies import IdentityLinkForm, IdentityView, LinkProofForm, SignInMethodsView
from service.web.sign_in.endpoints import begun_response, name_provider, read_browser, read_parameters


async def list_identities(request: Request, caller: UserCaller, services: Services) -> Response:  # noqa: ARG001 - as the others
    """List the user's identities at providers."""
    return json_response({"identities": [_view(each) for each in await services.own_identities.list(caller)]})


async def link_identity(request: Request, caller: UserCaller, services: Services) -> Response:
    """Get the URL at which the user shows to have an identity."""
    form = validated(IdentityLinkForm, await read_object(request))
    wish = SignInWish(
        provider=name_provider(form.provider),
        client_state=form.client_state,
        browser=read_browser(request),
        challenge=form.code_challenge,
        redirect_to=form.redirect_to,
    )
    return begun_response(await services.own_identities.begin(caller, wish))


async def confirm_identity(request: Request, caller: UserCaller, services: Services) -> Response:
    """Link the identity that the user showed to have."""
    form = validated(LinkProofForm, await read_object(request))
    proof = LinkProof(form.code, form.code_verifier)
    return json_response(_view(await services.own_identities.confirm(_asker(request, caller, services), proof)), 201)


async def remove_identity(request: Request, caller: UserCaller, services: Services) -> Response:
    """Remove one of the user's identities."""
    await services.own_identities.remove(_asker(request, caller, services), request.path_params["id"])
    return Response(status_code=204)


async def sign_in_methods(
    request: Request, caller: SecretKeyCaller | PublishableKeyCaller | AnonymousCaller, services: Services
) -> Response:
    """List the ways to sign in to the project."""
    read_parameters(request, {"project_id": MAX_PROJECT_ID})
    providers = services.provider_clients.usable(caller.project)
    view: SignInMethodsView = {
        "password": True,
        "email": True,
        "passkey": caller.project.settings.webauthn_rp_id is not None,
        "providers": [{"id": id_, "name": name} for id_, name in providers.items()],
    }
    return json_response(view)


def _asker(request: Request, caller: UserCaller, services: Services) -> Asker:
    return Asker(caller, read_client(request, services), find_locale(request))


def _view(own: OwnIdentity) -> IdentityView:
    return {
        "id": own.id,
        "provider": own.identity.provider,
        "email": own.identity.email,
        "created_at": own.created_at,
        "last_used_at": own.last_used_at,
    }
