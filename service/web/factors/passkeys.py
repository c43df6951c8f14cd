"""Passkeys over HTTP: `docs/factors.md`."""

from functools import partial
from typing import Any

from service.domain.access.caller import KeyCaller, UserCaller
from service.domain.accounts import enrolment, second_steps
from service.domain.accounts.enrolment import NewPasskey
from service.domain.accounts.passkey_sign_ins import begin_passkey_sign_in, finish_passkey_sign_in
from service.domain.limits.policies import CODES, PASSKEY_OPTIONS
from service.errors import (
    AccountDisabled,
    ConfigurationMissing,
    EmailNotVerified,
    FactorLimit,
    FactorsOff,
    InvalidCode,
    InvalidFactor,
    InvalidPasskey,
)
from service.passkeys.answers import RelyingParty
from service.passkeys.options import PasskeyOwner, creation_options, request_options
from service.services import Services
from service.web.accounts.bodies import SignedIn
from service.web.accounts.views import EXAMPLE_SIGNED_IN, SIGNED_IN, signed_in_view
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.factors.bodies import EXAMPLE_FACTOR, EnrolledView, enrolled_view
from service.web.factors.credentials import (
    EXAMPLE_FLOW,
    EXAMPLE_NEW,
    EXAMPLE_USED,
    LoginPasskeyForm,
    NewPasskeyForm,
    NewPasskeyOptions,
    NewPasskeyOptionsForm,
    NothingForm,
    PasskeyOptions,
    WaitingForm,
    creation_view,
    options_view,
)
from service.web.factors.endpoints import CODES_SHOWN, ON_THE_WAY, find_enrollee
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.render import Created, Json
from service.web.openapi.declaration import ErrorExample, Success, Tag
from service.web.openapi.endpoint import endpoint

MISSING = ErrorExample(ConfigurationMissing, "WEBAUTHN_RP_ID key missing")
PARTY = RelyingParty("example.com", "My app", frozenset())
ASKED: dict[str, Any] = {"flow_id": EXAMPLE_FLOW, "publicKey": request_options(PARTY, b"challenge")}
TO_CREATE = creation_options(PARTY, PasskeyOwner(b"handle", "ann@example.com"), b"challenge", [])
FOR_BROWSERS = "`publicKey` is for `PublicKeyCredential.parse{}OptionsFromJSON()`."
TO_BE_ASKED = "What to ask the browser for"

asks = partial(
    endpoint,
    policy=PASSKEY_OPTIONS,
    tag=Tag.FACTORS,
    answer=Success(TO_BE_ASKED, {"a passkey": ASKED}),
    errors=(MISSING,),
)


@asks(
    "POST /auth-collections/user/step-up/options",
    credential=Credential.USER_TOKEN,
    description=FOR_BROWSERS.format("Request"),
    body={"nothing": {}},
    needs_body=False,
)
async def ask_step_up(
    request: RequestWith[NothingForm], caller: UserCaller, services: Services
) -> Json[PasskeyOptions]:
    """Get what a browser is asked for a passkey, to step up."""
    await read_form(request)
    return Json(options_view(await second_steps.ask_caller(services.accounts, caller)))


@asks(
    "POST /auth-collections/login-factor/options",
    credential=Credential.ANY_KEY,
    description=f"The flow of `mfa_required` stays the same. {FOR_BROWSERS.format('Request')}",
    body={"a flow": {"flow_id": EXAMPLE_FLOW}},
    errors=(MISSING, InvalidFactor),
)
async def ask_login_factor(
    request: RequestWith[WaitingForm], caller: KeyCaller, services: Services
) -> Json[PasskeyOptions]:
    """Get what a browser is asked for a passkey, to finish a sign-in."""
    form = await read_form(request)
    return Json(options_view(await second_steps.ask_pending(services.accounts, caller.project, form.flow_id)))


