"""Mails with codes and links over HTTP."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import KeyCaller, UserCaller
from service.domain.accounts.users import SignedIn
from service.domain.confirmations.confirmations import EmailProven, Outcome
from service.domain.confirmations.email_changes import EmailChange
from service.domain.confirmations.sign_ins import SignInRequest
from service.domain.confirmations.verification import MailRequest, Ownership
from service.services import Services
from service.web.accounts.endpoints import signed_in_view
from service.web.auth.authenticate import authenticate_user, headers_of
from service.web.auth.client import read_client
from service.web.flows.bodies import (
    ConfirmForm,
    EmailChangeView,
    EmailVerified,
    MailForm,
    ResetForm,
    SignInForm,
    check_proof,
    read_new_secret,
)
from service.web.http.json_body import read_object, validated
from service.web.http.locales import find_locale
from service.web.http.render import json_response
from service.web.openapi.tickets import ticket_view


async def verify_email(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Mail a user a code and a link to prove the address."""
    wish = await _read_wish(request)
    return json_response(ticket_view(await services.verification.request(caller.project, wish)), 202)


async def change_email(request: Request, caller: UserCaller, services: Services) -> Response:
    """Have another address."""
    wish = await _read_wish(request)
    return json_response(ticket_view(await services.email_changes.request(caller, wish)), 202)


async def login_email(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Mail a user a code and a link to sign in."""
    form = validated(SignInForm, await read_object(request))
    wish = SignInRequest(_wish_of(request, form), form.code_challenge, form.create)
    return json_response(ticket_view(await services.sign_ins.request(caller.project, wish)), 202)


async def confirm(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Bring the code or the token of a mail."""
    form = validated(ConfirmForm, await read_object(request))
    check_proof(form)
    confirmations, project = services.confirmations, caller.project
    user = await authenticate_user(request, services) if headers_of(request, b"authorization") else None
    ownership = Ownership(read_client(request, services), user, form.password, has_flow_id=form.token is None)
    if form.token is not None:
        return _outcome_response(await confirmations.by_token(project, form.token, ownership))
    return _outcome_response(await confirmations.by_code(project, form.flow_id or "", form.code or "", ownership))


def _outcome_response(outcome: Outcome) -> Response:
    match outcome:
        case SignedIn():
            return json_response(signed_in_view(outcome))
        case EmailChange():
            view: EmailChangeView = {"email": outcome.email, "waiting_for": outcome.waiting_for}
            return json_response(view)
        case EmailProven():
            body: EmailVerified = {"email_verified": True}
            return json_response(body)


async def forgot_password(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Mail a user a code and a link to choose another password."""
    wish = await _read_wish(request)
    return json_response(ticket_view(await services.resets.request(caller.project, wish)), 202)


async def reset_password(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Choose another password, with the code or the token of a mail."""
    form = validated(ResetForm, await read_object(request))
    check_proof(form)
    new = read_new_secret(form, read_client(request, services))
    if form.token is not None:
        await services.resets.by_token(caller.project, form.token, new)
    else:
        await services.resets.by_code(caller.project, form.flow_id or "", form.code or "", new)
    return Response(status_code=204)


async def _read_wish(request: Request) -> MailRequest:
    return _wish_of(request, validated(MailForm, await read_object(request)))


def _wish_of(request: Request, form: MailForm) -> MailRequest:
    return MailRequest(form.email, form.locale or find_locale(request), form.redirect_to)
