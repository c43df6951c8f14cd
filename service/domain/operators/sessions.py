"""Sessions of operators at the console. Each request reads its session and its operator in one question, uncached."""

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from service.domain.audit.actions import Action
from service.domain.audit.audit import Audit
from service.domain.audit.origin import AuditActor
from service.domain.operators.operator import (
    OperatorSession,
    SessionCaller,
    read_operator,
    read_session,
)
from service.domain.operators.trail import act_on
from service.domain.operators.uses import Uses
from service.domain.permissions import Rights
from service.domain.sessions.sessions import Client
from service.errors import OperatorRequired, SessionNotFound
from service.storage.acting import end_acting
from service.storage.client import Document
from service.storage.operator_records import OperatorDatabase
from service.storage.operator_sessions import FULL, beginning, find_session, list_sessions, open_session

COOKIE = re.compile(r"[A-Za-z0-9_-]{43}")
ID = re.compile(r"[0-9a-f]{24}")
COOKIE_BYTES = 32
# The life of a session whose sign-in is not complete.
STAGE_SECONDS = 600
Work = Callable[[OperatorDatabase], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that was opened just now, and the value of its cookie."""

    cookie: str = field(repr=False)
    caller: SessionCaller


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to open, for the operator of this `version`.

    `replaces` is the hash of the session that ends with it, which must still be there if it `must_replace`.
    """

    operator_id: str
    version: int
    stage: str
    client: Client
    replaces: str | None = None
    must_replace: bool = False
    confirms: bool = True
    kept: Document = field(default_factory=dict)


def hash_secret(text: str) -> str:
    """256 random bits cannot be searched, so a plain SHA-256 is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


class OperatorSessions:
    """Opens, finds, lists and ends sessions. `idle` and `lifetime` are in seconds."""

    def __init__(self, database: OperatorDatabase, uses: Uses, audit: Audit, *, idle: int, lifetime: int) -> None:
        self._database = database
        self._uses = uses
        self._audit = audit
        self.idle, self.lifetime = timedelta(seconds=idle), timedelta(seconds=lifetime)
        self._idle_ms, self._lifetime_ms = idle * 1_000, lifetime * 1_000

    async def find(self, cookie: str, *, is_use: bool = True) -> SessionCaller | None:
        """The operator of the cookie; None where the session is unknown, has ended, or was idle for too long.

        Without `is_use` the session's idle time goes on.
        """
        if not COOKIE.fullmatch(cookie):
            return None
        record = await find_session(self._database, hash_secret(cookie), self._idle_ms)
        if record is None:
            return None
        operator = read_operator(record["operator"], record["codes_left"])
        session = read_session(record, record["now"])
        if is_use:
            self._uses.note_session(session.hash, session.last_seen_at, session.now)
        actor = AuditActor("operator", operator.id, operator.name)
        return SessionCaller(
            actor,
            operator.id,
            session.id,
            Rights(operator.roles),
            session.is_confirmed,
            operator=operator,
            session=session,
        )

    async def open(self, new: NewSession, work: Work | None = None) -> Opened:
        """Opens a session, with the writes of `work` in the same transaction. Raises OperatorRequired."""
        cookie = secrets.token_urlsafe(COOKIE_BYTES)
        record: Document = {
            "_id": hash_secret(cookie),
            "operator_id": new.operator_id,
            "stage": new.stage,
            "version": new.version,
            "ip": new.client.ip,
            "user_agent": new.client.user_agent,
            **new.kept,
        }
        is_full = new.stage == FULL
        lives_ms = self._lifetime_ms if is_full else STAGE_SECONDS * 1_000

        async def write(database: OperatorDatabase) -> None:
            if new.replaces is not None:
                was_there = await database.sessions.delete({"_id": new.replaces})
                await _hand_over(database, new.replaces, record)
                if new.must_replace and not was_there:
                    raise OperatorRequired(has_operators=True)
            if work is not None:
                await work(database)
            for hash_ in await open_session(database, record, lives_ms, confirms=new.confirms and is_full):
                await end_acting(database, {"session": hash_})

        await self._database.in_transaction(write)
        caller = await self.find(cookie)
        if caller is None:
            # The operator was changed or removed meanwhile.
            raise OperatorRequired(has_operators=True)
        return Opened(cookie, caller)

    async def list(self, caller: SessionCaller) -> Sequence[OperatorSession]:
        """The sessions of the caller, newest first."""
        operator = caller.operator
        found = await list_sessions(self._database, operator.id, operator.version, self._idle_ms)
        return [read_session(record, caller.session.now) for record in found]

    async def end(self, caller: SessionCaller, session_id: str) -> None:
        """Raises SessionNotFound."""
        match = {**beginning(session_id), "operator_id": caller.operator_id}
        if not ID.fullmatch(session_id):
            raise SessionNotFound

        async def write(database: OperatorDatabase) -> None:
            if not await database.sessions.delete(match):
                raise SessionNotFound
            await end_acting(database, {"session": match["_id"]})

        await self._database.in_transaction(write)

    async def sign_out(self, caller: SessionCaller) -> None:
        operator = caller.operator

        async def write(database: OperatorDatabase) -> None:
            if await database.sessions.delete({"_id": caller.session.hash}):
                await end_acting(database, {"session": caller.session.hash})
                act = act_on(Action.OPERATOR_SIGNED_OUT, operator.id, operator.email)
                await self._audit.record(database.session, act)

        await self._database.in_transaction(write)


async def end_all(database: OperatorDatabase, operator_id: str, *, but: str | None = None) -> None:
    """Ends all sessions of an operator, `but` the one with that hash, and those in which it acts as users.

    A part of a transaction.
    """
    await end_acting(database, {"operator_id": operator_id})
    match: Document = {"operator_id": operator_id} | ({} if but is None else {"_id": {"$ne": but}})
    await database.sessions.delete_many(match)


async def _hand_over(database: OperatorDatabase, replaced: str, session: Document) -> None:
    """The sessions in which an operator acts go on with its next session; those of another one end."""
    own: Document = {"session": replaced, "operator_id": session["operator_id"]}
    await database.acting.update_many(own, {"$set": {"session": session["_id"]}})
    await end_acting(database, {"session": replaced})