@asks(
    "POST /auth-collections/login-passkey/options",
    credential=Credential.ANY_KEY,
    description=f"No passkey is named, so the browser offers those that it has. {FOR_BROWSERS.format('Request')}",
    body={"nothing": {}},
    needs_body=False,
)
async def ask_login_passkey(
    request: RequestWith[NothingForm], caller: KeyCaller, services: Services
) -> Json[PasskeyOptions]:
    """Get what a browser is asked for a passkey, to sign in by it."""
    await read_form(request)
    return Json(options_view(await begin_passkey_sign_in(services.accounts, caller.project)))


@endpoint(
    "POST /auth-collections/login-passkey",
    credential=Credential.ANY_KEY,
    policy=CODES,
    tag=Tag.FACTORS,
    description="No other factor is asked for. The flow is good for ten minutes and once.",
    body={"a passkey": {"flow_id": EXAMPLE_FLOW, "credential": EXAMPLE_USED}},
    answer=SIGNED_IN,
    errors=(MISSING, InvalidPasskey, AccountDisabled, EmailNotVerified),
)
async def login_passkey(
    request: RequestWith[LoginPasskeyForm], caller: KeyCaller, services: Services
) -> Json[SignedIn]:
    """Sign in by a passkey."""
    form, client = await read_form(request), read_client(request, services)
    signed_in = await finish_passkey_sign_in(
        services.accounts, caller.project, form.flow_id, form.credential.read(), client
    )
    return Json(signed_in_view(signed_in))


@asks(
    "POST /auth-collections/user/factors/passkey/options",
    credential=Credential.KEY_OR_RECENT_USER,
    description=f"{ON_THE_WAY} {FOR_BROWSERS.format('Creation')}",
    body={"by a user": {}, "on the way": {"flow_id": EXAMPLE_FLOW}},
    needs_body=False,
    answer=Success(TO_BE_ASKED, {"a new one": {"flow_id": EXAMPLE_FLOW, "publicKey": TO_CREATE}}),
    errors=(MISSING, InvalidCode, FactorsOff),
)
async def ask_new_passkey(
    request: RequestWith[NewPasskeyOptionsForm], caller: KeyCaller | UserCaller, services: Services
) -> Json[NewPasskeyOptions]:
    """Get what a browser is asked for a new passkey."""
    form = await read_form(request)
    enrollee = await find_enrollee(caller, services, form.flow_id)
    return Json(creation_view(await enrolment.begin_passkey(services.accounts, enrollee)))


@endpoint(
    "POST /auth-collections/user/factors/passkey",
    credential=Credential.KEY_OR_RECENT_USER,
    policy=CODES,
    tag=Tag.FACTORS,
    description=f"{ON_THE_WAY} The present session ends, and the answer has a new one. Recovery codes come with the first "
    "factor.",
    body={"a laptop": {"flow_id": EXAMPLE_FLOW, "credential": EXAMPLE_NEW, "name": "My laptop"}},
    answer=Success(
        "The user, with a new token, and the passkey",
        {
            "the first": {
                **EXAMPLE_SIGNED_IN,
                "factor": EXAMPLE_FACTOR | {"type": "passkey", "name": "My laptop", "last_used_at": None},
                **CODES_SHOWN,
            }
        },
    ),
    errors=(MISSING, InvalidCode, FactorLimit, FactorsOff, AccountDisabled, EmailNotVerified),
)
async def add_passkey(
    request: RequestWith[NewPasskeyForm], caller: KeyCaller | UserCaller, services: Services
) -> Created[EnrolledView]:
    """Add a passkey."""
    form = await read_form(request)
    enrollee = await find_enrollee(caller, services, None if isinstance(caller, UserCaller) else form.flow_id)
    client, locale = read_client(request, services), find_locale(request)
    answer = NewPasskey(form.credential.read(), form.name)
    enrolled = await enrolment.add_passkey(services.accounts, enrollee, form.flow_id, answer, client, locale)
    return Created(enrolled_view(enrolled))
