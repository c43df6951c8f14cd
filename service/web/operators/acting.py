"""Acting as a user, over HTTP."""

from functools import partial
from typing import Annotated

from pydantic import Field, StringConstraints
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.accounts import directory
from service.domain.operators.acting import LIFE
from service.domain.permissions import Access
from service.errors import AccountDisabled, ActingOff, SessionNotFound, UserNotFound
from service.services import Services
from service.web.accounts.bodies import UserRecord
from service.web.accounts.views import EXAMPLE_RECORD, record_view
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Created, NoContent
from service.web.openapi.declaration import Schema, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import EXAMPLE_ID, ID_SCHEMA, Id, Strict

MAX_REASON = 200
EXAMPLE_TOKEN = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRlbW8uMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln"  # noqa: S105 - it is forged
SID: dict[str, Schema] = {
    "sid": {"description": "The id of the session.", "schema": ID_SCHEMA, "example": EXAMPLE_ID},
}

of_users = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.OPERATORS)


class ActingForm(Strict):
    """`reason` is kept in the audit log."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON, strip_whitespace=True)]


class ActingView(TypedDict):
    """`sid` is the id of the session, which ends it."""

    access_token: str
    token_type: str
    expires_in: Annotated[int, Field(description="In seconds")]
    sid: Id
    user: UserRecord


@of_users(
    f"POST {IN_PROJECT}/users/{{id}}/act-as",
    operator=Access("users", "write", confirm=True, by_token=False),
    description="A token of 15 minutes for the public API. The user sees the session and its event. What needs a recent "
    "sign-in, and each change of the account, is refused with `not_while_acting`.",
    body={"a reason": {"reason": "Ticket 4711: the list of orders is empty"}},
    answer=Success(
        "The token, which is shown once",
        {
            "one": {
                "access_token": EXAMPLE_TOKEN,
                "token_type": "bearer",
                "expires_in": 900,
                "sid": EXAMPLE_ID,
                "user": EXAMPLE_RECORD,
            }
        },
    ),
    errors=(UserNotFound, ActingOff, AccountDisabled),
)
async def act_as_user(
    request: RequestWith[ActingForm], caller: OperatorCaller, services: Services
) -> Created[ActingView]:
    """Act as a user."""
    form = await read_form(request)
    user_id = request.path_params["id"]
    user = await directory.find_user(services.accounts, caller, user_id)
    grant = await services.operators.acting.begin(caller, user_id, form.reason)
    return Created(
        {
            "access_token": grant.access_token,
            "token_type": "bearer",
            "expires_in": int(LIFE.total_seconds()),
            "sid": grant.sid,
            "user": record_view(user),
        }
    )


@of_users(
    f"DELETE {IN_PROJECT}/users/{{id}}/act-as/{{sid}}",
    operator=Access("users", "write", by_token=False),
    description="The token is refused from the next request on.",
    path_parameters=SID,
    answer=Success("It has ended"),
    errors=(SessionNotFound,),
)
async def stop_acting(request: Request, caller: OperatorCaller, services: Services) -> NoContent:
    """Stop acting as a user."""
    place = request.path_params
    await services.operators.acting.end(caller.project.id, place["id"], place["sid"])
    return NoContent()
