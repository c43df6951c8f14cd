"""The parts of what operators are, and the rules of this deployment for them."""

import secrets
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from service.domain.access.caller import AdminCaller
from service.domain.accounts.passwords import Passwords
from service.domain.audit.audit import Audit
from service.domain.audit.origin import AuditActor
from service.domain.limits.limiter import Limits
from service.domain.operators.acting import Acting
from service.domain.operators.administration import OperatorAdministration
from service.domain.operators.factors import Factors
from service.domain.operators.invitations import Invitations
from service.domain.operators.limits import OperatorLimits
from service.domain.operators.sessions import OperatorSessions
from service.domain.operators.sign_in import OperatorSignIn
from service.domain.operators.tokens import OperatorTokens
from service.domain.operators.uses import Uses
from service.domain.permissions import EVERY, Rights
from service.domain.projects.secrets import SecretBox
from service.domain.sessions.sessions import Sessions
from service.errors import ServiceError
from service.storage.databases import Databases
from service.storage.operator_records import OperatorDatabase

DEPLOYMENT_ID_BYTES = 4


@dataclass(frozen=True, slots=True)
class OperatorRules:
    """The settings of the environment. `requires_factor` is OPERATOR_MFA; times are in seconds.

    Without `has_console` only tokens authenticate. `pictures` is the origin of files, where it is another one.
    """

    base_url: str
    requires_factor: bool
    idle: int = 3_600
    lifetime: int = 86_400
    limit: int = 20_000
    has_console: bool = True
    has_smtp: bool = False
    pictures: str = ""


class Operators:
    """One of each part. `key` is that for the names of accounts in counters."""

    def __init__(
        self,
        databases: Databases,
        limits: Limits,
        passwords: Passwords,
        sessions: Sessions,
        secret_box: SecretBox,
        audit: Audit,
        rules: OperatorRules,
        *,
        key: bytes,
    ) -> None:
        self.rules = rules
        self._database = OperatorDatabase(databases, forget=partial(_forget_user, sessions))
        self._deployment_id = ""
        self.uses = Uses(databases)
        self.limits = OperatorLimits(limits, key, rules.limit)
        self.sessions = OperatorSessions(self._database, self.uses, audit, idle=rules.idle, lifetime=rules.lifetime)
        self.factors = Factors(
            self._database, self.sessions, self.limits, secret_box, audit, is_required=rules.requires_factor
        )
        self.sign_in = OperatorSignIn(self._database, self.sessions, self.factors, self.limits, passwords, audit)
        console = f"{rules.base_url}/console/"
        self.invitations = Invitations(self._database, self.sessions, self.factors, passwords, audit, console=console)
        self.tokens = OperatorTokens(self._database, self.uses, audit)
        self.administration = OperatorAdministration(self._database, audit)
        self.acting = Acting(self._database, sessions, audit)

    async def deployment_id(self) -> str:
        """Eight hex digits that keep the cookies of two deployments on one host apart."""
        if not self._deployment_id:
            proposed = secrets.token_hex(DEPLOYMENT_ID_BYTES)
            self._deployment_id = await self._database.find_deployment_id(proposed)
        return self._deployment_id

    async def has_operators(self) -> bool:
        """True once there is an operator: the last owner cannot be removed."""
        return await self._database.exist()


async def _forget_user(sessions: Sessions, project_id: str, user_id: str) -> None:
    """A session of the user has ended: what rules know of the user is read again."""
    with suppress(ServiceError):
        sessions.access.forget_user(await sessions.projects.by_id(project_id), user_id)


def command_line(user: str) -> AdminCaller:
    """The caller of a command, which the operating system's `user` runs: an owner without a session."""
    return AdminCaller(AuditActor("cli", name=user), "", "", Rights({EVERY: "owner"}), is_confirmed=True)
