"""The administration of a project's users by its servers, with the secret key."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from service.domain.accounts import Accounts
from service.domain.accounts.account_fields import find_faults
from service.domain.accounts.changes import SERVER
from service.domain.accounts.own_factors import NOTICE
from service.domain.accounts.password_hashes import hash_fault
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.profile import RESERVED, check_profile
from service.domain.accounts.user_names import list_name_faults
from service.domain.limits.policies import MAILS_OF_PROJECT
from service.domain.mail_flows.purposes import Purpose, choose_redirect
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects.lookup import Project
from service.errors import DuplicateValue, EmailInUse, Invalid, UserNotFound, Violation
from service.query.populate import Row
from service.storage.account_states import AccountState
from service.storage.accounts import Account, AccountChange
from service.storage.databases import ProjectDatabase
from service.storage.sessions import Session
from service.storage.users import NewUser

# In `data` they would look as if they were the record's own.
NAMES = (*RESERVED, "email", "password")


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A password, or a hash that another program made. With neither the user cannot sign in by password."""

    password: str | None = field(default=None, repr=False)
    hashed: str | None = field(default=None, repr=False)


NO_PASSWORD = NewPassword()
INVITE = "invite"


@dataclass(frozen=True, slots=True)
class UserDraft:
    """A user to make; `email` is normalized."""

    email: str
    password: NewPassword
    data: Mapping[str, Any]
    state: AccountState
    invitation: "Invitation | None" = None


@dataclass(frozen=True, slots=True)
class Invitation:
    """A mail in this language, whose link and code let the user choose a password."""

    locale: str | None = None


async def create_user(accounts: Accounts, project: Project, draft: UserDraft) -> Row:
    """The new user.

    Raises Invalid, EmailInUse, TooLarge, Busy, LimitExceeded if the project reached its mails of the day.
    """
    violations = _check_password(project, draft.password, draft.email)
    violations += list_name_faults(project.settings, draft.data, ("body", "data"), is_new=True)
    _check(draft.data, {"claims": draft.state.claims, "roles": draft.state.roles}, violations)
    judged = await accounts.profiles.accept(project, ProfileDraft(draft.data))
    # A text that is no hash matches no password; the specification keeps the address there for users of a provider.
    hashed = await _hash(accounts, project, draft.password) or draft.email
    new = NewUser(draft.email, hashed, draft.data, state=draft.state)
    redirect_to = choose_redirect(project, None)

    async def invite(database: ProjectDatabase) -> None:
        if draft.invitation is not None:
            wanted = Purpose(INVITE, draft.email, new.id, locale=draft.invitation.locale, redirect_to=redirect_to)
            await accounts.flows.insert(project, wanted, database)

    try:
        async with _mailing(accounts, project, draft):
            created = await accounts.profiles.store(
                project,
                judged,
                lambda data: accounts.changes.create(project, replace(new, data=data), SERVER, invite),
            )
    except DuplicateValue:
        raise EmailInUse from None
    return await _show(accounts, project, created)


@asynccontextmanager
async def _mailing(accounts: Accounts, project: Project, draft: UserDraft) -> AsyncIterator[None]:
    """Around the write of a user: an invitation is one of the project's mails of the day, unless it is not written."""
    is_counted = draft.invitation is not None and project.settings.mail_limit
    taken = await accounts.flows.limits.take_one(project, MAILS_OF_PROJECT, "") if is_counted else None
    try:
        yield
    except BaseException:
        if taken is not None:
            await accounts.flows.limits.give_back(taken)
        raise
    if draft.invitation is not None:
        accounts.flows.wake()


