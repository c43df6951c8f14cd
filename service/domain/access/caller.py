"""The caller of a request, as its credential proves it. Knows nothing of how the credential was sent."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from service.domain.audit.origin import AuditActor
from service.domain.permissions import Area, Level, Rights
from service.domain.projects.lookup import Project
from service.errors import PermissionRequired
from service.storage.users import StoredUser, UserFacts


@dataclass(frozen=True, slots=True)
class ServiceCaller:
    """The caller of an endpoint of the service itself, not of a project: its health, its metrics, its documentation."""


@dataclass(frozen=True, slots=True)
class AnonymousCaller:
    """A caller without a credential, in the project that the URL or the environment names."""

    project: Project


@dataclass(frozen=True, slots=True)
class SecretKeyCaller:
    """A server of the project's developers, which may do everything in it."""

    project: Project


@dataclass(frozen=True, slots=True)
class UserCaller:
    """A user of the project, as long as the user's `token_version` is `version` and the session `sid` has not ended.

    A token from before there were sessions has no `sid`. The user was recognized at `auth_time` (Unix time), in a way that
    reaches the level `aal`. With an `operator_id` it is that operator who acts as the user. `is_anonymous` is true where
    the session began without an account.
    """

    project: Project
    user_id: str
    version: int
    sid: str | None = None
    auth_time: int = 0
    aal: int = 1
    operator_id: str | None = None
    is_anonymous: bool = False

    def is_in_force(self, user: StoredUser | UserFacts) -> bool:
        """True if the token is good for `user`, as read just now."""
        return user.version == self.version and (not user.ended or self.sid not in user.ended)


@dataclass(frozen=True, slots=True)
class PublishableKeyCaller:
    """A page or an app of the project at a client's `address`, without a signed-in user."""

    project: Project
    address: str = ""


@dataclass(frozen=True, slots=True)
class AdminCaller:
    """An operator with a session or a token, or the command line of the deployment.

    `credential` is the id of the session or token; `is_confirmed` is true for a session that was confirmed within the last
    10 minutes.
    """

    actor: AuditActor
    operator_id: str
    credential: str
    rights: Rights
    is_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class OperatorCaller(SecretKeyCaller):
    """An operator in one project, who may do what the row asked for.

    `is_allowed` reads the session or the token again, for answers that last: False where it ended, or lost the permission.
    """

    admin: AdminCaller
    is_allowed: Callable[[], Awaitable[bool]] = field(compare=False, repr=False)

    def require(self, area: Area, level: Level) -> None:
        """Raises PermissionRequired where roles or scopes lack this in the project."""
        if not self.admin.rights.allows(self.project.id, area, level):
            raise PermissionRequired(f"{self.project.id}:{area}:{level}")


# Callers that send an API key.
KeyCaller = PublishableKeyCaller | SecretKeyCaller
# Callers within a project.
ProjectCaller = AnonymousCaller | PublishableKeyCaller | SecretKeyCaller | UserCaller
Caller = ServiceCaller | ProjectCaller | AdminCaller
