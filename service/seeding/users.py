"""Users of a seed: by e-mail. New ones are stored, fields that differ are set, passwords of those who are there stay.

A row sets the account's own fields as a request with the secret key does; all others go into `data`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from service.domain.accounts import Accounts
from service.domain.accounts.account_fields import TYPES, find_faults
from service.domain.accounts.administration import change_user
from service.domain.accounts.emails import normalize_email
from service.domain.accounts.password_hashes import hash_fault
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.passwords import Passwords
from service.domain.accounts.profile import RESERVED, check_profile
from service.domain.accounts.user_names import list_name_faults
from service.domain.profiles.definition import DeclaredProfile
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects.lookup import Project
from service.domain.projects.settings import ProjectSettings
from service.errors import Invalid, ServiceError
from service.schema.values import Kind, now
from service.seeding.references import user_id
from service.seeding.report import Report, find_changes
from service.seeding.rules import describe_violation
from service.storage.account_states import AccountState
from service.storage.accounts import AccountChange
from service.storage.profiles import ProfileUpdate, update_profile
from service.storage.users import NewUser, Owner, StoredUser

KIND = "users"
CREDENTIALS = ("email", "password", "password_hash")
# The types of the cells of a CSV file, unless `types` gives others.
CELLS = {"disabled": Kind.BOOLEAN, "email_verified": Kind.BOOLEAN, "claims": Kind.OBJECT, "roles": Kind.ARRAY}
# Maximum number of passwords that wait for the hashing threads at once.
HASHED_AT_ONCE = 32

RowData = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SeedUser:
    """One user as the manifest wants it; `place` is where the row stands. `account` has the fields that the row names."""

    place: str
    email: str
    password: str | None
    password_hash: str | None
    data: RowData
    account: RowData


def read_user(place: str, fields: RowData, settings: ProjectSettings, project: str) -> SeedUser | str:
    """The user that a row means, or why it means none. `project` is its name."""
    try:
        email = normalize_email(_text(fields.get("email", "")))
    except ValueError as error:
        return f"email: {error}"
    password, hashed = fields.get("password"), fields.get("password_hash")
    account = {name: fields[name] for name in TYPES if name in fields}
    data = {name: value for name, value in fields.items() if name not in CREDENTIALS and name not in account}
    if fault := _credential_fault(password, hashed):
        return fault
    if password is not None and (broken := check_password(password, settings, project, email)):
        return broken[0].msg
    if violations := [
        *find_faults(account, ()),
        *check_profile(data, reserved=RESERVED, loc=()),
        *list_name_faults(settings, data, (), is_new=False),
    ]:
        return f"{'.'.join(map(str, violations[0].loc))}: {violations[0].msg}"
    if "roles" in account:
        account["roles"] = list(dict.fromkeys(account["roles"]))
    return SeedUser(place, email, password, hashed, data, account)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def _credential_fault(password: Any, hashed: Any) -> str | None:
    if (password is None) == (hashed is None):
        return "give either password or password_hash"
    if not isinstance(password if hashed is None else hashed, str):
        return "password and password_hash are text"
    if hashed is not None:
        fault = hash_fault(hashed)
        return f"password_hash: {fault}" if fault else None
    return None


@dataclass(frozen=True, slots=True)
class SeededUsers:
    """The project whose users are seeded, by its schema of profiles; it is None in a dry run before the first run.

    `name` is that of the project, and `settings` are those that will be in force.
    """

    project: Project | None
    profile: DeclaredProfile
    name: str
    settings: ProjectSettings

    @property
    def cells(self) -> dict[str, Kind]:
        """The kinds of the cells of a CSV file: those of declared fields, whose times are text, and of the account's."""
        declared = {name: field.kind for name, field in self.profile.fields.items()}
        texts = {name: Kind.STRING for name, kind in declared.items() if kind is Kind.TIME_TEXT}
        return declared | texts | CELLS

    def read_row(self, place: str, fields: RowData) -> SeedUser | str:
        """The user that a row means, or why it means none."""
        return read_user(place, fields, self.settings, self.name)


