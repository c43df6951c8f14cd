"""Anonymous users: a page makes one without an address, and one that is not used for long is deleted."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from service.bounds import MAX_ENDED_USERS
from service.domain.access.caller import KeyCaller, PublishableKeyCaller
from service.domain.accounts import Accounts
from service.domain.accounts.administration import NAMES
from service.domain.accounts.changes import SERVER
from service.domain.accounts.profile import check_profile, list_not_writable, refuse_wrapped
from service.domain.accounts.user_names import list_name_faults
from service.domain.accounts.users import OpenedSession, sign_in
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects import Foundation
from service.domain.projects.every import for_each_id, raise_first
from service.domain.sessions.sessions import ANONYMOUS, Client
from service.errors import AnonymousOff, DuplicateValue, Invalid, Unavailable, UserNotFound
from service.schema.user_names import FIELD
from service.schema.values import now
from service.storage.unused_users import find_unused, is_unused
from service.storage.users import NewUser, day_of

# Seconds between two looks for anonymous users that were not used for long.
END_SECONDS = 600.0


async def sign_up_anonymously(
    accounts: Accounts, caller: KeyCaller, data: Mapping[str, Any], client: Client
) -> OpenedSession:
    """Stores a user without an address, and signs the user in. Raises AnonymousOff, Invalid."""
    project = caller.project
    if project.settings.anonymous == "off":
        raise AnonymousOff
    faults = [*check_profile(data, reserved=NAMES), *refuse_wrapped(data, "into the body itself")]
    # A name is required of users with an account.
    faults += list_name_faults(project.settings, data, is_new=FIELD in data)
    if isinstance(caller, PublishableKeyCaller):
        faults += await list_not_writable(accounts, project, data)
    if faults:
        raise Invalid(faults)
    judged = await accounts.profiles.accept(project, ProfileDraft(data, loc=("body",)))
    try:
        user = await accounts.profiles.store(
            project, judged, lambda fitting: project.users.insert(NewUser(None, "", fitting))
        )
    except DuplicateValue:
        # The project's indexes are older than its setting; a migration is under way.
        raise Unavailable from None
    return await sign_in(accounts, project, user, client, amr=ANONYMOUS)


async def end_unused(accounts: Accounts, base: Foundation) -> None:
    """The job: deletes the anonymous users of all projects that were not used for ANONYMOUS_DAYS whole days.

    A turn deletes MAX_ENDED_USERS of a project at most. Raises the first error, after all projects had their turn.
    """
    raise_first(await for_each_id(base.databases, "anonymous_end_failed", partial(_end_unused_of, accounts, base)))


async def _end_unused_of(accounts: Accounts, base: Foundation, project_id: str) -> None:
    today = day_of(now())
    if not await find_unused(base.databases.project(project_id), today, limit=1):
        return
    project = await base.projects.by_id(project_id)
    until = today - timedelta(days=project.settings.anonymous_days)
    for user_id in await find_unused(project.database, until, limit=MAX_ENDED_USERS):
        # The user may have come back, or got an account, since.
        with suppress(UserNotFound):
            await accounts.changes.remove(
                project, user_id, SERVER, when=lambda account: is_unused(account.stored, until)
            )
