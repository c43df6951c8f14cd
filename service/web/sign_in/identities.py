"""A user's own identities at providers, and the ways to sign in that a project has."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import AnonymousCaller, PublishableKeyCaller, SecretKeyCaller, UserCaller
from service.domain.limits.policies import AUTH, CODES
from service.domain.sign_in import own_identities
from service.domain.sign_in.flow import SignInWish
from service.domain.sign_in.own_identities import Asker, LinkProof
from service.errors import (
    Busy,
    ConfigurationMissing,
    EmailInUse,
    IdentityInUse,
    IdentityLimit,
    IdentityNotFound,
    InvalidCode,
    LastSignInMethod,
    ProjectNotFound,
    ProviderNotFound,
    StepUpRequired,
)
from service.services import Services
from service.storage.identities import OwnIdentity
from service.web.auth.authenticate import MAX_PROJECT_ID, Credential
from service.web.auth.client_address import read_client
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.sign_in.bodies import (
    EXAMPLE_CHALLENGE,
    EXAMPLE_IDENTITY,
    EXAMPLE_SVC_CODE,
    EXAMPLE_URL,
    EXAMPLE_VERIFIER,
    OF_PROJECT,
    AuthorizationUrl,
    IdentityLinkForm,
    IdentityList,
    IdentityView,
    LinkProofForm,
    SignInMethodsView,
)
from service.web.sign_in.endpoints import (
    PROVIDER_ANSWER_SECONDS,
    begun_response,
    name_provider,
    read_browser,
    read_parameters,
)

of_user = partial(endpoint, tag=Tag.SIGN_IN, policy=AUTH)


@of_user(
    "GET /auth-collections/user/identities",
    credential=Credential.USER_TOKEN,
    answer=Success(
        "The user's identities, in the order in which they came", {"one": {"identities": [EXAMPLE_IDENTITY]}}
    ),
)
async def list_identities(request: Request, caller: UserCaller, services: Services) -> Json[IdentityList]:
    """List the user's identities at providers."""
    return Json({"identities": [_view(each) for each in await own_identities.list_identities(caller)]})


@of_user(
    "POST /auth-collections/user/identities",
    credential=Credential.USER_TOKEN,
    description="For ten minutes after a sign-in or a step-up; for an anonymous user at any time, who gets the address of "
    "the identity. Send the browser to `url`; it comes back with `svc-code`, or "
    "with `svc-error` as a sign-in does. Nothing is linked before `/auth-collections/user/identities/confirm`.",
    body={"a provider": {"provider": "google", "code_challenge": EXAMPLE_CHALLENGE}},
    answer=Success(
        "Where to send the browser",
        {"a provider": {"url": EXAMPLE_URL}},
        {"Set-Cookie": "Binds the flow to this browser, where one asks over https"},
    ),
    errors=(ErrorExample(ConfigurationMissing, "CLIENT_SECRET key missing"), StepUpRequired, ProviderNotFound, Busy),
    answer_seconds=PROVIDER_ANSWER_SECONDS,
)
async def link_identity(
    request: RequestWith[IdentityLinkForm], caller: UserCaller, services: Services
) -> Json[AuthorizationUrl]:
    """Get the URL at which the user shows to have an identity."""
    form = await read_form(request)
    wish = SignInWish(
        provider=name_provider(form.provider),
        client_state=form.client_state,
        browser=read_browser(request),
        challenge=form.code_challenge,
        redirect_to=form.redirect_to,
    )
    return begun_response(await own_identities.begin_link(services.sign_in, caller, wish))


@of_user(
    "POST /auth-collections/user/identities/confirm",
    credential=Credential.USER_TOKEN,
    policy=CODES,
    description="With a token of the user who asked for it: whoever was sent into the flow of somebody else links nothing. A "
    "code is good for 60 seconds and once, whatever comes of it.",
    body={"a code": {"code": EXAMPLE_SVC_CODE, "code_verifier": EXAMPLE_VERIFIER}},
    answer=Success("The identity, with which the user can sign in from now on", {"linked": EXAMPLE_IDENTITY}),
    errors=(InvalidCode, IdentityInUse, EmailInUse, IdentityLimit, IdentityNotFound, StepUpRequired),
)
async def confirm_identity(
    request: RequestWith[LinkProofForm], caller: UserCaller, services: Services
) -> Created[IdentityView]:
    """Link the identity that the user showed to have."""
    form = await read_form(request)
    proof = LinkProof(form.code, form.code_verifier)
    return Created(_view(await own_identities.confirm_link(services.sign_in, _asker(request, caller, services), proof)))


@of_user(
    "DELETE /auth-collections/user/identities/{id}",
    credential=Credential.RECENT_USER,
    description="For ten minutes after a sign-in or a step-up. The last way to sign in stays: of passwords, identities and "
    "passkeys. Sessions go on.",
    answer=Success("Nobody signs in to this account with it any more"),
    errors=(IdentityNotFound, LastSignInMethod),
)
async def remove_identity(request: Request, caller: UserCaller, services: Services) -> NoContent:
    """Remove one of the user's identities."""
    await own_identities.remove_identity(services.sign_in, _asker(request, caller, services), request.path_params["id"])
    return NoContent()


@endpoint(
    "GET /auth-collections/sign-in-methods",
    credential=Credential.OPTIONAL_API_KEY,
    policy=AUTH,
    tag=Tag.SIGN_IN,
    description="What a page needs for its buttons. The project is found as for `/auth-collections/login-idp`.",
    parameters=(OF_PROJECT,),
    answer=Success(
        "The ways to sign in",
        {
            "two": {
                "password": True,
                "email": True,
                "passkey": False,
                "usernames": False,
                "anonymous": False,
                "providers": [{"id": "google", "name": "Google"}],
            }
        },
    ),
    errors=(ProjectNotFound,),
)
async def sign_in_methods(
    request: Request, caller: SecretKeyCaller | PublishableKeyCaller | AnonymousCaller, services: Services
) -> Json[SignInMethodsView]:
    """List the ways to sign in to the project."""
    read_parameters(request, {"project_id": MAX_PROJECT_ID})
    providers = services.sign_in.clients.usable(caller.project)
    settings = caller.project.settings
    view: SignInMethodsView = {
        "password": True,
        "email": True,
        "passkey": settings.webauthn_rp_id is not None,
        "usernames": settings.usernames != "off",
        "anonymous": settings.anonymous == "on",
        "providers": [{"id": id_, "name": name} for id_, name in providers.items()],
    }
    if settings.captcha != "off":
        on: list[str] = list(settings.captcha_on)
        view["captcha"] = {"kind": settings.captcha, "site_key": settings.captcha_site_key, "on": on}
    return Json(view)


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
