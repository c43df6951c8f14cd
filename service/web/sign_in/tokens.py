"""Tokens for what a sign-in brought that is no token yet."""

from functools import partial

from service.domain.access.caller import KeyCaller
from service.domain.confirmations import sign_ins
from service.domain.limits.policies import CODES
from service.domain.sign_in.native import NativeAnswer, begin_native, finish_native
from service.errors import (
    AccountDisabled,
    Busy,
    ConfigurationMissing,
    EmailOfPasswordUser,
    InvalidCode,
    InvalidIdToken,
    NoEmail,
    ProviderNotFound,
    Unavailable,
)
from service.services import Services
from service.web.accounts.bodies import SignedIn
from service.web.accounts.views import SECOND_FACTORS, SIGNED_IN, signed_in_view
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Json
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.sign_in.bodies import (
    EXAMPLE_SVC_CODE,
    EXAMPLE_VERIFIER,
    IdTokenForm,
    NativeStartView,
    ProviderForm,
    TokenForm,
)
from service.web.sign_in.endpoints import PROVIDER_ANSWER_SECONDS

USERS_TOKEN = Success("The user's token", SIGNED_IN.examples)
of_code = partial(endpoint, credential=Credential.ANY_KEY, policy=CODES, tag=Tag.SIGN_IN)


@of_code(
    "POST /auth-collections/token",
    description="A `svc-code` is good for 60 seconds and once, also where the verifier is wrong.",
    body={"a code": {"code": EXAMPLE_SVC_CODE, "code_verifier": EXAMPLE_VERIFIER}},
    answer=USERS_TOKEN,
    errors=(InvalidCode, *SECOND_FACTORS, AccountDisabled),
)
async def exchange_code(request: RequestWith[TokenForm], caller: KeyCaller, services: Services) -> Json[SignedIn]:
    """Get the user token for a code that a sign-in brought."""
    form = await read_form(request)
    client = read_client(request, services)
    signed_in = await sign_ins.exchange_code(services.accounts, caller.project, form.code, form.code_verifier, client)
    return Json(signed_in_view(signed_in))


@of_code(
    "POST /auth-collections/login-id-token/options",
    description="The app has the provider put the nonce, or its SHA-256 in hex, into the ID token. Good for ten minutes.",
    body={"a provider": {"provider": "apple"}},
    answer=Success("The nonce", {"a nonce": {"flow_id": EXAMPLE_SVC_CODE, "nonce": EXAMPLE_VERIFIER}}),
    errors=(ErrorExample(ConfigurationMissing, "CLIENT_ID key missing"), ProviderNotFound),
)
async def begin_id_token_login(
    request: RequestWith[ProviderForm], caller: KeyCaller, services: Services
) -> Json[NativeStartView]:
    """Get the nonce that the provider's ID token must have."""
    form = await read_form(request)
    start = await begin_native(services.sign_in, caller.project, form.provider)
    return Json({"flow_id": start.flow_id, "nonce": start.nonce})


@of_code(
    "POST /auth-collections/login-id-token",
    description="An ID token is good once, with a nonce that was given out here.",
    body={"a token": {"flow_id": EXAMPLE_SVC_CODE, "id_token": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"}},
    answer=USERS_TOKEN,
    errors=(InvalidIdToken, NoEmail, EmailOfPasswordUser, *SECOND_FACTORS, AccountDisabled, Unavailable, Busy),
    answer_seconds=PROVIDER_ANSWER_SECONDS,
)
async def login_id_token(request: RequestWith[IdTokenForm], caller: KeyCaller, services: Services) -> Json[SignedIn]:
    """Get the user token for a provider's ID token."""
    form = await read_form(request)
    answer = NativeAnswer(form.flow_id, form.id_token, form.name)
    client = read_client(request, services)
    return Json(signed_in_view(await finish_native(services.sign_in, caller.project, answer, client)))
