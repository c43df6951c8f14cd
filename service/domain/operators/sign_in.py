"""Signing in as an operator: the password, then the factor; confirming a session; another password."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from service.domain.accounts.password_rules import COMMON, check_length, is_common
from service.domain.accounts.passwords import Passwords
from service.domain.audit.actions import Action
from service.domain.audit.audit import Audit
from service.domain.operators.factors import Factors, Proof, has_factor, next_stage
from service.domain.operators.limits import OWNER, OperatorLimits
from service.domain.operators.operator import FACTOR, SessionCaller
from service.domain.operators.sessions import NewSession, Opened, OperatorSessions, Work, end_all
from service.domain.operators.trail import act_on, speak_as
from service.domain.sessions.sessions import Client
from service.errors import (
    AccountDisabled,
    Invalid,
    InvalidFactor,
    OperatorRequired,
    Violation,
    WrongCredentials,
    WrongPassword,
)
from service.storage.client import Document
from service.storage.operator_records import OperatorDatabase
from service.storage.operator_sessions import FULL

log = structlog.get_logger()

MIN_PASSWORD = 12


class OperatorSignIn:
    """Every call that judges a password or a factor counts its failures together, and raises LimitExceeded."""

    def __init__(
        self,
        database: OperatorDatabase,
        sessions: OperatorSessions,
        factors: Factors,
        limits: OperatorLimits,
        passwords: Passwords,
        audit: Audit,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._factors = factors
        self._limits = limits
        self._passwords = passwords
        self._audit = audit
        # A task that nothing refers to could be dropped.
        self._notes: set[asyncio.Task[None]] = set()

    async def sign_in(self, email: str, password: str, client: Client, replaces: str | None) -> Opened:
        """A session, whose stage says what is still to come. Raises WrongCredentials, AccountDisabled."""
        async with self._limits.judge(email):
            operator = await self._judge(await self._database.find({"email": email}), password, notes_later=True)
            if operator.get("disabled"):
                raise AccountDisabled
        stage = next_stage(operator, is_required=self._factors.is_required)
        speak_as(operator["_id"], operator["name"])
        work = self._noting(operator) if stage == FULL else None
        return await self._sessions.open(_new(operator, stage, client, replaces), work)

    async def _judge(self, operator: Document | None, password: str, *, notes_later: bool = False) -> Document:
        """An unknown address takes as long, and leaves no entry: it could be a password. Raises WrongCredentials.

        With `notes_later` the entry of a failure is written beside the answer, whose time would show a known address.
        """
        is_right = await self._passwords.verify(password, operator["password"] if operator else "", OWNER)
        if operator is None:
            raise WrongCredentials
        if not is_right:
            noting = asyncio.create_task(self._note_failure(operator))
            self._notes.add(noting)
            noting.add_done_callback(self._forget)
            if not notes_later:
                await noting
            raise WrongCredentials
        return operator

    def _forget(self, note: asyncio.Task[None]) -> None:
        self._notes.discard(note)
        if not note.cancelled() and (error := note.exception()) is not None:
            log.warning("failure_not_noted", cause=type(error).__name__)

    async def _note_failure(self, operator: Document) -> None:
        await self._audit.note(act_on(Action.OPERATOR_SIGN_IN_FAILED, operator["_id"], operator["email"]))

    @asynccontextmanager
    async def _noting_failure(self, operator: Document) -> AsyncIterator[None]:
        try:
            yield
        except InvalidFactor:
            await self._note_failure(operator)
            raise

    def _noting(self, operator: Document, work: Work | None = None) -> Work:
        """`work`, with the entry that the operator has signed in."""

        async def write(database: OperatorDatabase) -> None:
            if work is not None:
                await work(database)
            act = act_on(Action.OPERATOR_SIGNED_IN, operator["_id"], operator["email"])
            await self._audit.record(database.session, act)

        return write

    async def prove_factor(self, caller: SessionCaller, proof: Proof, client: Client) -> Opened:
        """The session of full stage after the second factor. Raises InvalidFactor, OperatorRequired."""
        if caller.session.stage != FACTOR:
            raise OperatorRequired(stage=caller.session.stage)
        async with self._limits.judge(caller.operator.email):
            operator = await self._find(caller)
            async with self._noting_failure(operator):
                spend = self._factors.judge(operator, proof)
                return await self._sessions.open(_after(operator, caller, client), self._noting(operator, spend))

    async def confirm(self, caller: SessionCaller, password: str, proof: Proof | None, client: Client) -> Opened:
        """A session in the place of this one, confirmed for 10 minutes. Raises WrongCredentials, InvalidFactor."""
        async with self._limits.judge(caller.operator.email):
            operator = await self._judge(await self._find(caller), password)
            async with self._noting_failure(operator):
                if has_factor(operator) and proof is None:
                    raise InvalidFactor
                spend = self._factors.judge(operator, proof) if proof is not None and has_factor(operator) else None
                return await self._sessions.open(_after(operator, caller, client), spend)

    async def change_password(self, caller: SessionCaller, current: str, password: str, client: Client) -> Opened:
        """A session in the place of all others. Raises WrongPassword, Invalid."""
        check_operator_password(password)
        async with self._limits.judge(caller.operator.email):
            operator = await self._find(caller)
            if not await self._passwords.verify(current, operator["password"], OWNER):
                await self._note_failure(operator)
                raise WrongPassword
        hashed, version = await self._passwords.hash(password, OWNER), operator["version"]

        async def write(database: OperatorDatabase) -> None:
            changes: Document = {"$set": {"password": hashed}, "$inc": {"version": 1}}
            if await database.change(caller.operator_id, changes, version=version) is None:
                raise OperatorRequired(has_operators=True)
            await end_all(database, caller.operator_id)
            act = act_on(Action.OPERATOR_PASSWORD_CHANGED, operator["_id"], operator["email"])
            await self._audit.record(database.session, act)

        confirmed = caller.session.confirmed_at
        kept: Document = {} if confirmed is None else {"confirmed_at": confirmed}
        new = NewSession(
            caller.operator_id,
            version + 1,
            FULL,
            client,
            caller.session.hash,
            must_replace=True,
            confirms=False,
            kept=kept,
        )
        return await self._sessions.open(new, write)

    async def _find(self, caller: SessionCaller) -> Document:
        """The whole record of the caller, unless it changed since the session was read. Raises OperatorRequired."""
        operator = await self._database.find({"_id": caller.operator_id, "version": caller.operator.version})
        if operator is None:
            raise OperatorRequired(has_operators=True)
        return operator


def check_operator_password(password: str) -> None:
    """Raises Invalid for one that is too short, too long or common."""
    violations = check_length(password, MIN_PASSWORD)
    if not violations and is_common(password):
        violations = [Violation(("body", "password"), COMMON, "password_common")]
    if violations:
        raise Invalid(violations)


def _new(operator: Document, stage: str, client: Client, replaces: str | None) -> NewSession:
    return NewSession(operator["_id"], operator["version"], stage, client, replaces)


def _after(operator: Document, caller: SessionCaller, client: Client) -> NewSession:
    """The session of full stage in the place of the caller's."""
    session = caller.session.hash
    return NewSession(operator["_id"], operator["version"], FULL, client, session, must_replace=True)
