"""Signups over HTTP: specification section 4.1."""

from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.status import HTTP_202_ACCEPTED

from service.domain.access.caller import KeyCaller
from service.domain.accounts import users
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.profile import find_uploads
from service.domain.accounts.users import NewAccount
from service.domain.confirmations import signups
from service.domain.confirmations.signups import UNASKED, Registered, must_prove
from service.domain.files.files import Submission
from service.domain.idempotency import Answer, Keep
from service.domain.limits.policies import SIGNUP
from service.errors import (
    Busy,
    CaptchaFailed,
    EmailTaken,
    IdempotencyKeyUsed,
    Invalid,
    UnsupportedMedia,
    UploadLost,
    UsernameTaken,
    Violation,
)
from service.schema.values import read_time
from service.services import Services
from service.storage.ids import new_id
from service.storage.users import StoredUser
from service.web.accounts.bodies import SignedIn, Signup, SignupForm
from service.web.accounts.views import ENROLMENT_REQUIRED, EXAMPLE_LOGIN, SIGNED_IN, own_view, signed_in_view
from service.web.auth.authenticate import Credential
from service.web.auth.captcha import require_captcha
from service.web.auth.client_address import read_client
from service.web.auth.grant import grant_view
from service.web.http.forms import is_form, read_submission
from service.web.http.idempotency import Sent, find_key, keep_small, refuse_form, replayed_headers, write_once
from service.web.http.json_body import RequestWith, validated
from service.web.http.locales import find_locale
from service.web.http.render import Accepted, Created, write_json
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.tickets import FLOW, FlowView, flow_view, ticket_view

SignupAnswer = Created[SignedIn] | Accepted[FlowView]


@endpoint(
    "POST /auth-collections/signup",
    credential=Credential.ANY_KEY,
    policy=SIGNUP,
    tag=Tag.ACCOUNTS,
    description="Every field beside `email` and `password` is stored in the user's `data`. A field such as "
    "`referred_by_id` that holds another user's id is a relation.",
    body={"a user": {**EXAMPLE_LOGIN, "name": "Ann", "age": 33}},
    idempotency_key=KeyUse.TAKEN,
    answer=(
        Success("The new user, with a token", SIGNED_IN.examples),
        Success("The address must be proven first: what the code of the mail is good with", FLOW.examples),
    ),
    errors=(CaptchaFailed, EmailTaken, UsernameTaken, IdempotencyKeyUsed, ENROLMENT_REQUIRED, Busy, UploadLost),
)
async def signup(request: RequestWith[Signup | SignupForm], caller: KeyCaller, services: Services) -> SignupAnswer:
    """Register a user."""
    accounts = services.accounts
    if (key := find_key(request)) is not None:
        return await _signup_once(request, caller, services, key)

    if caller.project.settings.private_accounts and is_form(request):
        raise UnsupportedMedia("Send JSON; files can be added once the address is proven")
    check = partial(_check_signup, request, caller, services)
    uploads = await find_uploads(accounts, caller.project)
    async with read_submission(request, services.files, caller.project, new_id(), check, uploads) as submission:
        if caller.project.settings.email_verification != UNASKED:
            registered = await signups.register(services.accounts, caller, submission, find_locale(request))
            return await _registered_response(request, caller, services, registered)
        signed_in = await users.sign_up(accounts, caller, submission, read_client(request, services))
        return Created(signed_in_view(signed_in))


async def _registered_response(
    request: Request, caller: KeyCaller, services: Services, registered: Registered
) -> SignupAnswer:
    """A session, unless the address must be proven first."""
    ticket = registered.ticket
    if must_prove(caller.project) or registered.user is None:
        return Accepted(ticket_view(ticket))
    client = read_client(request, services)
    signed_in = await users.sign_in(services.accounts, caller.project, registered.user, client)
    return Created({**signed_in_view(signed_in), "flow_id": ticket.flow_id})


async def _check_signup(request: Request, caller: KeyCaller, services: Services, fields: dict[str, Any]) -> NewAccount:
    try:
        form = validated(Signup, fields)
    except Invalid as error:
        raise Invalid([*error.violations, *_judge_password(caller, fields, error)], omitted=error.omitted) from None
    await require_captcha(request, caller, services, "signup")
    return await users.check_signup(services.accounts, caller, form.email, form.password, form.model_extra or {})


def _judge_password(caller: KeyCaller, fields: dict[str, Any], error: Invalid) -> list[Violation]:
    """The rules that the password breaks, where nothing was found wrong with it yet: a bad address does not hide them."""
    password, project = fields.get("password"), caller.project
    if not isinstance(password, str) or any(each.loc[:2] == ("body", "password") for each in error.violations):
        return []
    return check_password(password, project.settings, project.name)


async def _signup_once(request: Request, caller: KeyCaller, services: Services, key: str) -> SignupAnswer:
    """A token is never kept: each answer has a new one."""
    accounts, project = services.accounts, caller.project
    refuse_form(request)

    async def make(sent: Sent) -> Submission[NewAccount]:
        return Submission(new_id(), sent, {}, await _check_signup(request, caller, services, sent))

    async def create(sent: Sent, keep: "Keep[StoredUser] | None") -> object:
        return await users.store_signup(accounts, caller, await make(sent), keep)

    async def register(sent: Sent, keep: "Keep[Registered] | None") -> object:
        return await signups.register(services.accounts, caller, await make(sent), find_locale(request), keep)

    once = partial(write_once, request, caller, services.idempotency, key)
    if project.settings.email_verification != UNASKED:
        render = partial(_kept_registration, must_prove(project))
        answer = await once(write=register, render=render, abridge=keep_small(_registration_reference))
    else:
        answer = await once(write=create, render=_kept_user, abridge=keep_small(_user_reference))
    kept, headers = orjson.loads(answer.body), replayed_headers(answer)
    if answer.status == HTTP_202_ACCEPTED:
        view = flow_view(kept["flow_id"], read_time(kept["expires_at"]))
        return Accepted(view, headers)
    shown = kept if "user" in kept else {"user": kept}
    signed_in = await users.open_first(accounts, project, shown["user"]["id"], read_client(request, services))
    if "email" not in shown["user"]:
        shown["user"] = own_view(signed_in.user)
    created: Any = {**grant_view(signed_in.grant), **shown}
    return Created(created, headers)


def _kept_user(user: StoredUser) -> Answer:
    return Answer(201, write_json(own_view(user)).decode())


def _user_reference(user: StoredUser) -> dict[str, Any]:
    return {"id": user.id}


def _registration_reference(registered: Registered) -> dict[str, Any]:
    """The kept reference of a signup whose answer is too large to keep; it has a user."""
    return {"user": {"id": registered.user.id if registered.user else ""}, "flow_id": registered.ticket.flow_id}


def _kept_registration(waits: bool, registered: Registered) -> Answer:
    ticket = registered.ticket
    if waits or registered.user is None:
        kept = {"flow_id": ticket.flow_id, "expires_at": ticket.expires_at}
        return Answer(202, write_json(kept).decode())
    shown = {"user": own_view(registered.user), "flow_id": ticket.flow_id}
    return Answer(201, write_json(shown).decode())
