"""A project's users, administered with its secret key. `docs/administration.md` has examples."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import SecretKeyCaller
from service.domain.accounts import administration, handed_links
from service.domain.limits.policies import AUTH
from service.domain.permissions import Access
from service.errors import Busy, EmailInUse, LimitExceeded, UsernameTaken, UserNotFound
from service.services import Services
from service.web.accounts.bodies import UserRecord
from service.web.accounts.views import EXAMPLE_LOGIN, EXAMPLE_RECORD, record_view
from service.web.administration.bodies import LinkForm, LinkView, NewUserForm, PasswordForm, UserChangeForm, link_view
from service.web.auth.authenticate import Credential
from service.web.auth.operators import demand
from service.web.http.json_body import RequestWith, read_form
from service.web.http.locales import find_locale
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import EXAMPLE_TIME
from service.web.sessions.bodies import EXAMPLE_SESSION, SessionList, session_view

RECORD = {"a user": EXAMPLE_RECORD}
EXAMPLE_NEW = {
    **EXAMPLE_LOGIN,
    "data": {"name": "Ann"},
    "claims": {"plan": "pro"},
    "email_verified": True,
    "roles": ["editor"],
}
EXAMPLE_LINK = {
    "url": "https://auth.example.com/auth-collections/link?t=Zt0rXk8Jq4vW1nBs6yPe3cLm9uHa2fGd5oKi7xTz-Qw",
    "code": "402719",
    "flow_id": "4bS9uQmXk1dW0p2RzV7nYA",
    "expires_at": EXAMPLE_TIME,
}

by_server = partial(endpoint, credential=Credential.API_KEY, policy=AUTH, tag=Tag.USERS)
of_user = partial(by_server, errors=(UserNotFound,))


@by_server(
    "POST /auth-collections/users",
    operator=Access("users", "write"),
    description="Nobody is signed in by this, and a taken address is a 409.",
    body={"a user": EXAMPLE_NEW, "an invitation": {"email": "bob@example.com", "invite": True}},
    answer=Success("The new user", RECORD),
    errors=(EmailInUse, UsernameTaken, LimitExceeded, Busy),
)
async def create_user(
    request: RequestWith[NewUserForm], caller: SecretKeyCaller, services: Services
) -> Created[UserRecord]:
    """Make a user."""
    form = await read_form(request)
    draft = form.draft(find_locale(request))
    return Created(record_view(await administration.create_user(services.accounts, caller.project, draft)))


@by_server(
    "PATCH /auth-collections/users/{id}",
    operator=Access("users", "write"),
    description="Disabling ends all sessions of the user, and lets nobody sign in until the user is enabled again.",
    body={
        "two fields": {"data": {"name": "Ann B."}, "claims": {"plan": "free"}},
        "disable": {"disabled": True},
    },
    answer=Success("The user afterwards", RECORD),
    errors=(UserNotFound, EmailInUse, UsernameTaken),
)
async def change_user(
    request: RequestWith[UserChangeForm], caller: SecretKeyCaller, services: Services
) -> Json[UserRecord]:
    """Change a user, or disable and enable the account."""
    form = await read_form(request)
    if "email" in form.model_fields_set:
        demand(caller, Access("users", "write", confirm=True))
    changed = await administration.change_user(
        services.accounts, caller.project, request.path_params["id"], form.change()
    )
    return Json(record_view(changed))


@of_user(
    "DELETE /auth-collections/users/{id}",
    operator=Access("users", "write"),
    answer=Success("The user is gone, with the user's sessions and files"),
)
async def delete_user(request: Request, caller: SecretKeyCaller, services: Services) -> NoContent:
    """Delete a user, and the user's files."""
    await administration.delete_user(services.accounts, caller.project, request.path_params["id"])
    return NoContent()


@by_server(
    "PUT /auth-collections/users/{id}/password",
    operator=Access("users", "write", confirm=True),
    description="Ends all sessions of the user.",
    body={"a password": {"password": "correct horse battery"}},
    answer=Success("The password is replaced"),
    errors=(UserNotFound, Busy),
)
async def replace_password(
    request: RequestWith[PasswordForm], caller: SecretKeyCaller, services: Services
) -> NoContent:
    """Give a user another password."""
    form = await read_form(request)
    await administration.replace_user_password(
        services.accounts, caller.project, request.path_params["id"], form.read()
    )
    return NoContent()


@of_user(
    "GET /auth-collections/users/{id}/sessions",
    operator=Access("users", "read"),
    answer=Success(
        "The sessions that can still be used, the newest first; `current` is false",
        {"one": {"sessions": [EXAMPLE_SESSION | {"current": False}]}},
    ),
)
async def list_sessions_of_user(request: Request, caller: SecretKeyCaller, services: Services) -> Json[SessionList]:
    """List a user's sessions."""
    found = await administration.list_sessions(services.accounts, caller.project, request.path_params["id"])
    return Json({"sessions": [session_view(session, None) for session in found]})


@of_user(
    "DELETE /auth-collections/users/{id}/sessions",
    operator=Access("users", "write"),
    description="The user's tokens are refused from the next request on.",
    answer=Success("All have ended"),
)
async def end_sessions_of_user(request: Request, caller: SecretKeyCaller, services: Services) -> NoContent:
    """End all sessions of a user."""
    await administration.end_sessions(services.accounts, caller.project, request.path_params["id"])
    return NoContent()


@of_user(
    "DELETE /auth-collections/users/{id}/factors",
    operator=Access("users", "write", confirm=True),
    description="Of whoever has lost them all, and the recovery codes. The user is told by mail; sessions go on.",
    answer=Success("The user has no second factor"),
)
async def remove_factors_of_user(request: Request, caller: SecretKeyCaller, services: Services) -> NoContent:
    """Remove all second factors of a user."""
    await administration.remove_factors(services.accounts, caller.project, request.path_params["id"])
    return NoContent()


@of_user(
    "POST /auth-collections/users/{id}/links",
    operator=Access("users", "write", confirm=True),
    description="What a mail would carry, for a server that hands it over itself. Nobody is mailed.",
    body={"an invitation": {"purpose": "invite"}},
    answer=Success("The link, and the code that is good with the `flow_id`", {"a link": EXAMPLE_LINK}),
)
async def make_link(request: RequestWith[LinkForm], caller: SecretKeyCaller, services: Services) -> Created[LinkView]:
    """Make a link and a code for a user, without a mail."""
    form = await read_form(request)
    user_id = request.path_params["id"]
    made = await handed_links.make_link(services.flows, caller.project, user_id, form.purpose, form.redirect_to)
    return Created(link_view(made))
