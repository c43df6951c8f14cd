"""The profile of a user: what its fields may be, reading it, and setting fields of the own one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.domain.access.caller import UserCaller
from service.domain.access.control import USERS
from service.domain.accounts import Accounts
from service.domain.accounts.user_names import list_name_faults
from service.domain.files.files import Submission
from service.domain.files.intake import USER_FIELDS, UserFields
from service.domain.files.protection import FileProtection
from service.domain.profiles.profiles import JudgedProfile, ProfileDraft
from service.domain.projects.lookup import Project
from service.errors import Invalid, InvalidToken, Location, VersionConflict, Violation
from service.schema.values import check_data
from service.schema.versions import Versions, version_tag
from service.storage.profiles import ProfileUpdate, update_profile
from service.storage.users import StoredUser

# The service's own names, whose meaning beside `data` a field of the same name would hide.
RESERVED = ("id", "created_at", "updated_at", "oauth_id")


async def read_profile(accounts: Accounts, caller: UserCaller) -> StoredUser:
    """The user of `caller`. Raises InvalidToken if the user is gone."""
    user = await caller.project.users.find_profile(caller.user_id)
    if user is None or not caller.is_in_force(user):
        raise InvalidToken
    return await sign_files(accounts.protection, caller.project, user)


async def check_update(
    accounts: Accounts, caller: UserCaller, revisions: Versions, fields: Mapping[str, Any]
) -> JudgedProfile:
    """The fields of `data` that an update sets. Raises Invalid for all that can be judged before the write.

    VersionConflict comes before that, where the user's record has none of `revisions`.
    """
    data = {name: value for name, value in fields.items() if name not in {"id", "email"}}
    violations = check_profile(data, reserved=(*RESERVED, "password"))
    violations += list_name_faults(caller.project.settings, data, is_new=False)
    violations += await list_not_writable(accounts, caller.project, data)
    violations += await _refuse_new_data(accounts, caller, data)
    if "id" in fields and fields["id"] != caller.user_id:
        violations.append(_unchangeable("id"))
    draft = ProfileDraft(data, loc=("body",), user_id=caller.user_id)
    if not violations:
        judged, violations = await accounts.profiles.check(caller.project, draft)
        if not violations:
            return judged
    await _check_revision(accounts, caller, revisions)
    raise Invalid(violations)


async def change_profile(
    accounts: Accounts,
    caller: UserCaller,
    submission: Submission[JudgedProfile],
    *,
    revisions: Versions = None,
    by_server: bool = False,
) -> StoredUser:
    """Sets the fields that `check_update` found, leaves the others, returns the user afterwards.

    Raises Invalid, InvalidToken, and VersionConflict where the user's record has none of `revisions`. `id` and
    `email` may be sent back as they were read, which changes nothing. A server may send files for fields that the
    rules leave to servers.
    """
    fields = submission.fields or {}
    # A file is no name.
    violations = list_name_faults(caller.project.settings, submission.urls, is_new=False)
    if not by_server:
        violations += await list_not_writable(accounts, caller.project, submission.urls)
    if violations:
        raise Invalid(violations)
    identity = {"email": _comparable(fields["email"])} if "email" in fields else {}
    judged = submission.checked or await accounts.profiles.accept(
        caller.project, ProfileDraft({}, user_id=caller.user_id)
    )

    async def write(data: Mapping[str, Any]) -> StoredUser | None:
        sent = {**data, **submission.urls}
        update = ProfileUpdate(caller.user_id, caller.version, sent, identity, revisions, caller.sid)
        return await update_profile(caller.project.database, update, submission.upload)

    user = await accounts.profiles.store(caller.project, judged, write)
    if user is None:
        await read_profile(accounts, caller)
        await _check_revision(accounts, caller, revisions)
        raise Invalid([_unchangeable("email")])
    await accounts.access.note_write(caller, caller.project.database, USERS)
    return await sign_files(accounts.protection, caller.project, user)


async def find_uploads(accounts: Accounts, project: Project) -> UserFields:
    """The fields of users that take files."""
    profile = await accounts.profiles.find(project)
    return USER_FIELDS if profile.is_free else UserFields(profile.fields, profile.additional)


async def _check_revision(accounts: Accounts, caller: UserCaller, revisions: Versions) -> None:
    """Raises InvalidToken, VersionConflict."""
    if revisions is not None:
        user = await read_profile(accounts, caller)
        if user.revision not in revisions:
            raise VersionConflict(version_tag(user.revision))


def _comparable(email: Any) -> str | None:
    """The value to compare with the stored address. Null equals that of a user without one; other values equal none."""
    return email.strip(" ").lower() if isinstance(email, str) else None if email is None else ""


def _unchangeable(name: str) -> Violation:
    return Violation(("body", name), f"{name} cannot be changed here; leave it out or send it as it is", "unchangeable")


async def list_not_writable(accounts: Accounts, project: Project, data: Mapping[str, Any]) -> list[Violation]:
    """The fields in `data` that the project's rules leave to servers."""
    kept = await accounts.access.server_fields(project)
    return [Violation(("body", name), f"{name} cannot be set here", "not_writable") for name in data if name in kept]


def check_profile(data: Mapping[str, Any], *, reserved: tuple[str, ...], loc: Location = ("body",)) -> list[Violation]:
    """The rules that profile fields break: names, depth, and names that are the service's own."""
    return [
        *(Violation((*loc, name), f"{name} cannot be set here", "reserved") for name in reserved if name in data),
        *check_data(data, loc),
    ]


async def _refuse_new_data(accounts: Accounts, caller: UserCaller, data: Mapping[str, Any]) -> list[Violation]:
    """As `refuse_wrapped`, unless the profile has a field `data` already. Raises InvalidToken."""
    wrapped = refuse_wrapped(data, "at the top of the body")
    return [] if wrapped and "data" in (await read_profile(accounts, caller)).data else wrapped


def refuse_wrapped(data: Mapping[str, Any], place: str) -> list[Violation]:
    """Refuses an object `data` among the fields of a profile: it would become `data.data`."""
    if not isinstance(data.get("data"), dict):
        return []
    msg = f"Put profile fields {place}; the service itself keeps them under data"
    return [Violation(("body", "data"), msg, "wrapped")]


async def sign_files(protection: FileProtection, project: Project, user: StoredUser) -> StoredUser:
    """The user with the URLs of protected files signed."""
    if not user.has_files:
        return user
    signed = await protection.sign_user(project, user.id, user.data)
    return replace(user, has_signed_urls=True) if signed else user
