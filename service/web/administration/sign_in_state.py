"""The ways in which a user can sign in, over HTTP."""

from typing import Literal

from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.accounts.sign_in_state import SignInMeans, read_sign_in_state
from service.domain.mail_flows.mailbox import MailList, list_mails_of
from service.domain.permissions import Access
from service.errors import UserNotFound
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.render import Json
from service.web.mails.endpoints import EXAMPLE_MAIL, MailView, mail_view
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, Time, WholeNumber

MAILS = 20
EXAMPLE_USED = {"created_at": EXAMPLE_TIME, "last_used_at": EXAMPLE_TIME}


class UserFactor(TypedDict):
    id: Id
    type: Literal["totp", "passkey"]
    name: str
    created_at: Time
    last_used_at: Time | None


class UserIdentity(TypedDict):
    """An identity; a fact that is not known is null."""

    id: Id
    provider: str | None
    email: str | None
    created_at: Time | None
    last_used_at: Time | None


class SignInView(TypedDict):
    """`mails` are the newest of the user that are known still."""

    password: bool
    factors: list[UserFactor]
    recovery_codes_left: WholeNumber
    identities: list[UserIdentity]
    mails: list[MailView]


@endpoint(
    f"GET {IN_PROJECT}/users/{{id}}/sign-in",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.USERS,
    operator=Access("users", "read"),
    answer=Success(
        "The password, the factors, the identities, and the newest mails; no secret",
        {
            "one": {
                "password": True,
                "factors": [{"id": EXAMPLE_ID, "type": "totp", "name": "My phone", **EXAMPLE_USED}],
                "recovery_codes_left": 9,
                "identities": [{"id": EXAMPLE_ID, "provider": "google", "email": "ann@example.com", **EXAMPLE_USED}],
                "mails": [EXAMPLE_MAIL],
            }
        },
    ),
    errors=(UserNotFound,),
)
async def read_sign_in(request: Request, caller: OperatorCaller, services: Services) -> Json[SignInView]:
    """Show how a user can sign in."""
    user_id = request.path_params["id"]
    state = await read_sign_in_state(caller.project, user_id)
    mails = await list_mails_of(services.flows, caller.project, user_id, limit=MAILS)
    return Json(_show(state, mails))


def _show(state: SignInMeans, mails: MailList) -> SignInView:
    factors: list[UserFactor] = [
        {
            "id": each.id,
            "type": "totp" if each.type == "totp" else "passkey",
            "name": each.name,
            "created_at": each.created_at,
            "last_used_at": each.last_used_at,
        }
        for each in state.factors
    ]
    identities: list[UserIdentity] = [
        {
            "id": each.id,
            "provider": each.identity.provider,
            "email": each.identity.email,
            "created_at": each.created_at,
            "last_used_at": each.last_used_at,
        }
        for each in state.identities
    ]
    return {
        "password": state.has_password,
        "factors": factors,
        "recovery_codes_left": state.recovery_codes,
        "identities": identities,
        "mails": [mail_view(mail) for mail in mails.mails],
    }