async def change_user(accounts: Accounts, project: Project, user_id: str, change: AccountChange) -> Row:
    """The user afterwards. With another address the account is unproven, unless the change says otherwise.

    Raises UserNotFound, Invalid, EmailInUse, TooLarge.
    """
    faults = list_name_faults(project.settings, change.data or {}, ("body", "data"), is_new=False)
    _check(change.data or {}, {"claims": change.claims or {}, "roles": change.roles or ()}, faults)
    judged = await accounts.profiles.accept(project, ProfileDraft(change.data or {}, user_id=user_id))

    def decide(data: Mapping[str, Any], account: Account) -> AccountChange:
        is_moved = change.email is not None and change.email != account.user.email
        verified = False if is_moved and change.email_verified is None else change.email_verified
        # The field stays absent until an address is proven for the first time.
        is_same = verified is False and not account.state.email_verified
        wanted = replace(change, email_verified=None if is_same else verified)
        return wanted if change.data is None else replace(wanted, data=data)

    try:
        changed = await accounts.profiles.store(
            project,
            judged,
            lambda data: accounts.changes.apply(project, user_id, partial(decide, data), SERVER),
        )
    except DuplicateValue:
        raise EmailInUse from None
    return await _show(accounts, project, changed.after)


async def replace_user_password(accounts: Accounts, project: Project, user_id: str, password: NewPassword) -> None:
    """Gives a user another password, which ends the user's sessions. Raises UserNotFound, Invalid, Busy."""
    if password == NO_PASSWORD:
        raise Invalid.one(("body", "password"), "Field required", type_="missing")
    violations = _check_password(project, password)
    if not violations and password.password is not None and project.settings.refuses_common:
        violations = _check_password(project, password, await _find_email(project, user_id))
    if violations:
        raise Invalid(violations)
    hashed = await _hash(accounts, project, password)

    await accounts.changes.apply(project, user_id, AccountChange(password=hashed), SERVER)


async def delete_user(accounts: Accounts, project: Project, user_id: str) -> None:
    """The user goes with all that is the user's own; records that name the user stay. Raises UserNotFound."""
    await accounts.changes.remove(project, user_id, SERVER)


async def list_sessions(accounts: Accounts, project: Project, user_id: str) -> Sequence[Session]:
    """The sessions that can still be used, the newest first. Raises UserNotFound."""
    user = await project.users.find_profile(user_id)
    if user is None:
        raise UserNotFound
    return await accounts.sessions.list_of(project, user)


async def end_sessions(accounts: Accounts, project: Project, user_id: str) -> None:
    """Revokes every token of the user, also those that belong to no session. Raises UserNotFound."""
    await accounts.changes.apply(project, user_id, AccountChange(ends_sessions=True), SERVER)


async def remove_factors(accounts: Accounts, project: Project, user_id: str) -> None:
    """Removes all factors and recovery codes; a user who had any is mailed a notice. Raises UserNotFound."""
    await accounts.changes.apply(project, user_id, _without_factors, SERVER, notice=NOTICE)


async def _hash(accounts: Accounts, project: Project, password: NewPassword) -> str:
    """Empty where there is no password."""
    if password.password is None:
        return password.hashed or ""
    await accounts.leaks.refuse(password.password, project.settings)
    return await accounts.passwords.hash(password.password, project.id)


async def _show(accounts: Accounts, project: Project, account: Account) -> Row:
    row = project.database.file_urls.show(account.stored)
    if project.database.file_urls.names(row["data"]):
        await accounts.protection.sign_user(project, row["_id"], row["data"])
    return row


def _without_factors(account: Account) -> AccountChange | None:
    return AccountChange(removed_factors=account.factors) if account.factors else None


async def _find_email(project: Project, user_id: str) -> str | None:
    """Raises UserNotFound."""
    credentials = await project.users.find_own_credentials(user_id)
    if credentials is None:
        raise UserNotFound
    return credentials.user.email


def _check_password(project: Project, password: NewPassword, email: str | None = None) -> list[Violation]:
    if password.password is not None and password.hashed is not None:
        return [Violation(("body", "password_hash"), "Give either password or password_hash", "value_error")]
    if password.password is not None:
        return check_password(password.password, project.settings, project.name, email)
    fault = hash_fault(password.hashed) if password.hashed is not None else None
    return [Violation(("body", "password_hash"), f"This {fault}", "value_error")] if fault else []


def _check(data: Mapping[str, Any], account: Mapping[str, Any], violations: list[Violation]) -> None:
    """Raises Invalid for faults of profile data and of an account's fields, and for `violations`."""
    profile = check_profile(data, reserved=NAMES, loc=("body", "data"))
    if found := [*violations, *profile, *find_faults(account, ("body",))]:
        raise Invalid(found)
