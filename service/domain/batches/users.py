"""Users in a batch: one is read, or the fields of one's `data` are changed, by a server or by the user."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.directory import find_user, show_user
from service.domain.accounts.profile import RESERVED, check_profile
from service.domain.accounts.user_names import list_name_faults
from service.domain.batches.steps import Done, Step
from service.domain.documents.changes import ATTEMPTS
from service.domain.documents.writes import CHANGED, Get, Update, check_record
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects.lookup import Project
from service.domain.steps import run_in_steps
from service.errors import (
    Forbidden,
    Invalid,
    InvalidApiKey,
    InvalidToken,
    Unauthorized,
    Unavailable,
    UserNotFound,
    Violation,
)
from service.query.account_shape import ACCOUNTS, PROFILES
from service.query.conditions import bind_where
from service.query.images import apply_operations
from service.query.populate import Row
from service.query.shapes import USERS
from service.query.tree import Tree, has_relations
from service.storage.databases import ProjectDatabase
from service.storage.documents import SetFields
from service.storage.profiles import ProfileUpdate, update_profile
from service.storage.users import StoredUser, read_user

NAMES = (*RESERVED, "password", "email")


async def do_user_step(accounts: Accounts, caller: ProjectCaller, step: Step, database: ProjectDatabase) -> Done:
    """Raises UserNotFound, VersionConflict, ConditionFailed, Invalid, Forbidden, Unauthorized."""
    bound = replace(caller, project=replace(caller.project, database=database))
    asked = step.operation
    if isinstance(asked, Get):
        return Done(200, user=await find_user(accounts, bound, asked.id))
    if not isinstance(asked, Update) or not isinstance(asked.change, SetFields):
        raise Invalid.one(("body", "op"), "Users take update and get", type_="value_error")
    _check_writer(caller, asked.id)
    where = _bind_where(caller, asked)
    await _check_names(accounts, caller, asked.change)
    for _ in range(ATTEMPTS):
        record = await bound.project.users.find_record(asked.id)
        if record is None:
            raise UserNotFound
        user = read_user(database, record)
        if isinstance(caller, UserCaller) and not caller.is_in_force(user):
            raise InvalidToken
        await check_record(database, record, asked.precondition.versions, where)
        data = await _change_data(bound.project, user, asked.change)
        judged = await accounts.profiles.accept(bound.project, ProfileDraft(data, user_id=user.id))
        write = partial(_write, database, user)
        if (changed := await accounts.profiles.store(bound.project, judged, write)) is not None:
            await accounts.access.note_write(bound, database, USERS.collection)
            return Done(200, user=await show_user(accounts, caller.project, changed))
    raise Unavailable(CHANGED)


async def _write(database: ProjectDatabase, user: StoredUser, data: Mapping[str, Any]) -> StoredUser | None:
    return await update_profile(database, ProfileUpdate(user.id, user.version, data, revisions=(user.revision,)))


async def read_user_again(accounts: Accounts, caller: ProjectCaller, step: Step, user_id: str) -> Row:
    """The user that a step was answered with, as the caller may read it now; `{_id}` where it is gone or hidden."""
    try:
        if isinstance(step.operation, Get) or isinstance(caller, SecretKeyCaller):
            return await find_user(accounts, caller, user_id)
        user = await caller.project.users.find_profile(user_id)
        return {"_id": user_id} if user is None else await show_user(accounts, caller.project, user)
    except (UserNotFound, Forbidden, Unauthorized, InvalidApiKey):
        return {"_id": user_id}


def _check_writer(caller: ProjectCaller, user_id: str) -> None:
    if isinstance(caller, SecretKeyCaller):
        return
    if not isinstance(caller, UserCaller):
        raise Unauthorized
    if caller.user_id != user_id:
        raise Forbidden


def _bind_where(caller: ProjectCaller, update: Update) -> Tree:
    violations = list[Violation]()
    shape = ACCOUNTS if isinstance(caller, SecretKeyCaller) else PROFILES
    tree = bind_where(update.precondition.where, shape, violations)
    if violations:
        raise Invalid(violations)
    if has_relations(tree):
        raise Invalid.one(("body", "where"), "A condition names fields of the user's own")
    return tree


async def _check_names(accounts: Accounts, caller: ProjectCaller, change: SetFields) -> None:
    """Raises Invalid for fields that cannot be changed so."""
    violations = check_profile(change.data, reserved=NAMES, loc=("body", "data"))
    for operation in change.operations:
        if operation.field in NAMES:
            violations.append(Violation(operation.place, f"{operation.field} cannot be set here", "reserved"))
        elif operation.operator == "unset" and len(operation.path) == 1:
            violations.append(Violation(operation.place, "A field of a user's data cannot be removed", "value_error"))
    if isinstance(caller, UserCaller):
        kept = await accounts.access.server_fields(caller.project)
        names = (*change.data, *(operation.field for operation in change.operations))
        violations += [
            Violation(("body", "data", name), f"{name} cannot be set here", "not_writable")
            for name in names
            if name in kept
        ]
    if violations:
        raise Invalid(violations)


async def _change_data(project: Project, user: StoredUser, change: SetFields) -> dict[str, Any]:
    """The fields of `data` that are set. Raises Invalid."""
    database = project.database
    before = {**user.data, **change.data}
    image, violations = await run_in_steps(database, apply_operations(before, change.operations))
    names = dict.fromkeys((*change.data, *(operation.field for operation in change.operations)))
    violations += [
        Violation(("body", "data", name), "This field holds a file, which PUT /auth-collections/user replaces", "file")
        for name in names.keys() & database.file_urls.names(user.data).keys()
    ]
    changed = {name: image[name] for name in names if name in image}
    violations += list_name_faults(project.settings, changed, ("body", "data"), is_new=False)
    if violations:
        raise Invalid(violations)
    return changed
