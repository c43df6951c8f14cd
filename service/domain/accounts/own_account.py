"""Changes that users make to their own accounts: another password, and the end of the account."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.changes import Author
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.users import OpenedSession, check_present, sign_in
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import PASSWORD, has_factors, level_of
from service.domain.sessions.pending import Recognized
from service.domain.sessions.sessions import Client
from service.domain.sessions.step_up import require_recent
from service.errors import Invalid, InvalidToken, StepUpRequired
from service.storage.accounts import HASH, AccountChange
from service.storage.users import Credentials

NOTICE = "password_changed"


@dataclass(frozen=True, slots=True)
class PasswordChange:
    """`password` is the new one. `present` is the current one; omit it if the account has none. `locale` is the notice's."""

    password: str = field(repr=False)
    present: str | None = field(default=None, repr=False)
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class _Present:
    """The recognized account, and the claims of the new session: `amr`, and `auth_time` if it is not now."""

    credentials: Credentials
    amr: tuple[str, ...] = PASSWORD
    auth_time: datetime | None = None


async def replace_password(
    accounts: Accounts, caller: UserCaller, change: PasswordChange, client: Client
) -> OpenedSession:
    """Ends all sessions of the caller, opens a new one, voids what the user was mailed before, and tells the user.

    Raises Invalid for a password that the project does not take, InvalidToken, WrongPassword, StepUpRequired where there
    was no password and the token is not recent, or where it lacks the second factor; LimitExceeded, EmailNotVerified,
    EnrolmentRequired, Busy. The new session is of the level of the present one.
    """
    project = caller.project
    _check(project, change.password)
    present = await _recognize(accounts, caller, change.present, client)
    credentials = present.credentials
    _check(project, change.password, credentials.user.email)
    await accounts.leaks.refuse(change.password, project.settings)
    hashed = await accounts.passwords.hash(change.password, project.id)
    user = credentials.user
    author, wanted = Author.of(caller, client, change.locale), AccountChange(password=hashed)
    changed = await accounts.changes.apply(project, user.id, wanted, author, notice=NOTICE)
    signed_in, state = replace(user, version=changed.version), credentials.state
    return await sign_in(accounts, project, signed_in, client, state, amr=present.amr, auth_time=present.auth_time)


async def _recognize(accounts: Accounts, caller: UserCaller, present: str | None, client: Client) -> _Present:
    """Recognizes the user by the `present` password, or by a recent sign-in if the account has none."""
    credentials = await caller.project.users.find_own_credentials(caller.user_id)
    if credentials is None or not caller.is_in_force(credentials.user):
        raise InvalidToken
    if credentials.user.is_anonymous:
        raise StepUpRequired
    if not HASH.match(credentials.password):
        await require_recent(caller)
    else:
        await check_present(accounts, caller.project, credentials, present, client)
    if has_factors(caller.project.settings, credentials.state):
        return await _with_factor(accounts, caller, credentials)
    # A user whose next sign-in would be refused keeps the password and the sessions.
    recognized = Recognized(caller.user_id, caller.version, PASSWORD, caller.sid)
    await accounts.sessions.admit(caller.project, recognized, client, credentials.state)
    return _Present(credentials)


async def _with_factor(accounts: Accounts, caller: UserCaller, credentials: Credentials) -> _Present:
    """A password is no second factor: that proof keeps its own time."""
    session = await accounts.sessions.find_own(caller)
    if session is None or level_of(session.amr) < 2:
        raise StepUpRequired
    return _Present(credentials, session.amr, session.auth_time)


async def delete_own(accounts: Accounts, caller: UserCaller, client: Client) -> None:
    """Raises InvalidToken."""
    await accounts.changes.remove(caller.project, caller.user_id, Author.of(caller, client))


def _check(project: Project, password: str, email: str | None = None) -> None:
    if violations := check_password(password, project.settings, project.name, email):
        raise Invalid(violations)
