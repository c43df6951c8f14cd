"""Accounts over HTTP: specification sections 4.1 and 5.1."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.status import HTTP_202_ACCEPTED

from service.domain.access.caller import AnonymousCaller, KeyCaller, ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.users import Accounts, NewAccount
from service.domain.accounts.users import SignedIn as SignIn
from service.domain.confirmations.signups import UNASKED, Registered, must_prove
from service.domain.files.files import Submission
from service.domain.idempotency import Answer, Keep
from service.domain.lists import Listing
from service.domain.sessions.access_tokens import public_keys
from service.errors import Invalid, UnsupportedMedia, Violation
from service.query.account_shape import show_account
from service.query.parse import parse_distinct, parse_query
from service.query.populate import Row
from service.schema.values import read_time
from service.services import Services
from service.storage.ids import new_id
from service.storage.users import User as StoredUser
from service.web.accounts.bodies import (
    Login,
    OwnUser,
    Profile,
    ReadUser,
    RolesForm,
    SignedIn,
    Signup,
    UserList,
    UserRecord,
    VisibleUser,
)
from service.web.auth.client import read_client
from service.web.auth.grant import grant_view
from service.web.http.conditional import find_known, read_if_match
from service.web.http.forms import is_form, read_submission
from service.web.http.idempotency import Sent, find_key, keep_small, refuse_form, replayed_headers, write_once
from service.web.http.json_body import read_object, validated
from service.web.http.list_body import located_in_body, read_list_body
from service.web.http.locales import find_locale
from service.web.http.render import json_response, tagged_response
from service.web.openapi.lists import describe_page, distinct_view
from service.web.openapi.tickets import flow_view, ticket_view


async def signup(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Register a user."""
    accounts = services.accounts
    if (key := find_key(request)) is not None:
        return await _signup_once(request, caller, services, key)

    if caller.project.settings.private_accounts and is_form(request):
        raise UnsupportedMedia("Send JSON; files can be added once the address is proven")
    check = partial(_check_signup, accounts, caller)
    async with read_submission(request, services.files, caller.project, new_id(), check) as submission:
        if caller.project.settings.email_verification != UNASKED:
            registered = await services.signups.register(caller, submission, find_locale(request))
            return await _registered_response(request, caller, services, registered)
        signed_in = await accounts.signup(caller, submission, read_client(request, services))
        return json_response(signed_in_view(signed_in), 201)


async def _registered_response(
    request: Request, caller: KeyCaller, services: Services, registered: Registered
) -> Response:
    """A session, unless the address must be proven first."""
    ticket = registered.ticket
    if must_prove(caller.project) or registered.user is None:
        return json_response(ticket_view(ticket), 202)
    client = read_client(request, services)
    signed_in = await services.accounts.sign_in(caller.project, registered.user, client)
    return json_response({**signed_in_view(signed_in), "flow_id": ticket.flow_id}, 201)


async def _check_signup(accounts: Accounts, caller: KeyCaller, fields: dict[str, Any]) -> NewAccount:
    try:
        form = validated(Signup, fields)
    except Invalid as error:
        raise Invalid([*error.violations, *_judge_password(caller, fields, error)], omitted=error.omitted) from None
    return await accounts.check_signup(caller, form.email, form.password, form.model_extra or {})


def _judge_password(caller: KeyCaller, fields: dict[str, Any], error: Invalid) -> list[Violation]:
    """The rules that the password breaks, where nothing was found wrong with it yet: a bad address does not hide them."""
    password, project = fields.get("password"), caller.project
    if not isinstance(password, str) or any(each.loc[:2] == ("body", "password") for each in error.violations):
        return []
    return check_password(password, project.settings, project.name)


async def _signup_once(request: Request, caller: KeyCaller, services: Services, key: str) -> Response:
    """A token is never kept: each answer has a new one."""
    accounts, project = services.accounts, caller.project
    refuse_form(request)

    async def make(sent: Sent) -> Submission[NewAccount]:
        return Submission(new_id(), sent, {}, await _check_signup(accounts, caller, sent))

    async def create(sent: Sent, keep: "Keep[StoredUser] | None") -> object:
        return await accounts.create(caller, await make(sent), keep)

    async def register(sent: Sent, keep: "Keep[Registered] | None") -> object:
        return await services.signups.register(caller, await make(sent), find_locale(request), keep)

    once = partial(write_once, request, caller, services.idempotency, key)
    if project.settings.email_verification != UNASKED:
        render = partial(_kept_registration, must_prove(project))
        answer = await once(write=register, render=render, abridge=keep_small(_registration_reference))
    else:
        answer = await once(write=create, render=_kept_user, abridge=keep_small(_user_reference))
    kept, headers = orjson.loads(answer.body), replayed_headers(answer)
    if answer.status == HTTP_202_ACCEPTED:
        view = flow_view(kept["flow_id"], read_time(kept["expires_at"]))
        return json_response(view, answer.status, headers)
    shown = kept if "user" in kept else {"user": kept}
    signed_in = await accounts.open_first(project, shown["user"]["id"], read_client(request, services))
    if "email" not in shown["user"]:
        shown["user"] = own_view(signed_in.user)
    return json_response({**grant_view(signed_in.grant), **shown}, answer.status, headers)


