"""Signup and login; `profile` has the fields of a user, `directory` the users as others see them."""

import secrets
from asyncio import sleep
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import monotonic
from typing import Any

from service.domain.access.caller import KeyCaller, PublishableKeyCaller
from service.domain.accounts import Accounts
from service.domain.accounts.password_rules import check_length, check_password
from service.domain.accounts.profile import RESERVED, check_profile, list_not_writable, refuse_wrapped, sign_files
from service.domain.accounts.user_names import list_name_faults
from service.domain.files.files import Submission
from service.domain.idempotency import Keep
from service.domain.mail_flows.codes import MISTAKES, name_account, uncount
from service.domain.mail_flows.flows import Flows
from service.domain.profiles.profiles import JudgedProfile, ProfileDraft
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import PASSWORD, Client, Grant
from service.errors import (
    Busy,
    DuplicateValue,
    EmailTaken,
    IdempotencyKeyUsed,
    Invalid,
    UsernameTaken,
    UserNotFound,
    WrongCredentials,
    WrongPassword,
)
from service.schema.user_names import FIELD, fold_name
from service.schema.values import check_data
from service.storage.account_states import NEW_ACCOUNT, AccountState
from service.storage.databases import ProjectDatabase
from service.storage.factors import find_owner
from service.storage.files.uploads import Upload
from service.storage.users import FIRST_VERSION, Credentials, NewUser, StoredUser, Users

# By the names of those for codes, so they are the same counters.
GUESSES = tuple(replace(policy, what=policy.what.replace("codes", "passwords and codes")) for policy in MISTAKES)
REFUSALS = (UserNotFound, WrongCredentials, WrongPassword)
# In a project with hashes of other programs: seconds after its begin at which a refused login ends, at the first not over.
REFUSAL_ENDS = (1.0, 2.0)
# The longest wait of `_blur`.
BLUR_MICROSECONDS = 20_000


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The fields of a signup, in the form and by the rules that `check_signup` knows."""

    email: str
    password: str = field(repr=False)
    profile: JudgedProfile


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A user with a new session."""

    grant: Grant
    user: StoredUser


async def check_signup(
    accounts: Accounts, caller: KeyCaller, email: str, password: str, data: Mapping[str, Any]
) -> NewAccount:
    """The account, which `sign_up` can store; `email` is normalized. Raises EmailTaken, UsernameTaken, Invalid."""
    project = caller.project
    violations = check_password(password, project.settings, project.name, email)
    faults = [*check_profile(data, reserved=RESERVED), *refuse_wrapped(data, "beside email and password")]
    faults += list_name_faults(project.settings, data, is_new=True)
    if isinstance(caller, PublishableKeyCaller):
        faults += await list_not_writable(accounts, project, data)
    if faults:
        raise Invalid([*violations, *faults])
    profile, misfits = await accounts.profiles.check(project, ProfileDraft(data, loc=("body",)))
    if violations or misfits:
        raise Invalid([*violations, *misfits])
    # Before the look-up: the answer must not depend on whether the address has an account.
    await accounts.leaks.refuse(password, project.settings)
    # The unique index decides; this only saves the hash where the answer is known already.
    if not project.settings.hides_accounts and await project.users.has_email(email):
        raise EmailTaken
    if project.settings.usernames != "off" and FIELD in data and await project.users.has_username(data[FIELD]):
        raise UsernameTaken
    return NewAccount(email, password, profile)


async def sign_up(
    accounts: Accounts, caller: KeyCaller, submission: Submission[NewAccount], client: Client
) -> OpenedSession:
    """Stores a new user with the submission's files, and signs the user in. Raises EmailTaken, Invalid, Busy."""
    user = await store_signup(accounts, caller, submission)
    return await sign_in(accounts, caller.project, user, client)


async def store_signup(
    accounts: Accounts, caller: KeyCaller, submission: Submission[NewAccount], keep: Keep[StoredUser] | None = None
) -> StoredUser:
    """Stores a new user. Raises as `sign_up`. `keep` is called in the transaction of the write."""
    project, new = caller.project, await prepare_signup(accounts, caller, submission)

    async def insert(data: Mapping[str, Any]) -> StoredUser:
        user = replace(new, data={**data, **submission.urls})
        if keep is None:
            return await project.users.insert(user, submission.upload)
        return await _insert_and_keep(project, user, submission.upload, keep)

    try:
        return await accounts.profiles.store(project, require_account(submission).profile, insert)
    except DuplicateValue:
        raise EmailTaken from None


async def prepare_signup(accounts: Accounts, caller: KeyCaller, submission: Submission[NewAccount]) -> NewUser:
    """The user to store, with a hash of the password. Raises Invalid, Busy."""
    account = require_account(submission)
    data = {**account.profile.data, **submission.urls}
    if submission.urls:
        await _check_files(accounts, caller, data, submission.urls)
    hashed = await accounts.passwords.hash(account.password, caller.project.id)
    return NewUser(account.email, hashed, data, submission.owner)


async def open_first(accounts: Accounts, project: Project, user_id: str, client: Client) -> OpenedSession:
    """Opens a session as the user's signup does. A repeated signup opens another one.

    Raises IdempotencyKeyUsed where all sessions from before have ended, or the user is gone; and as `sign_in`, for by
    then the user may have a second factor.
    """
    owner = await find_owner(project.database, user_id)
    if owner is None or owner.user.version != FIRST_VERSION:
        raise IdempotencyKeyUsed
    return await sign_in(accounts, project, owner.user, client, owner.state)


