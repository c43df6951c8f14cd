"""What changes how an account is kept is for those who were recognized a short while ago, not for whoever found a token.

And by the second factor where the account has one, or a password that was found would do to be rid of it.
"""

import time

from service.domain.access.caller import UserCaller
from service.domain.sessions.admission import has_factors
from service.errors import STEP_UP_SECONDS, StepUpRequired
from service.storage.databases import ProjectDatabase
from service.storage.factors import find_state


async def require_recent(caller: UserCaller) -> None:
    """Raises StepUpRequired where the caller was recognized more than ten minutes ago, or nobody knows when, or too weakly."""
    if time.time() - caller.auth_time > STEP_UP_SECONDS:
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