def _kept_user(user: StoredUser) -> Answer:
    return Answer(201, bytes(json_response(own_view(user)).body).decode())


def _user_reference(user: StoredUser) -> dict[str, Any]:
    return {"id": user.id}


def _registration_reference(registered: Registered) -> dict[str, Any]:
    """Of one whose answer is large, for which it has a user."""
    return {"user": {"id": registered.user.id if registered.user else ""}, "flow_id": registered.ticket.flow_id}


def _kept_registration(waits: bool, registered: Registered) -> Answer:
    ticket = registered.ticket
    if waits or registered.user is None:
        kept = {"flow_id": ticket.flow_id, "expires_at": ticket.expires_at}
        return Answer(202, bytes(json_response(kept).body).decode())
    shown = {"user": own_view(registered.user), "flow_id": ticket.flow_id}
    return Answer(201, bytes(json_response(shown).body).decode())


async def login(request: Request, caller: KeyCaller, services: Services) -> Response:
    """Authenticate a user."""
    form = validated(Login, await read_object(request))
    client = read_client(request, services)
    return json_response(
        signed_in_view(await services.accounts.login(caller.project, form.email, form.password, client))
    )


async def profile(request: Request, caller: UserCaller, services: Services) -> Response:
    """Get the authenticated user."""
    user = await services.accounts.profile(caller)
    asks = "if-none-match" in request.headers and not user.has_signed_urls
    found = find_known(request.headers, user.revision) if asks else None
    return found or tagged_response(profile_view(user), user.revision)


async def update_profile(request: Request, caller: UserCaller, services: Services) -> Response:
    """Update the authenticated user's profile data."""
    accounts, revisions = services.accounts, read_if_match(request.headers)
    check = partial(accounts.check_update, caller, revisions)
    async with read_submission(request, services.files, caller.project, caller.user_id, check) as submission:
        user = await accounts.update_profile(caller, submission, revisions=revisions)
        return tagged_response(profile_view(user), user.revision)


async def get_user(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Get one user."""
    row = await services.directory.find(caller, request.path_params["id"])
    return json_response(record_view(row) if isinstance(caller, SecretKeyCaller) else visible_view(row))


async def replace_roles(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """Give a user roles."""
    roles, user_id = services.roles, request.path_params["id"]
    among = await roles.assignable(caller, user_id)
    form = validated(RolesForm, await read_object(request))
    client = read_client(request, services)
    given = await roles.replace(caller, user_id, form.roles, among=among, client=client)
    return json_response({"id": user_id, "roles": given})


async def list_users(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """List and query users."""
    query = parse_query(request.scope["query_string"])
    return json_response(list_view(caller, await services.directory.list(caller, query)))


async def query_users(request: Request, caller: ProjectCaller, services: Services) -> Response:
    """List and query users with conditions in the body."""
    await services.directory.check_reader(caller)
    with located_in_body():
        query = await read_list_body(request)
        return json_response(list_view(caller, await services.directory.list(caller, query)))


async def distinct_users(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List the values of a field of users."""
    path, query = parse_distinct(request.scope["query_string"])
    return json_response(distinct_view(await services.directory.distinct(caller.project, path, query)))


async def jwks(request: Request, caller: AnonymousCaller, services: Services) -> Response:
    """The public keys with which anyone can verify this project's user tokens."""
    return json_response(public_keys(caller.project), headers={"cache-control": "public, max-age=300"})


def own_view(user: StoredUser) -> OwnUser:
    """A user as the answer to a sign-in shows the user's own account."""
    view: OwnUser = {
        "id": user.id,
        "email": user.email,
        "data": user.data,
        "created_at": user.created_at,
        "email_verified": user.email_verified,
    }
    if user.roles:
        view["roles"] = user.roles
    return view


def profile_view(user: StoredUser) -> Profile:
    """A user as the profile shows the user's own account."""
    return {**own_view(user), "updated_at": user.updated_at}


def row_view(row: Row) -> VisibleUser:
    """A user of a list, which makes no object of each row."""
    if "email" not in row:
        return {"id": row["_id"], "data": row["data"], "created_at": row["created_at"]}
    return {"id": row["_id"], "email": row["email"], "data": row["data"], "created_at": row["created_at"]}


def visible_view(row: Row) -> ReadUser:
    """A single user as the caller may see one."""
    view: Any = {**row_view(row), "updated_at": row["updated_at"]}
    if row.get("roles"):
        view["roles"] = row["roles"]
    return cast(ReadUser, view)


def record_view(row: Row) -> UserRecord:
    """A single user as the project's servers see one: all but the password, and what signs the user in."""
    return cast(UserRecord, {**show_account(row), "updated_at": row["updated_at"]})


def signed_in_view(result: SignIn) -> SignedIn:
    view: Any = {**grant_view(result.grant), "user": own_view(result.user)}
    return cast(SignedIn, view)


def list_view(caller: ProjectCaller, listing: Listing) -> UserList:
    view: Callable[[Row], Any] = show_account if isinstance(caller, SecretKeyCaller) else row_view
    return {"users": [view(row) for row in listing.rows], **describe_page(listing)}
