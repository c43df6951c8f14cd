"""Anonymous users over HTTP: a user without an address, and the account that one gets later."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from service.domain.access.caller import KeyCaller, UserCaller
from service.domain.accounts.administration import NAMES
from service.domain.accounts.anonymous import sign_up_anonymously
from service.domain.confirmations.upgrades import Upgrade, upgrade
from service.domain.limits.policies import ANONYMOUS_SIGNUP, SIGNUP
from service.domain.mail_flows.purposes import Ticket
from service.errors import AnonymousOff, Busy, CaptchaFailed, EmailTaken, NotAnonymous, UsernameTaken
from service.services import Services
from service.web.accounts.bodies import UNWRAPPED, SignedIn, without
from service.web.accounts.views import (
    ENROLMENT_REQUIRED,
    EXAMPLE_LOGIN,
    EXAMPLE_OWN,
    EXAMPLE_SIGNED_IN,
    SIGNED_IN,
    signed_in_view,
)
from service.web.auth.authenticate import Credential
from service.web.auth.captcha import require_captcha
from service.web.auth.client_address import read_client
from service.web.http.emails import Email
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.passwords import NewPassword
from service.web.http.render import Accepted, Created, Json
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.tickets import FLOW, FlowView, ticket_view

EXAMPLE_ANONYMOUS = {**EXAMPLE_OWN, "email": None, "email_verified": False, "data": {"cart": ["a1"]}, "anonymous": True}


class AnonymousSignup(BaseModel):
    """Profile data. The token of a CAPTCHA comes in X-Captcha-Token."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=without(*NAMES) | UNWRAPPED)


class UpgradeForm(BaseModel):
    """The address and the password of the account. Without a password the address must be proven."""

    model_config = ConfigDict(strict=True, extra="forbid")

    email: Email
    password: NewPassword | None = None


@endpoint(
    "POST /auth-collections/signup-anonymous",
    credential=Credential.ANY_KEY,
    policy=ANONYMOUS_SIGNUP,
    tag=Tag.ACCOUNTS,
    description="Where the project's ANONYMOUS is `on`. The body is the user's `data`. A user that is not used for "
    "ANONYMOUS_DAYS is deleted.",
    body={"a cart": {"cart": ["a1"]}},
    answer=Success("The new user, with a token", {"anonymous": {**EXAMPLE_SIGNED_IN, "user": EXAMPLE_ANONYMOUS}}),
    errors=(CaptchaFailed, AnonymousOff, UsernameTaken),
)
async def signup_anonymous(
    request: RequestWith[AnonymousSignup], caller: KeyCaller, services: Services
) -> Created[SignedIn]:
    """Register a user without an address."""
    form = await read_form(request)
    await require_captcha(request, caller, services, "anonymous")
    data: dict[str, Any] = form.model_extra or {}
    signed_in = await sign_up_anonymously(services.accounts, caller, data, read_client(request, services))
    return Created(signed_in_view(signed_in))


@endpoint(
    "POST /auth-collections/user/upgrade",
    credential=Credential.USER_TOKEN,
    policy=SIGNUP,
    tag=Tag.ACCOUNTS,
    description="For an anonymous user, whose id and data stay. A new session takes the place of the present one. Where "
    "addresses must be proven, the user has the address once the code of the mail was brought.",
    body={"an account": EXAMPLE_LOGIN},
    answer=(SIGNED_IN, Success("The address must be proven first", FLOW.examples)),
    errors=(EmailTaken, NotAnonymous, ENROLMENT_REQUIRED, Busy),
)
async def upgrade_user(
    request: RequestWith[UpgradeForm], caller: UserCaller, services: Services
) -> Json[SignedIn] | Accepted[FlowView]:
    """Give an anonymous user an account."""
    form = await read_form(request)
    wanted = Upgrade(form.email, form.password, find_locale(request))
    upgraded = await upgrade(services.accounts, caller, wanted, read_client(request, services))
    if isinstance(upgraded, Ticket):
        return Accepted(ticket_view(upgraded))
    view = signed_in_view(upgraded.signed_in)
    return Json(view if upgraded.flow_id is None else {**view, "flow_id": upgraded.flow_id})
