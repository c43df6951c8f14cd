"""Mails with codes and links over HTTP."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import Caller, KeyCaller, UserCaller
from service.domain.accounts.users import OpenedSession
from service.domain.confirmations.confirmations import EmailProven, Outcome, confirm_by_code, confirm_by_token
from service.domain.confirmations.email_changes import EmailChange, request_email_change
from service.domain.confirmations.resets import request_reset, reset_by_code, reset_by_token
from service.domain.confirmations.sign_ins import SignInRequest, request_sign_in
from service.domain.confirmations.verification import MailRequest, Ownership, request_verification
from service.domain.limits.policies import CODES, MAIL_REQUESTS
from service.errors import (
    AccountDisabled,
    Busy,
    CaptchaFailed,
    EmailInUse,
    InvalidCode,
    InvalidFactor,
    InvalidToken,
    WrongPassword,
)
from service.services import Services
from service.web.accounts.bodies import SignedIn as SignedInView
from service.web.accounts.views import EXAMPLE_SIGNED_IN, FACTOR_REQUIRED, SECOND_FACTORS, signed_in_view
from service.web.auth.authenticate import Credential, authenticate_user
from service.web.auth.captcha import require_captcha
from service.web.auth.client_address import read_client
from service.web.auth.headers import headers_of
from service.web.flows.bodies import (
    EXAMPLE_CHALLENGE,
    EXAMPLE_CODE,
    EXAMPLE_TOKEN,
    ConfirmForm,
    EmailChangeView,
    EmailVerified,
    MailForm,
    ResetForm,
    SignInForm,
    check_proof,
    read_new_secret,
)
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.proofs import EXAMPLE_CODE as EXAMPLE_FACTOR
from service.web.http.render import Accepted, Json, NoContent
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.tickets import EXAMPLE_FLOW, FLOW, FlowView, ticket_view

UNIFORM = (
    "The answer is the same whether or not somebody was mailed. "
    "A second request within 60 seconds is answered with the first `flow_id`."
)
MAIL = {"an address": {"email": "ann@example.com", "locale": "de"}}
PROOFS = {"a code": {"flow_id": EXAMPLE_FLOW, "code": EXAMPLE_CODE}, "a link": {"token": EXAMPLE_TOKEN}}
PASSWORD = {"password": "a better password"}

mails = partial(endpoint, policy=MAIL_REQUESTS, answer=FLOW, errors=(CaptchaFailed,))
mails_for_key = partial(mails, credential=Credential.ANY_KEY, tag=Tag.MAILS)
takes_proof = partial(endpoint, credential=Credential.ANY_KEY, policy=CODES, tag=Tag.MAILS)


@mails_for_key(
    "POST /auth-collections/verify-email",
    description=f"Mails the user with this address a code and a link, unless the address is proven already. {UNIFORM}",
    body=MAIL,
)
async def verify_email(request: RequestWith[MailForm], caller: KeyCaller, services: Services) -> Accepted[FlowView]:
    """Mail a user a code and a link to prove the address."""
    wish = await _read_wish(request, caller, services)
    return Accepted(ticket_view(await request_verification(services.accounts, caller.project, wish)))


@mails(
    "POST /auth-collections/user/email",
    credential=Credential.RECENT_USER,
    tag=Tag.ACCOUNTS,
    description="For ten minutes after a sign-in or a step-up. The new address is mailed a code and a link, the present one, "
    "if it is proven, a link to approve it; nothing changes before both are answered. The present one is told in any case. "
    "The answer is the same where the new address is somebody's.",
    body=MAIL,
)
async def change_email(request: RequestWith[MailForm], caller: UserCaller, services: Services) -> Accepted[FlowView]:
    """Have another address."""
    wish = await _read_wish(request, caller, services)
    return Accepted(ticket_view(await request_email_change(services.accounts, caller, wish)))


@mails_for_key(
    "POST /auth-collections/login-email",
    description="Mails the user with this address a code, which `/auth-collections/confirm` takes, and, with a "
    f"`code_challenge` and REDIRECT_URLS, a link. {UNIFORM}",
    body={
        "a code": {"email": "ann@example.com"},
        "a link": {"email": "ann@example.com", "code_challenge": EXAMPLE_CHALLENGE, "create": True},
    },
)
async def login_by_email(request: RequestWith[SignInForm], caller: KeyCaller, services: Services) -> Accepted[FlowView]:
    """Mail a user a code and a link to sign in."""
    form = await read_form(request)
    wanted = await _wish_of(request, caller, services, form)
    wish = SignInRequest(wanted, form.code_challenge, form.create)
    return Accepted(ticket_view(await request_sign_in(services.accounts, caller.project, wish)))


@takes_proof(
    "POST /auth-collections/confirm",
    description="Each code and each link is good once. Of a flow five codes are judged. The first proof of an address keeps "
    "the account's password, factors, identities and sessions where the request has a token of the account, its `password`, "
    "or the `flow_id` of its signup; otherwise they go, for a stranger may have made the account.",
    body=PROOFS,
    answer=Success(
        "The address is the user's; or, by the code, a sign-in, where the mail is for one or the signup waited",
        {
            "verified": {"email_verified": True},
            "signed in": EXAMPLE_SIGNED_IN,
            "another address": {"email": "ann@example.com", "waiting_for": "old"},
        },
    ),
    errors=(InvalidCode, InvalidToken, WrongPassword, *SECOND_FACTORS, AccountDisabled, EmailInUse, Busy),
)
async def confirm(
    request: RequestWith[ConfirmForm], caller: KeyCaller, services: Services
) -> Json[EmailVerified | SignedInView | EmailChangeView]:
    """Bring the code or the token of a mail."""
    form = await read_form(request)
    check_proof(form)
    accounts, project = services.accounts, caller.project
    user = await authenticate_user(request, services) if headers_of(request, b"authorization") else None
    ownership = Ownership(read_client(request, services), user, form.password, has_flow_id=form.token is None)
    if form.token is not None:
        return _outcome_response(await confirm_by_token(accounts, project, form.token, ownership))
    return _outcome_response(await confirm_by_code(accounts, project, form.flow_id or "", form.code or "", ownership))


def _outcome_response(outcome: Outcome) -> Json[EmailVerified | SignedInView | EmailChangeView]:
    match outcome:
        case OpenedSession():
            return Json(signed_in_view(outcome))
        case EmailChange():
            view: EmailChangeView = {"email": outcome.email, "waiting_for": outcome.waiting_for}
            return Json(view)
        case EmailProven():
            body: EmailVerified = {"email_verified": True}
            return Json(body)


@mails_for_key(
    "POST /auth-collections/forgot-password",
    description=f"Mails the user with this address a code and a link to choose another password. {UNIFORM}",
    body=MAIL,
)
async def forgot_password(request: RequestWith[MailForm], caller: KeyCaller, services: Services) -> Accepted[FlowView]:
    """Mail a user a code and a link to choose another password."""
    wish = await _read_wish(request, caller, services)
    return Accepted(ticket_view(await request_reset(services.accounts, caller.project, wish)))


@takes_proof(
    "POST /auth-collections/reset-password",
    description="Ends all sessions of the user, and signs nobody in. A password that is refused spends nothing, nor does a "
    "missing or wrong `factor` of somebody who has one.",
    body={title: {**proof, **PASSWORD} for title, proof in PROOFS.items()}
    | {"with a factor": {"token": EXAMPLE_TOKEN, **PASSWORD, "factor": {"totp": EXAMPLE_FACTOR}}},
    answer=Success("The password is another one"),
    errors=(InvalidCode, FACTOR_REQUIRED, InvalidFactor, Busy),
)
async def reset_password(request: RequestWith[ResetForm], caller: KeyCaller, services: Services) -> NoContent:
    """Choose another password, with the code or the token of a mail."""
    form = await read_form(request)
    check_proof(form)
    new = read_new_secret(form, read_client(request, services))
    if form.token is not None:
        await reset_by_token(services.accounts, caller.project, form.token, new)
    else:
        await reset_by_code(services.accounts, caller.project, form.flow_id or "", form.code or "", new)
    return NoContent()


async def _read_wish(request: RequestWith[MailForm], caller: Caller, services: Services) -> MailRequest:
    """Raises CaptchaFailed."""
    return await _wish_of(request, caller, services, await read_form(request))


async def _wish_of(request: Request, caller: Caller, services: Services, form: MailForm) -> MailRequest:
    await require_captcha(request, caller, services, "mail", form.captcha_token)
    return MailRequest(form.email, form.locale or find_locale(request), form.redirect_to)
