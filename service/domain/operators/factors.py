"""The second factor of an operator: an authenticator app, and recovery codes for the day on which it is lost."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from service.domain.accounts import factor_codes
from service.domain.accounts.factor_codes import hash_code, hash_codes, new_codes
from service.domain.accounts.factor_proofs import RecoveryCode, TotpCode
from service.domain.audit.actions import Action
from service.domain.audit.audit import Audit
from service.domain.operators.limits import OperatorLimits
from service.domain.operators.operator import ENROL, FACTOR, SessionCaller
from service.domain.operators.sessions import NewSession, Opened, OperatorSessions
from service.domain.operators.trail import act_on
from service.domain.projects.secrets import SecretBox
from service.domain.sessions.sessions import Client
from service.errors import FactorMandatory, InvalidFactor, NoFactor
from service.schema.values import now
from service.storage.client import Document
from service.storage.operator_records import OperatorDatabase
from service.storage.operator_sessions import FULL

ISSUER = "Auth Collections"
ENROLMENT_MS = 600_000
Proof = TotpCode | RecoveryCode
Spend = Callable[[OperatorDatabase], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class OperatorTotp:
    """A secret for the operator's app. It counts as the factor once one of its codes was sent."""

    secret: str = field(repr=False)
    uri: str = field(repr=False)


class Factors:
    """Judges proofs, and adds and removes the factor. `is_required`: no operator may be without one."""

    def __init__(
        self,
        database: OperatorDatabase,
        sessions: OperatorSessions,
        limits: OperatorLimits,
        secret_box: SecretBox,
        audit: Audit,
        *,
        is_required: bool,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._limits = limits
        self._box = secret_box
        self._audit = audit
        self.is_required = is_required

    def judge(self, operator: Document, proof: Proof) -> Spend:
        """The part of a transaction that spends the proof; for one caller of any number at once it succeeds.

        `operator` is the whole record. Raises InvalidFactor, as the part does.
        """
        return self._judge_totp(operator, proof) if isinstance(proof, TotpCode) else self._judge_code(operator, proof)

    def _judge_totp(self, operator: Document, proof: TotpCode) -> Spend:
        stored = operator.get("totp")
        step = None if stored is None else self._find_step(operator["_id"], stored["sealed"], proof.code)
        if step is None:
            raise InvalidFactor
        used: int = step

        async def spend(database: OperatorDatabase) -> None:
            if not await database.use_totp(operator["_id"], operator["totp"]["sealed"], used, now()):
                raise InvalidFactor

        return spend

    def _judge_code(self, operator: Document, proof: RecoveryCode) -> Spend:
        digest = hash_code(proof.code)

        async def spend(database: OperatorDatabase) -> None:
            if not await database.use_recovery_code(operator["_id"], digest):
                raise InvalidFactor

        return spend

    async def begin(self, caller: SessionCaller) -> OperatorTotp:
        """A secret that is good for 10 minutes."""
        operator, secret = caller.operator, factor_codes.new_secret()
        sealed = self._box.seal(secret, _place(operator.id))
        waiting = {"sealed": {"$literal": sealed}, "expires_at": {"$add": ["$$NOW", ENROLMENT_MS]}}
        await self._database.operators.update({"_id": operator.id}, [{"$set": {"new_totp": waiting}}])
        return OperatorTotp(secret, factor_codes.describe(secret, ISSUER, operator.email))

    async def confirm(self, caller: SessionCaller, code: str, client: Client) -> tuple[Opened, list[str]]:
        """The new secret becomes the factor, by one of its codes: a session of full stage, and recovery codes.

        Other sessions go on. Raises InvalidFactor, OperatorRequired, LimitExceeded.
        """
        operator, codes = caller.operator, new_codes()
        async with self._limits.judge(operator.email):
            sealed = await self._find_new(operator.id)
            step = None if sealed is None else self._find_step(operator.id, sealed, code)
            if step is None:
                raise InvalidFactor
            moment = now()
            factor = {"sealed": sealed, "step": step, "created_at": moment, "last_used_at": moment}

            async def write(database: OperatorDatabase) -> None:
                match = {"_id": operator.id, "new_totp.sealed": sealed}
                changes = {"$set": {"totp": factor, "recovery": hash_codes(codes)}, "$unset": {"new_totp": ""}}
                if not await database.operators.update_one(match, changes):
                    raise InvalidFactor
                enrols = caller.session.stage == ENROL
                for action in (Action.OPERATOR_FACTOR_ADDED, *((Action.OPERATOR_SIGNED_IN,) if enrols else ())):
                    await self._audit.record(database.session, act_on(action, operator.id, operator.email))

            new = NewSession(operator.id, operator.version, FULL, client, caller.session.hash, must_replace=True)
            return await self._sessions.open(new, write), codes

    async def _find_new(self, operator_id: str) -> str | None:
        """The sealed secret that waits for its first code."""
        match: Document = {"_id": operator_id, "$expr": {"$gt": ["$new_totp.expires_at", "$$NOW"]}}
        record = await self._database.operators.find(match, {"new_totp": 1})
        return None if record is None else str(record["new_totp"]["sealed"])

    async def remove(self, caller: SessionCaller) -> None:
        """Removes the factor and its recovery codes. Raises FactorMandatory."""
        if self.is_required:
            raise FactorMandatory
        removed = {"totp": "", "new_totp": "", "recovery": ""}
        match = {"_id": caller.operator_id, "totp": {"$exists": True}}

        async def write(database: OperatorDatabase) -> None:
            if await database.operators.update_one(match, {"$unset": removed}):
                act = act_on(Action.OPERATOR_FACTOR_REMOVED, caller.operator.id, caller.operator.email)
                await self._audit.record(database.session, act)

        await self._database.in_transaction(write)

    async def renew_codes(self, caller: SessionCaller) -> list[str]:
        """Ten new recovery codes in the place of those before. Raises NoFactor."""
        codes = new_codes()
        match = {"_id": caller.operator_id, "totp": {"$exists": True}}
        if not await self._database.operators.update_one(match, {"$set": {"recovery": hash_codes(codes)}}):
            raise NoFactor
        return codes

    def _find_step(self, operator_id: str, sealed: str, code: str) -> int | None:
        return factor_codes.find_step(self._box.open(sealed, _place(operator_id)), code, time.time())


def _place(operator_id: str) -> str:
    """The context that a secret is sealed for."""
    return f"operator/{operator_id}/totp"


def has_factor(operator: Document) -> bool:
    return bool(operator.get("totp"))


def next_stage(operator: Document, *, is_required: bool) -> str:
    """The stage after a right password."""
    return FACTOR if has_factor(operator) else ENROL if is_required else FULL
