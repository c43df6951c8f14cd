"""Second factors over HTTP: `docs/factors.md`."""

from functools import partial
from typing import Any

from starlette.requests import Request

from service.domain.access.caller import KeyCaller, UserCaller
from service.domain.accounts import enrolment, own_factors, second_steps
from service.domain.accounts.enrolment import Enrollee
from service.domain.limits.policies import AUTH, CODES, LOGIN
from service.errors import (
    AccountDisabled,
    Busy,
    EmailNotVerified,
    FactorExists,
    FactorNotFound,
    FactorsOff,
    Invalid,
    InvalidCode,
    InvalidFactor,
    LastSignInMethod,
    NoFactor,
    StepUpRequired,
    WrongPassword,
)
from service.services import Services
from service.web.accounts.bodies import SignedIn
from service.web.accounts.views import EXAMPLE_LOGIN, EXAMPLE_SIGNED_IN, SECOND_FACTORS, SIGNED_IN, signed_in_view
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.factors.bodies import (
    EXAMPLE_FACTOR,
    EXAMPLE_TOTP,
    EnrolledView,
    FactorForm,
    FactorList,
    FactorNameForm,
    FactorView,
    NewTotpView,
    RecoveryCodesView,
    StepUpForm,
    TotpCodeForm,
    TotpForm,
    enrolled_view,
    factor_view,
    read_factor,
    read_step,
)
from service.web.factors.credentials import EXAMPLE_FLOW, EXAMPLE_USED
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.proofs import EXAMPLE_CODE, EXAMPLE_RECOVERY_CODE
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import endpoint

RECENT = "For ten minutes after a sign-in or a step-up, by the second factor where the user has one."
ON_THE_WAY = f"{RECENT} Or with a key and the `flow_id` of `mfa_enrolment_required`, until the user has a factor."
WAYS: dict[str, dict[str, Any]] = {
    "an app": {"totp": EXAMPLE_CODE},
    "a recovery code": {"recovery_code": EXAMPLE_RECOVERY_CODE},
    "a passkey": {"flow_id": EXAMPLE_FLOW, "credential": EXAMPLE_USED},
}
CODES_SHOWN = {"recovery_codes": [EXAMPLE_RECOVERY_CODE]}

of_user = partial(endpoint, policy=AUTH, tag=Tag.FACTORS)
enrols = partial(endpoint, credential=Credential.KEY_OR_RECENT_USER, tag=Tag.FACTORS)


@endpoint(
    "POST /auth-collections/login-factor",
    credential=Credential.ANY_KEY,
    policy=CODES,
    tag=Tag.FACTORS,
    description="The flow is the one of `mfa_required`. It is good for ten minutes and once, and judges five codes; another "
    "password ends it.",
    body={title: {"flow_id": EXAMPLE_FLOW, **way} for title, way in WAYS.items()},
    answer=SIGNED_IN,
    errors=(InvalidFactor, AccountDisabled, EmailNotVerified),
)
async def login_factor(request: RequestWith[FactorForm], caller: KeyCaller, services: Services) -> Json[SignedIn]:
    """Finish a sign-in with a second factor."""
    form = await read_form(request)
    proof, client, locale = read_factor(form), read_client(request, services), find_locale(request)
    signed_in = await second_steps.finish_second_step(
        services.accounts, caller.project, form.flow_id, proof, client, locale
    )
    return Json(signed_in_view(signed_in))


@endpoint(
    "POST /auth-collections/user/step-up",
    credential=Credential.USER_TOKEN,
    policy=LOGIN,
    tag=Tag.FACTORS,
    description="The present session ends, and the answer has a new one, with which for ten minutes what needs a recent "
    "sign-in can be done. A password does where the user has no second factor. Counted as a login.",
    body={"a password": {"password": EXAMPLE_LOGIN["password"]}, **WAYS},
    answer=SIGNED_IN,
    errors=(WrongPassword, InvalidFactor, *SECOND_FACTORS, AccountDisabled, EmailNotVerified, Busy),
)
async def step_up(request: RequestWith[StepUpForm], caller: UserCaller, services: Services) -> Json[SignedIn]:
    """Prove once more who the user is."""
    form = await read_form(request)
    proof, client, accounts = read_step(form), read_client(request, services), services.accounts
    if isinstance(proof, str):
        signed_in = await second_steps.step_up_by_password(accounts, caller, proof, client)
    else:
        signed_in = await second_steps.step_up(accounts, caller, proof, client, find_locale(request))
    return Json(signed_in_view(signed_in))


@of_user(
    "GET /auth-collections/user/factors",
    credential=Credential.USER_TOKEN,
    answer=Success(
        "The factors, without their secrets", {"an app": {"factors": [EXAMPLE_FACTOR], "recovery_codes_left": 10}}
    ),
)
async def list_factors(request: Request, caller: UserCaller, services: Services) -> Json[FactorList]:
    """List the user's second factors."""
    found = await own_factors.list_own_factors(caller)
    factors = [factor_view(factor) for factor in found.factors]
    return Json({"factors": factors, "recovery_codes_left": found.recovery_codes})


