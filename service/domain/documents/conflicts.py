"""How often one user, or one address, may learn by a refused write that a unique value is taken (threat row X10).

A write to a unique field takes one of the hour's beforehand and gives it back unless the value was taken: so two at once
cannot pass together, and when none is left every such write is refused, whatever its value.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.bounds import MAX_CONFLICTS
from service.domain.access.caller import ProjectCaller, PublishableKeyCaller, UserCaller
from service.domain.limits.limiter import HOUR, Limits, Policy
from service.errors import DuplicateValue

CONFLICTS = Policy(
    "conflicts", HOUR, "writes an hour that meet a value already taken", lambda _: MAX_CONFLICTS, per_address=True
)


class ConflictLimit:
    """Counts the conflicts that callers under rules meet."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @asynccontextmanager
    async def count(self, caller: ProjectCaller) -> AsyncIterator[None]:
        """Around a write to a unique field. Raises LimitExceeded.

        A write whose outcome is not known, as of a request that was given up, counts as a conflict.
        """
        taken = await self._limits.take_one(caller.project, CONFLICTS, _principal(caller))
        try:
            yield
        except DuplicateValue:
            raise
        except Exception:
            # Whatever else was raised, also past `ServiceError`, told nothing of the value.
            await self._limits.give_back(taken)
            raise
        await self._limits.give_back(taken)


def _principal(caller: ProjectCaller) -> str:
    """Whose conflicts they are: the user's, or those of everybody at a guest's address."""
    match caller:
        case UserCaller(user_id=user_id):
            return user_id
        case PublishableKeyCaller(address=address):
            return address
    return ""
