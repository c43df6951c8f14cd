"""Accounts as answers show them, with the examples and the answers that several capabilities share."""

from collections.abc import Callable
from typing import Any, cast

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.accounts.users import OpenedSession as SignIn
from service.domain.lists import COUNTS, Listing
from service.errors import EnrolmentRequired, FactorRequired
from service.query.account_shape import show_account
from service.query.populate import Row
from service.storage.users import StoredUser
from service.web.accounts.bodies import OwnUser, Profile, ReadUser, SignedIn, UserList, UserRecord, VisibleUser
from service.web.auth.grant import grant_view
from service.web.openapi.declaration import ErrorExample, Success
from service.web.openapi.lists import describe_page
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME

EXAMPLE_USER = {
    "id": EXAMPLE_ID,
    "email": "ann@example.com",
    "data": {"name": "Ann", "age": 33, "referred_by_id": "66f0c1a2b3c4d5e6f7a8b9c1"},
    "created_at": EXAMPLE_TIME,
}
EXAMPLE_ACCOUNT = {
    **EXAMPLE_USER,
    "email_verified": True,
    "disabled": False,
    "claims": {"plan": "pro"},
    "last_sign_in_at": EXAMPLE_TIME,
}
EXAMPLE_RECORD = {**EXAMPLE_ACCOUNT, "updated_at": EXAMPLE_TIME}
EXAMPLE_OWN = {**EXAMPLE_USER, "email_verified": True, "roles": ["editor"]}
EXAMPLE_LOGIN = {"email": "ann@example.com", "password": "correct horse"}
EXAMPLE_SIGNED_IN = {
    "access_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRlbW8uMWEyYiJ9.eyJzdWIiOiI2NmYwIn0.c2ln",
    "token_type": "bearer",
    "user": EXAMPLE_OWN,
}
SIGNED_IN = Success("The user, with a new token", {"signed in": EXAMPLE_SIGNED_IN})

# Answers to a right credential in the place of a session.
EXAMPLE_PENDING = "oHc4sJk2TqVbX7mPzR1yWg"
FACTOR_REQUIRED = ErrorExample(FactorRequired, EXAMPLE_PENDING, ("totp", "recovery_code"), 600)
ENROLMENT_REQUIRED = ErrorExample(EnrolmentRequired, EXAMPLE_PENDING)
SECOND_FACTORS = (FACTOR_REQUIRED, ENROLMENT_REQUIRED)


def own_view(user: StoredUser) -> OwnUser:
    """A user as the answer to a sign-in shows the user's own account."""
    view: OwnUser = {
        "id": user.id,
        "email": user.email,
        "data": user.data,
        "created_at": user.created_at,
        "email_verified": user.email_verified,
    }
    if user.is_anonymous:
        view["anonymous"] = True
    if user.roles:
        view["roles"] = user.roles
    return view


def profile_view(user: StoredUser) -> Profile:
    """A user as the profile shows the user's own account."""
    return {**own_view(user), "updated_at": user.updated_at}


def _with_counts(view: Any, row: Row) -> Any:
    return {**view, COUNTS: row[COUNTS]} if COUNTS in row else view


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
    return cast(ReadUser, _with_counts(view, row))


def record_view(row: Row) -> UserRecord:
    """A single user as the project's servers see one: all but the password, and what signs the user in."""
    return cast(UserRecord, _with_counts({**show_account(row), "updated_at": row["updated_at"]}, row))


def signed_in_view(result: SignIn) -> SignedIn:
    view: Any = {**grant_view(result.grant), "user": own_view(result.user)}
    return cast(SignedIn, view)


def list_view(caller: ProjectCaller, listing: Listing) -> UserList:
    view: Callable[[Row], Any] = show_account if isinstance(caller, SecretKeyCaller) else row_view
    return {"users": [_with_counts(view(row), row) for row in listing.rows], **describe_page(listing)}
