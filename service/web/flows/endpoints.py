"""Mails with codes and links over HTTP."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import KeyCaller
from service.domain.confirmations.verification import MailRequest
from service.domain.flows.flows import Ticket
from service.services import Services
from service.web.flows.bodies import ConfirmForm, EmailVerified, FlowView, MailForm, ResetForm, check_proof
from service.web.http.json_body import read_object, validated
from service.web.http.locales import find_locale
from service.web.http.render import json_response


async def verify_email(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Mail a user a code and a link to prove the address."""
    wish = await _read_wish(request)
    return flow_response(await services.verification.request(caller.project, wish))


async def confirm(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Bring the code or the token of a mail."""
    form = validated(ConfirmForm, await read_object(request))
    check_proof(form)
    if form.token is not None:
        await services.confirmations.by_token(caller.project, form.token)
    else:
        await services.confirmations.by_code(caller.project, form.flow_id or "", form.code or "")
    body: EmailVerified = {"email_verified": True}
    return json_response(body)


async def forgot_password(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Mail a user a code and a link to choose another password."""
    wish = await _read_wish(request)
    return flow_response(await services.resets.request(caller.project, wish))


async def reset_password(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Choose another password, with the code or the token of a mail."""
    form = validated(ResetForm, await read_object(request))
    check_proof(form)
    if form.token is not None:
        await services.resets.by_token(caller.project, form.token, form.password)
    else:
        await services.resets.by_code(caller.project, form.flow_id or "", form.code or "", form.password)
    return Response(status_code=204)


async def _read_wish(request: Request) -> MailRequest:
    form = validated(MailForm, await read_object(request))
    return MailRequest(form.email, form.locale or find_locale(request), form.redirect_to)


def flow_response(ticket: Ticket) -> Response:
    """The same for everybody, whether or not somebody was mailed."""
    body: FlowView = {"flow_id": ticket.flow_id, "expires_at": ticket.expires_at}
    return json_response(body, 202)
