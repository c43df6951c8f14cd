"""The origin of what is done now: its actor, and the request that asked for it.

The origin is set once, around a request or a command, so that no function on the way hands it on. Background work has
the actor `system`.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

ActorKind = Literal["operator", "token", "cli", "secret_key", "system"]


@dataclass(frozen=True, slots=True)
class AuditActor:
    """The author of a change. Commands and the service itself have no id; a command has the user's name at the machine."""

    kind: ActorKind
    id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """An actor and its request. `statuses` are the HTTP statuses of success of the request's endpoint, if it has one."""

    actor: AuditActor
    request_id: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    statuses: tuple[int, ...] = ()

    def status(self, *, is_new: bool) -> int | None:
        """The status with which a change is answered: 201 for something new, if the endpoint has two; None for commands."""
        fitting = [status for status in self.statuses if (status == CREATED) == is_new]
        return next(iter([*fitting, *self.statuses]), None)


CREATED = 201
SYSTEM = Origin(AuditActor("system"))
# A function, because most requests never need their origin.
ORIGIN: ContextVar[Callable[[], Origin]] = ContextVar("origin", default=lambda: SYSTEM)


def find_origin() -> Origin:
    """The origin of the running request, command or job."""
    return ORIGIN.get()()