async def _check_files(accounts: Accounts, caller: KeyCaller, data: Mapping[str, Any], urls: Mapping[str, Any]) -> None:
    """Checks the fields that files add to a profile that is valid without them. Raises Invalid."""
    violations = [*check_data(data), *list_name_faults(caller.project.settings, urls, is_new=False)]
    if isinstance(caller, PublishableKeyCaller):
        violations += await list_not_writable(accounts, caller.project, urls)
    if violations:
        raise Invalid(violations)


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A password, with the address, which is normalized, or with the name of the user."""

    password: str = field(repr=False)
    email: str = ""
    username: str | None = None


async def log_in(accounts: Accounts, project: Project, login: LoginAttempt, client: Client) -> OpenedSession:
    """Raises UserNotFound, WrongCredentials, LimitExceeded, AccountDisabled, EmailNotVerified, Busy."""
    password = login.password
    async with _end_alike(project), _find_and_count(accounts, project, login) as credentials:
        if credentials is None and not project.settings.hides_accounts:
            raise UserNotFound
        # Without an account the check takes as long as a wrong password.
        stored = credentials.password if credentials is not None else ""
        is_right = await accounts.passwords.verify(password, stored, project.id, project.signer_keys)
        if credentials is None or not is_right:
            refusal = WrongCredentials()
            if credentials is not None:
                accounts.sessions.note_refusal(project, credentials.user.id, client, refusal)
            if project.settings.hides_accounts:
                await _blur()
            raise refusal
    if accounts.passwords.is_outdated(credentials.password):
        await _adopt(accounts, project, credentials, password)
    return await sign_in(accounts, project, credentials.user, client, credentials.state)


@asynccontextmanager
async def _find_and_count(
    accounts: Accounts, project: Project, login: LoginAttempt
) -> AsyncIterator[Credentials | None]:
    """The account of a login. Wrong passwords count for the account, whether the login has its address or its name."""
    if login.username is None:
        async with count_guess(accounts.flows, project, login.email):
            yield await project.users.find_credentials(login.email)
        return
    credentials = await project.users.find_named_credentials(login.username)
    name = credentials.user.name if credentials is not None else fold_name(login.username)
    async with count_guess(accounts.flows, project, name):
        yield credentials


async def _adopt(accounts: Accounts, project: Project, credentials: Credentials, password: str) -> None:
    """Replaces a hash that is imported or cheaper, unless bcrypt cannot read the whole password, or all are busy."""
    if not check_length(password, 0):
        with suppress(Busy):
            hashed = await accounts.passwords.hash(password, project.id)
            await project.users.replace_password(credentials, hashed)


async def check_present(
    accounts: Accounts, project: Project, credentials: Credentials, password: str | None, client: Client
) -> None:
    """Checks the password of a signed-in user. Raises WrongPassword, LimitExceeded, Busy."""
    if password is None:
        raise WrongPassword
    async with count_guess(accounts.flows, project, credentials.user.name):
        if not await accounts.passwords.verify(password, credentials.password, project.id, project.signer_keys):
            refusal = WrongPassword()
            accounts.sessions.note_refusal(project, credentials.user.id, client, refusal)
            raise refusal


async def sign_in(
    accounts: Accounts,
    project: Project,
    user: StoredUser,
    client: Client,
    state: AccountState = NEW_ACCOUNT,
    *,
    amr: tuple[str, ...] = PASSWORD,
    auth_time: datetime | None = None,
) -> OpenedSession:
    """A session for a user who was recognized just now, or who gave a new password. Raises as `Sessions.open`."""
    known = replace(user, email_verified=state.email_verified, roles=state.roles)
    shown = await sign_files(accounts.protection, project, known)
    grant = await accounts.sessions.open(
        project, user.id, user.version, client, state=state, amr=amr, auth_time=auth_time
    )
    return OpenedSession(grant, shown)


def require_account(submission: Submission[NewAccount]) -> NewAccount:
    """Raises Invalid where a form had none."""
    if submission.checked is None:
        raise Invalid.one(("body", "data"), "Field required", type_="missing")
    return submission.checked


async def _insert_and_keep(project: Project, new: NewUser, upload: Upload | None, keep: Keep[StoredUser]) -> StoredUser:
    async def insert(database: ProjectDatabase) -> StoredUser:
        user = await Users(database).insert(new)
        await keep(database, user)
        return user

    return await (project.database.in_transaction(insert) if upload is None else upload.publish(insert))


@asynccontextmanager
async def _end_alike(project: Project) -> AsyncIterator[None]:
    """Around a login: where other programs' hashes are left, whose checks take times of their own, refusals end at one time."""
    begun = monotonic()
    try:
        yield
    except (UserNotFound, WrongCredentials):
        if project.has_foreign_hashes:
            passed = monotonic() - begun
            await sleep(next((end - passed for end in REFUSAL_ENDS if end > passed), 0))
        raise


async def _blur() -> None:
    """Waits for up to 20 ms. To find a user and to note the refusal takes 0.15 ms, which a few hundred logins would tell."""
    await sleep(secrets.randbelow(BLUR_MICROSECONDS) / 1_000_000)


@asynccontextmanager
async def count_guess(flows: Flows, project: Project, email: str) -> AsyncIterator[None]:
    """Around the judging of one password, which ends with one of REFUSALS if it is wrong. Raises LimitExceeded.

    A try is counted before it is judged, so that no number of concurrent tries passes the limit. It is refunded if
    the password was right. Tries for an address without an account are counted, too.
    """
    if not project.settings.login_failures:
        yield
        return
    account = name_account(flows.key, project.id, email)
    taken = [await flows.limits.take_one(project, policy, account) for policy in GUESSES]
    try:
        yield
    except REFUSALS:
        raise
    except BaseException:
        await uncount(flows.limits, taken)
        raise
    await uncount(flows.limits, taken)
