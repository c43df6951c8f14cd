"""Refused operations of callers under rules: judged again by newer sets, noted for the log, and counted where they tell."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from service.bounds import MAX_CONFLICTS
from service.domain.access.caller import ProjectCaller, PublishableKeyCaller, SecretKeyCaller, UserCaller
from service.domain.access.control import name_rule
from service.domain.limits.limiter import Limits
from service.domain.limits.policies import HOUR, Policy
from service.errors import DocumentNotFound, DuplicateValue, Forbidden, Unauthorized
from service.observe.requests import note_refusal

# The rule that decides about a call, where it has another name.
RULES = {"change": "update", "get": "read", "upsert": "update"}
CONFLICTS = Policy(
    "conflicts", HOUR, "writes an hour that meet a value already taken", lambda _: MAX_CONFLICTS, per_address=True
)


class Renewable(Protocol):
    """The documents of the collection `name` as a caller may use them."""

    @property
    def name(self) -> str: ...

    async def renewed(self) -> Self | None:
        """The same by the caller's sets as they are now; None where those are no others."""


Documents = TypeVar("Documents", bound=Renewable)
Sent = ParamSpec("Sent")
Result = TypeVar("Result")
Attempt = Callable[Concatenate[Documents, Sent], Coroutine[Any, Any, Result]]


def judged_again(attempt: Attempt[Documents, Sent, Result]) -> Attempt[Documents, Sent, Result]:
    """A refusal stands only by sets that were read during the request; what is refused has written nothing."""
    rule = RULES.get(attempt.__name__, attempt.__name__)

    @wraps(attempt)
    async def attempt_again(documents: Documents, /, *args: Sent.args, **kwargs: Sent.kwargs) -> Result:
        try:
            return await attempt(documents, *args, **kwargs)
        except (DocumentNotFound, Forbidden, Unauthorized) as refusal:
            if (newer := await documents.renewed()) is None:
                if not isinstance(refusal, DocumentNotFound):
                    note_refusal(name_rule(documents.name, rule))
                raise
        return await attempt_again(newer, *args, **kwargs)

    return attempt_again


class ConflictLimit:
    """Counts how often a user, or an address, learns by a refused write that a unique value is taken (threat row X10).

    A write to a unique field takes one of the hour's beforehand and gives it back unless the value was taken. So two writes
    at once cannot pass together. When none is left, every such write is refused, whatever its value.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @asynccontextmanager
    async def count(self, caller: ProjectCaller) -> AsyncIterator[None]:
        """Surrounds a write to a unique field. Raises LimitExceeded. Writes of a secret key are not counted.

        A write whose outcome is not known, as of a request that was given up, counts as a conflict.
        """
        principal = _principal(caller)
        if principal is None:
            yield
            return
        taken = await self._limits.take_one(caller.project, CONFLICTS, principal)
        try:
            yield
        except DuplicateValue:
            raise
        except Exception:
            # Every other error, also one past `ServiceError`, reveals nothing of the value.
            await self._limits.give_back(taken)
            raise
        await self._limits.give_back(taken)


def _principal(caller: ProjectCaller) -> str | None:
    """The user, or the address that guests share; None for a caller who may know every value."""
    match caller:
        case SecretKeyCaller():
            return None
        case UserCaller(user_id=user_id):
            return user_id
        case PublishableKeyCaller(address=address):
            return address
    return ""
