"""What changes how an account is kept is for those who were recognized a short while ago, not for whoever found a token."""

import time

from service.domain.access.caller import UserCaller
from service.errors import STEP_UP_SECONDS, StepUpRequired


def require_recent(caller: UserCaller) -> None:
    """Raises StepUpRequired where the caller was recognized more than ten minutes ago, or nobody knows when."""
    if time.time() - caller.auth_time > STEP_UP_SECONDS:
        raise StepUpRequired
