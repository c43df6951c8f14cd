"""Second factors over HTTP: `docs/factors.md`."""

from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import KeyCaller, UserCaller
from service.domain.accounts.enrolment import Enrolled, Enrollee, NewPasskey
from service.errors import Invalid
from service.services import Services
from service.storage.factors import Factor
from service.web.accounts.endpoints import signed_in_view
from service.web.auth.client import read_client
from service.web.factors.bodies import (
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
    read_factor,
    read_step,
)
from service.web.factors.credentials import (
    LoginPasskeyForm,
    NewPasskeyForm,
    NewPasskeyOptionsForm,
    NothingForm,
    WaitingForm,
    creation_view,
    options_view,
)
from service.web.http.json_body import read_object, read_optional_object, validated
from service.web.http.locales import find_locale
from service.web.http.render import json_response


async def login_factor(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Finish a sign-in with a second factor."""
    form = validated(FactorForm, await read_object(request))
    proof, client, locale = read_factor(form), read_client(request, services), find_locale(request)
    signed_in = await services.second_steps.finish(caller.project, form.flow_id, proof, client, locale)
    return json_response(signed_in_view(signed_in))


async def step_up(request: Request, caller: UserCaller, services: Services) -> Response:
    """Prove once more who the user is."""
    form = validated(StepUpForm, await read_object(request))
    proof, client, steps = read_step(form), read_client(request, services), services.second_steps
    if isinstance(proof, str):
        signed_in = await steps.step_up_by_password(caller, proof, client)
    else:
        signed_in = await steps.step_up(caller, proof, client, find_locale(request))
    return json_response(signed_in_view(signed_in))


async def list_factors(request: Request, caller: UserCaller, services: Services) -> Response:
    """List the user's second factors."""
    found = await services.own_factors.list(caller)
    factors = [factor_view(factor) for factor in found.factors]
    view: FactorList = {"factors": factors, "recovery_codes_left": found.recovery_codes}
    return json_response(view)


async def begin_totp(request: Request, caller: KeyCaller | UserCaller, services: Services) -> Response:
    """Get a secret for an authenticator app."""
    form = validated(TotpForm, await read_optional_object(request))
    enrollee = await find_enrollee(caller, services, form.flow_id)
    new = await services.enrolment.begin_totp(enrollee, form.name)
    view: NewTotpView = {"id": new.id, "secret": new.secret, "uri": new.uri}
    return json_response(view, 201)


async def confirm_totp(request: Request, caller: KeyCaller | UserCaller, services: Services) -> Response:
    """Add an authenticator app, with a code that it shows."""
    form = validated(TotpCodeForm, await read_object(request))
    enrollee = await find_enrollee(caller, services, form.flow_id)
    client, locale, factor_id = read_client(request, services), find_locale(request), request.path_params["id"]
    enrolled = await services.enrolment.confirm_totp(enrollee, factor_id, form.code, client, locale)
    return json_response(enrolled_view(enrolled))


async def ask_step_up(request: Request, caller: UserCaller, services: Services) -> Response:
    """Get what a browser is asked for a passkey, to step up."""
    validated(NothingForm, await read_optional_object(request))
    return json_response(options_view(await services.second_steps.ask_caller(caller)))


async def ask_login_factor(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Get what a browser is asked for a passkey, to finish a sign-in."""
    form = validated(WaitingForm, await read_object(request))
    return json_response(options_view(await services.second_steps.ask_pending(caller.project, form.flow_id)))


async def ask_new_passkey(request: Request, caller: KeyCaller | UserCaller, services: Services) -> Response:
    """Get what a browser is asked for a new passkey."""
    form = validated(NewPasskeyOptionsForm, await read_optional_object(request))
    enrollee = await find_enrollee(caller, services, form.flow_id)
    return json_response(creation_view(await services.enrolment.begin_passkey(enrollee)))


async def add_passkey(request: Request, caller: KeyCaller | UserCaller, services: Services) -> Response:
    """Add a passkey."""
    form = validated(NewPasskeyForm, await read_object(request))
    enrollee = await find_enrollee(caller, services, None if isinstance(caller, UserCaller) else form.flow_id)
    client, locale = read_client(request, services), find_locale(request)
    answer = NewPasskey(form.credential.read(), form.name)
    enrolled = await services.enrolment.add_passkey(enrollee, form.flow_id, answer, client, locale)
    return json_response(enrolled_view(enrolled), 201)


async def ask_login_passkey(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Get what a browser is asked for a passkey, to sign in by it."""
    validated(NothingForm, await read_optional_object(request))
    return json_response(options_view(await services.passkey_sign_ins.begin(caller.project)))


async def login_passkey(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Sign in by a passkey."""
    form, client = validated(LoginPasskeyForm, await read_object(request)), read_client(request, services)
    sign_ins = services.passkey_sign_ins
    signed_in = await sign_ins.finish(caller.project, form.flow_id, form.credential.read(), client)
    return json_response(signed_in_view(signed_in))


async def rename_factor(request: Request, caller: UserCaller, services: Services) -> Response:
    """Give a second factor another name."""
    form = validated(FactorNameForm, await read_object(request))
    factor = await services.own_factors.rename(caller, request.path_params["id"], form.name)
    return json_response(factor_view(factor))


async def remove_factor(request: Request, caller: UserCaller, services: Services) -> Response:
    """Remove a second factor."""
    client, locale = read_client(request, services), find_locale(request)
    await services.own_factors.remove(caller, request.path_params["id"], client, locale)
    return Response(status_code=204)


async def replace_recovery_codes(request: Request, caller: UserCaller, services: Services) -> Response:
    """Get new recovery codes."""
    client, locale = read_client(request, services), find_locale(request)
    view: RecoveryCodesView = {
        "recovery_codes": await services.own_factors.replace_recovery_codes(caller, client, locale)
    }
    return json_response(view, 201)


async def find_enrollee(caller: KeyCaller | UserCaller, services: Services, flow_id: str | None) -> Enrollee:
    """Whoever may add a factor: a user by the token alone, somebody on the way to a session by the flow.

    Raises Invalid, and as `Enrolment.by_caller` and `by_flow`.
    """
    if isinstance(caller, UserCaller):
        if flow_id is not None:
            raise Invalid.one(("body", "flow_id"), "A user token needs no flow_id", type_="value_error")
        return await services.enrolment.by_caller(caller)
    if flow_id is None:
        raise Invalid.one(("body", "flow_id"), "Send the flow_id of a sign-in, or a user token", type_="missing")
    return await services.enrolment.by_flow(caller.project, flow_id)


def factor_view(factor: Factor) -> FactorView:
    view: Any = {
        "id": factor.id,
        "type": factor.type,
        "name": factor.name,
        "created_at": factor.created_at,
        "last_used_at": factor.last_used_at,
    }
    return cast(FactorView, view)


def enrolled_view(enrolled: Enrolled) -> EnrolledView:
    codes = enrolled.recovery_codes
    more: Any = {"recovery_codes": codes} if codes is not None else {}
    view: Any = {**signed_in_view(enrolled.signed_in), "factor": factor_view(enrolled.factor), **more}
    return cast(EnrolledView, view)