@enrols(
    "POST /auth-collections/user/factors/totp",
    policy=CODES,
    description=f"{ON_THE_WAY} The secret is good once a code of it is confirmed, for ten minutes.",
    body={"a phone": {"name": "My phone"}},
    needs_body=False,
    answer=Success("What an authenticator app is told", {"a secret": EXAMPLE_TOTP}),
    errors=(InvalidCode, FactorExists, FactorsOff),
)
async def begin_totp(
    request: RequestWith[TotpForm], caller: KeyCaller | UserCaller, services: Services
) -> Created[NewTotpView]:
    """Get a secret for an authenticator app."""
    form = await read_form(request)
    enrollee = await find_enrollee(caller, services, form.flow_id)
    new = await enrolment.begin_totp(services.accounts, enrollee, form.name)
    return Created({"id": new.id, "secret": new.secret, "uri": new.uri})


@enrols(
    "POST /auth-collections/user/factors/totp/{id}/confirm",
    policy=CODES,
    description=f"{ON_THE_WAY} The present session ends, and the answer has a new one. Recovery codes come with the first "
    "factor.",
    body={"a code": {"code": EXAMPLE_CODE}},
    answer=Success(
        "The user, with a new token, and the factor",
        {"the first": {**EXAMPLE_SIGNED_IN, "factor": EXAMPLE_FACTOR, **CODES_SHOWN}},
    ),
    errors=(InvalidCode, FactorExists, FactorsOff, AccountDisabled, EmailNotVerified),
)
async def confirm_totp(
    request: RequestWith[TotpCodeForm], caller: KeyCaller | UserCaller, services: Services
) -> Json[EnrolledView]:
    """Add an authenticator app, with a code that it shows."""
    form = await read_form(request)
    enrollee = await find_enrollee(caller, services, form.flow_id)
    client, locale, factor_id = read_client(request, services), find_locale(request), request.path_params["id"]
    enrolled = await enrolment.confirm_totp(services.accounts, enrollee, factor_id, form.code, client, locale)
    return Json(enrolled_view(enrolled))


@of_user(
    "PATCH /auth-collections/user/factors/{id}",
    credential=Credential.USER_TOKEN,
    body={"a phone": {"name": "My old phone"}},
    answer=Success("The factor afterwards", {"an app": EXAMPLE_FACTOR}),
    errors=(FactorNotFound,),
)
async def rename_factor(
    request: RequestWith[FactorNameForm], caller: UserCaller, services: Services
) -> Json[FactorView]:
    """Give a second factor another name."""
    form = await read_form(request)
    factor = await own_factors.rename_own_factor(caller, request.path_params["id"], form.name)
    return Json(factor_view(factor))


@of_user(
    "DELETE /auth-collections/user/factors/{id}",
    credential=Credential.RECENT_USER,
    description=f"{RECENT} The recovery codes go with the last factor.",
    answer=Success("The factor is gone"),
    errors=(FactorNotFound, LastSignInMethod),
)
async def remove_factor(request: Request, caller: UserCaller, services: Services) -> NoContent:
    """Remove a second factor."""
    client, locale = read_client(request, services), find_locale(request)
    await own_factors.remove_own_factor(services.accounts, caller, request.path_params["id"], client, locale)
    return NoContent()


@of_user(
    "POST /auth-collections/user/recovery-codes",
    credential=Credential.RECENT_USER,
    description=f"{RECENT} The old ones are good for nothing any more.",
    answer=Success("The codes, which are shown once", {"codes": CODES_SHOWN}),
    errors=(NoFactor, StepUpRequired),
)
async def replace_recovery_codes(
    request: Request, caller: UserCaller, services: Services
) -> Created[RecoveryCodesView]:
    """Get new recovery codes."""
    client, locale = read_client(request, services), find_locale(request)
    codes = await own_factors.replace_recovery_codes(services.accounts, caller, client, locale)
    return Created({"recovery_codes": codes})


async def find_enrollee(caller: KeyCaller | UserCaller, services: Services, flow_id: str | None) -> Enrollee:
    """The account that gets a factor: that of a user token alone, or that of a flow on its way to a session.

    Raises Invalid, and as `find_by_caller` and `find_by_flow`.
    """
    if isinstance(caller, UserCaller):
        if flow_id is not None:
            raise Invalid.one(("body", "flow_id"), "A user token needs no flow_id", type_="value_error")
        return await enrolment.find_by_caller(services.accounts, caller)
    if flow_id is None:
        raise Invalid.one(("body", "flow_id"), "Send the flow_id of a sign-in, or a user token", type_="missing")
    return await enrolment.find_by_flow(services.accounts, caller.project, flow_id)
