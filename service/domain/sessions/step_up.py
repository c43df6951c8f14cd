"""Sensitive changes of an account need a recent sign-in: a found token alone must not suffice.

An account with a second factor needs that one, or a found password would suffice to remove it.
"""

import time

from service.domain.access.caller import UserCaller
from service.domain.sessions.admission import has_factors
from service.errors import STEP_UP_SECONDS, NotWhileActing, StepUpRequired
from service.storage.databases import ProjectDatabase
from service.storage.factors import find_state


async def require_recent(caller: UserCaller) -> None:
    """Raises StepUpRequired if the caller's sign-in is older than ten minutes, of unknown time, too weak, or anonymous.

    Raises NotWhileActing for an operator who acts as the user.
    """
    if caller.operator_id is not None:
        raise NotWhileActing
    if caller.is_anonymous or time.time() - caller.auth_time > STEP_UP_SECONDS:
        raise StepUpRequired
    await require_level(caller.project.database, caller)


async def require_level(database: ProjectDatabase, caller: UserCaller) -> None:
    """Raises StepUpRequired where the user has a second factor, which the caller has not shown."""
    settings = caller.project.settings
    if caller.aal > 1 or settings.mfa == "off":
        return
    state = await find_state(database, caller.user_id)
    if state is not None and has_factors(settings, state):
        raise StepUpRequired
