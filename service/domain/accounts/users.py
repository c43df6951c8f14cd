"""A project's users, as each uses the own account: signup, login and the profile; `directory` has them for others."""

import secrets
from asyncio import sleep
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from service.domain.access.caller import KeyCaller, PublishableKeyCaller, UserCaller
from service.domain.access.control import USERS
from service.domain.accounts import Accounts
from service.domain.accounts.directory import sign_files
from service.domain.accounts.guesses import count_guess
from service.domain.accounts.password_hashes import is_argon2id
from service.domain.accounts.password_rules import check_length, check_password
from service.domain.files.files import Submission
from service.domain.idempotency import Keep
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import PASSWORD, Client, Grant
from service.errors import (
    Busy,
    DuplicateValue,
    EmailTaken,
    IdempotencyKeyUsed,
    Invalid,
    InvalidToken,
    Location,
    UserNotFound,
    VersionConflict,
    Violation,
    WrongCredentials,
    WrongPassword,
)
from service.schema.values import check_data
from service.schema.versions import Versions, version_tag
from service.storage.account_states import NEW_ACCOUNT, AccountState
from service.storage.databases import ProjectDatabase
from service.storage.factors import find_owner
from service.storage.files.uploads import Upload
from service.storage.profiles import ProfileUpdate, update_profile
from service.storage.users import FIRST_VERSION, Credentials, NewUser, User, Users

# The service's own names, whose meaning beside `data` a field of the same name would hide.
RESERVED = ("id", "created_at", "updated_at", "oauth_id")
# The longest wait of `_blur`.
BLUR_MICROSECONDS = 20_000


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The fields of a signup, in the form and by the rules that `check_signup` knows."""

    email: str
    password: str = field(repr=False)
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A user with a new session."""

    grant: Grant
    user: User


async def check_signup(
    accounts: Accounts, caller: KeyCaller, email: str, password: str, data: Mapping[str, Any]
) -> NewAccount:
    """The account, which `sign_up` can store; `email` is normalized. Raises EmailTaken, Invalid."""
    project = caller.project
    violations = check_password(password, project.settings, project.name, email)
    violations += [*check_profile(data, reserved=RESERVED), *_refuse_wrapped(data, "beside email and password")]
    if isinstance(caller, PublishableKeyCaller):
        violations += await _not_writable(accounts, project, data)
    if violations:
        raise Invalid(violations)
    # The unique index decides; this only saves the hash where the answer is known already.
    if not project.settings.hides_accounts and await project.users.has_email(email):
        raise EmailTaken
    return NewAccount(email, password, data)


async def sign_up(
    accounts: Accounts, caller: KeyCaller, submission: Submission[NewAccount], client: Client
) -> OpenedSession:
    """Stores a new user with the submission's files, and signs the user in. Raises EmailTaken, Invalid, Busy."""
    user = await store_signup(accounts, caller, submission)
    return await sign_in(accounts, caller.project, user, client)


async def store_signup(
    accounts: Accounts, caller: KeyCaller, submission: Submission[NewAccount], keep: Keep[User] | None = None
) -> User:
    """Stores a new user. Raises as `sign_up`. `keep` is called in the transaction of the write."""
    project, new = caller.project, await prepare_signup(accounts, caller, submission)
    try:
        if keep is None:
            return await project.users.insert(new, submission.upload)
        return await _insert_and_keep(project, new, submission.upload, keep)
    except DuplicateValue:
        raise EmailTaken from None


async def prepare_signup(accounts: Accounts, caller: KeyCaller, submission: Submission[NewAccount]) -> NewUser:
    """The user to store, with a hash of the password. Raises Invalid, Busy."""
    account = require_account(submission)
    data = {**account.data, **submission.urls}
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
    violations = check_data(data)
    if isinstance(caller, PublishableKeyCaller):
        violations += await _not_writable(accounts, caller.project, urls)
    if violations:
        raise Invalid(violations)


async def log_in(accounts: Accounts, project: Project, email: str, password: str, client: Client) -> OpenedSession:
    """Raises UserNotFound, WrongCredentials, LimitExceeded, AccountDisabled, EmailNotVerified, Busy."""
    async with count_guess(accounts.flows, project, email):
        credentials = await project.users.find_credentials(email)
        if credentials is None and not project.settings.hides_accounts:
            raise UserNotFound
        # Without an account the check takes as long as a wrong password.
        stored = credentials.password if credentials is not None else ""
        is_right = await accounts.passwords.verify(password, stored, project.id)
        if credentials is None or not is_right:
            refusal = WrongCredentials()
            if credentials is not None:
                accounts.sessions.note_refusal(project, credentials.user.id, client, refusal)
            if project.settings.hides_accounts:
                await _blur()
            raise refusal
    if is_argon2id(credentials.password):
        await _adopt(accounts, project, credentials, password)
    return await sign_in(accounts, project, credentials.user, client, credentials.state)


async def _adopt(accounts: Accounts, project: Project, credentials: Credentials, password: str) -> None:
    """Replaces an imported hash by bcrypt's, unless the password has more bytes than bcrypt reads, or all are busy."""
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
    async with count_guess(accounts.flows, project, credentials.user.email):
        if not await accounts.passwords.verify(password, credentials.password, project.id):
            refusal = WrongPassword()
            accounts.sessions.note_refusal(project, credentials.user.id, client, refusal)
            raise refusal