@dataclass(frozen=True, slots=True)
class UserSeeder:
    """Seeds users. If the report is of a dry run, nothing is written."""

    accounts: Accounts
    report: Report

    async def seed(self, target: SeededUsers, users: Sequence[SeedUser]) -> None:
        """Brings one batch of users about: one command to find them, one to store the new, few for each that differs."""
        project = target.project
        found = await project.users.find_by_emails([user.email for user in users]) if project else {}
        fitting = await self._judge(target, users, {email: owner.user.id for email, owner in found.items()})
        for user in fitting:
            if project is not None and user.email in found:
                await self._update(project, found[user.email], user)
        new = [user for user in fitting if user.email not in found]
        refused = {} if project is None or self.report.dry_run else await _create(project, new, self.accounts.passwords)
        for number, user in enumerate(new):
            if number in refused:
                self.report.refuse(KIND, user.place, refused[number].detail)
            else:
                self.report.created(KIND, user.email)

    async def _judge(self, target: SeededUsers, users: Sequence[SeedUser], ids: Mapping[str, str]) -> list[SeedUser]:
        """The users whose data fits the schema, as it is stored. Those they refer to may come later."""
        if target.project is None or target.profile.is_free:
            return list(users)
        fitting = []
        for user in users:
            draft = ProfileDraft(user.data, loc=("body",), user_id=ids.get(user.email), knows_users=False)
            try:
                judged = await self.accounts.profiles.accept(target.project, draft, profile=target.profile)
            except Invalid as error:
                self.report.refuse(KIND, user.place, describe_violation(error.violations[0]))
            else:
                fitting.append(replace(user, data=judged.data))
        return fitting

    async def _update(self, project: Project, owner: Owner, user: SeedUser) -> None:
        stored, known = owner.user, _account_of(owner.state)
        before = {**stored.data, **known}
        data, account = find_changes(stored.data, user.data), find_changes(known, user.account)
        if not data and not account:
            self.report.unchanged(KIND)
            return
        if not self.report.dry_run:
            try:
                await self._write(project, stored, data, account)
            except ServiceError as error:
                self.report.refuse(KIND, user.place, str(error.detail))
                return
        changes = {**data, **account}
        self.report.updated(KIND, user.email, {name: before[name] for name in changes if name in before}, changes)

    async def _write(self, project: Project, stored: StoredUser, data: RowData, account: RowData) -> None:
        """Raises TooLarge, UserNotFound."""
        if data:
            await update_profile(project.database, ProfileUpdate(stored.id, stored.version, data))
        if account:
            await change_user(self.accounts, project, stored.id, AccountChange(**account))


def _account_of(state: AccountState) -> RowData:
    return {
        "disabled": state.disabled,
        "email_verified": state.email_verified,
        "claims": dict(state.claims),
        "roles": list(state.roles),
    }


async def _create(project: Project, new: Sequence[SeedUser], passwords: Passwords) -> dict[int, ServiceError]:
    hashes = await _hashes(new, passwords)
    # A millisecond apart, so that the order of the rows lasts.
    begin = now() - timedelta(milliseconds=len(new))
    users = [
        NewUser(
            user.email,
            hashed,
            user.data,
            user_id(project.id, user.email),
            created_at=begin + timedelta(milliseconds=number),
            state=AccountState(**user.account),
        )
        for number, (user, hashed) in enumerate(zip(new, hashes, strict=True))
    ]
    return await project.users.insert_each(users)


async def _hashes(users: Sequence[SeedUser], passwords: Passwords) -> list[str]:
    """A bcrypt hash for each plain password; a hash that was given stays as it is."""
    hashes: list[str] = []
    for start in range(0, len(users), HASHED_AT_ONCE):
        some = users[start : start + HASHED_AT_ONCE]
        hashes += await asyncio.gather(*(_hash(user, passwords) for user in some))
    return hashes


async def _hash(user: SeedUser, passwords: Passwords) -> str:
    return user.password_hash or await passwords.hash(user.password or "")