async def read_profile(accounts: Accounts, caller: UserCaller) -> User:
    """The user of `caller`. Raises InvalidToken if the user is gone."""
    user = await caller.project.users.find_profile(caller.user_id)
    if user is None or not caller.is_in_force(user):
        raise InvalidToken
    return await sign_files(accounts.protection, caller.project, user)


async def check_update(
    accounts: Accounts, caller: UserCaller, revisions: Versions, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of `data` that an update sets. Raises Invalid for all that can be judged without the user.

    VersionConflict comes before that, where the user's record has none of `revisions`.
    """
    data = {name: value for name, value in fields.items() if name not in {"id", "email"}}
    violations = check_profile(data, reserved=(*RESERVED, "password"))
    violations += await _not_writable(accounts, caller.project, data)
    violations += await _refuse_new_data(accounts, caller, data)
    if "id" in fields and fields["id"] != caller.user_id:
        violations.append(_unchangeable("id"))
    if violations:
        await _check_revision(accounts, caller, revisions)
        raise Invalid(violations)
    return data


async def change_profile(
    accounts: Accounts,
    caller: UserCaller,
    submission: Submission[dict[str, Any]],
    *,
    revisions: Versions = None,
    by_server: bool = False,
) -> User:
    """Sets the fields that `check_update` found, leaves the others, returns the user afterwards.

    Raises Invalid, InvalidToken, and VersionConflict where the user's record has none of `revisions`. `id` and
    `email` may be sent back as they were read, which changes nothing. A server may send files for fields that the
    rules leave to servers.
    """
    fields = submission.fields or {}
    if not by_server and (violations := await _not_writable(accounts, caller.project, submission.urls)):
        raise Invalid(violations)
    data = {**(submission.checked or {}), **submission.urls}
    email = _comparable(fields["email"]) if "email" in fields else None
    update = ProfileUpdate(caller.user_id, caller.version, data, email, revisions, caller.sid)
    user = await update_profile(caller.project.database, update, submission.upload)
    if user is None:
        await read_profile(accounts, caller)
        await _check_revision(accounts, caller, revisions)
        raise Invalid([_unchangeable("email")])
    await accounts.access.note_write(caller, caller.project.database, USERS)
    return await sign_files(accounts.protection, caller.project, user)


async def _check_revision(accounts: Accounts, caller: UserCaller, revisions: Versions) -> None:
    """Raises InvalidToken, VersionConflict."""
    if revisions is not None:
        user = await read_profile(accounts, caller)
        if user.revision not in revisions:
            raise VersionConflict(version_tag(user.revision))


async def _not_writable(accounts: Accounts, project: Project, data: Mapping[str, Any]) -> list[Violation]:
    """The fields in `data` that the project's rules leave to servers."""
    kept = await accounts.access.server_fields(project)
    return [Violation(("body", name), f"{name} cannot be set here", "not_writable") for name in data if name in kept]


async def sign_in(
    accounts: Accounts,
    project: Project,
    user: User,
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


async def _insert_and_keep(project: Project, new: NewUser, upload: Upload | None, keep: Keep[User]) -> User:
    async def insert(database: ProjectDatabase) -> User:
        user = await Users(database).insert(new)
        await keep(database, user)
        return user

    return await (project.database.in_transaction(insert) if upload is None else upload.publish(insert))


def check_profile(data: Mapping[str, Any], *, reserved: tuple[str, ...], loc: Location = ("body",)) -> list[Violation]:
    """The rules that profile fields break: names, depth, and names that are the service's own."""
    return [
        *(Violation((*loc, name), f"{name} cannot be set here", "reserved") for name in reserved if name in data),
        *check_data(data, loc),
    ]


async def _refuse_new_data(accounts: Accounts, caller: UserCaller, data: Mapping[str, Any]) -> list[Violation]:
    """As `_refuse_wrapped`, unless the profile has a field `data` already. Raises InvalidToken."""
    wrapped = _refuse_wrapped(data, "at the top of the body")
    return [] if wrapped and "data" in (await read_profile(accounts, caller)).data else wrapped


def _refuse_wrapped(data: Mapping[str, Any], place: str) -> list[Violation]:
    """Refuses an object `data` among the fields of a profile: it would become `data.data`."""
    if not isinstance(data.get("data"), dict):
        return []
    msg = f"Put profile fields {place}; the service itself keeps them under data"
    return [Violation(("body", "data"), msg, "wrapped")]


def _comparable(email: Any) -> str:
    """The text to compare with the stored address; anything but text equals none."""
    return email.strip(" ").lower() if isinstance(email, str) else ""


async def _blur() -> None:
    """Waits for up to 20 ms. To find a user and to note the refusal takes 0.15 ms, which a few hundred logins would tell."""
    await sleep(secrets.randbelow(BLUR_MICROSECONDS) / 1_000_000)


def _unchangeable(name: str) -> Violation:
    return Violation(("body", name), f"{name} cannot be changed here; leave it out or send it as it is", "unchangeable")
