"""One-time links by which operators begin, and begin again. There is no sign-up and no default password.

A link has 256 random bits in its fragment, which are stored as SHA-256, and is spent by the transaction that makes the
account.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from service.bounds import MAX_INVITATIONS, MAX_OPERATORS
from service.domain.accounts.passwords import Passwords
from service.domain.audit.actions import Action
from service.domain.audit.audit import Audit
from service.domain.operators.factors import Factors, next_stage
from service.domain.operators.limits import OWNER
from service.domain.operators.sessions import ID, NewSession, Opened, OperatorSessions, end_all, hash_secret
from service.domain.operators.sign_in import check_operator_password
from service.domain.operators.trail import act_on, speak_as
from service.domain.permissions import EVERY, Role
from service.domain.sessions.sessions import Client
from service.errors import (
    AccountDisabled,
    Invalid,
    InvitationNotFound,
    OperatorExists,
    OperatorLimit,
    OperatorNotFound,
)
from service.schema.values import now
from service.storage.client import Document
from service.storage.ids import new_id
from service.storage.operator_records import OperatorDatabase, created
from service.storage.operator_sessions import ID_LENGTH, beginning

Kind = Literal["bootstrap", "invite", "reset"]
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
TOKEN_BYTES = 32
BOOTSTRAP_SECONDS, HOUR_SECONDS = 1_800, 3_600
IN_FORCE: Document = {"$expr": {"$gt": ["$expires_at", "$$NOW"]}}
FIRST_OWNER: Mapping[str, Role] = {EVERY: "owner"}


@dataclass(frozen=True, slots=True)
class OperatorInvitation:
    """An open invitation. `link` is there where it was made just now."""

    id: str
    kind: Kind
    email: str | None
    roles: Mapping[str, Role]
    created_at: datetime
    expires_at: datetime
    link: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The answers of an invited person. `email` is given where the invitation has none."""

    name: str
    password: str = field(repr=False)
    email: str | None = None


@dataclass(frozen=True, slots=True)
class InvitationDraft:
    """An invitation to make, which lives so many seconds; `operator_id` is that of an account that begins again."""

    kind: Kind
    email: str | None
    roles: Mapping[str, Role]
    seconds: int
    operator_id: str | None = None


class Invitations:
    """Makes, lists, revokes and accepts invitations. Links begin with `console`, the address of the console."""

    def __init__(
        self,
        database: OperatorDatabase,
        sessions: OperatorSessions,
        factors: Factors,
        passwords: Passwords,
        audit: Audit,
        *,
        console: str,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._factors = factors
        self._passwords = passwords
        self._audit = audit
        self._console = console

    async def invite(self, email: str, roles: Mapping[str, Role], hours: int) -> OperatorInvitation:
        """Replaces an open invitation of that address. Raises OperatorExists, OperatorLimit, Invalid."""

        async def write(database: OperatorDatabase) -> OperatorInvitation:
            await require_projects(database, roles)
            if await database.find({"email": email}) is not None:
                raise OperatorExists
            await database.lock_owners()
            if await database.count_others({}) >= MAX_OPERATORS:
                raise OperatorLimit(MAX_OPERATORS)
            await database.invitations.delete_many({"kind": "invite", "email": email})
            new = InvitationDraft("invite", email, roles, hours * HOUR_SECONDS)
            made = await _make(database, new, self._console)
            invited = {"email": email, "roles": roles}
            act = act_on(Action.OPERATOR_INVITED, made.id, email, after=invited)
            await self._audit.record(database.session, act)
            return made

        return await self._database.in_transaction(write)

    async def reset(self, match: Document, hours: int) -> OperatorInvitation:
        """An invitation for an operator that is there, which replaces its earlier one. Raises OperatorNotFound."""

        async def write(database: OperatorDatabase) -> OperatorInvitation:
            operator = await database.find(match)
            if operator is None:
                raise OperatorNotFound
            await database.lock_owners()
            await database.invitations.delete_many({"kind": "reset", "operator_id": operator["_id"]})
            seconds = hours * HOUR_SECONDS
            new = InvitationDraft("reset", operator["email"], operator["roles"], seconds, operator["_id"])
            made = await _make(database, new, self._console)
            act = act_on(Action.OPERATOR_RESET, operator["_id"], operator["email"])
            await self._audit.record(database.session, act)
            return made

        return await self._database.in_transaction(write)

    async def list(self) -> Sequence[OperatorInvitation]:
        """The open invitations, oldest first."""
        stages: list[Document] = [{"$match": IN_FORCE}, {"$sort": {"created_at": 1, "_id": 1}}]
        found = await self._database.invitations.aggregate(stages, size=2 * MAX_INVITATIONS)
        return [_read(record) for record in found]

    async def revoke(self, invitation_id: str) -> None:
        """Raises InvitationNotFound."""
        match = {**beginning(invitation_id), **IN_FORCE}
        if not ID.fullmatch(invitation_id) or not await self._database.invitations.delete(match):
            raise InvitationNotFound

    async def check(self, token: str) -> OperatorInvitation:
        """The invitation, which stays unspent. Raises InvitationNotFound."""
        return _read(await self._find(self._database, token))

    async def _find(self, database: OperatorDatabase, token: str, *, spend: bool = False) -> Document:
        """The record as it can be accepted now: without roles in projects that are gone. Raises InvitationNotFound."""
        if not TOKEN.fullmatch(token):
            raise InvitationNotFound
        match: Document = {"_id": hash_secret(token), **IN_FORCE}
        record = await database.invitations.find(match)
        if record is None or (spend and not await database.invitations.delete(match)):
            raise InvitationNotFound
        if record["kind"] == "bootstrap" and await database.exist():
            raise InvitationNotFound
        if record["kind"] == "invite":
            record["roles"] = await keep_present(database, record["roles"])
            if not record["roles"]:
                raise InvitationNotFound
        return record

    async def accept(self, token: str, given: Acceptance, client: Client) -> Opened:
        """Makes the account, or begins an account again, and signs its operator in; nothing is spent unless all is well.

        Raises InvitationNotFound, Invalid, OperatorExists, OperatorLimit, AccountDisabled.
        """
        found = await self._find(self._database, token)
        email = _choose_email(found["email"], given.email)
        check_operator_password(given.password)
        hashed = await self._passwords.hash(given.password, OWNER)
        operator_id = found.get("operator_id") or new_id()
        account = {"name": given.name, "password": hashed}
        version = 1
        if found["kind"] == "reset":
            operator = await self._database.find({"_id": operator_id}) or {}
            if operator.get("disabled"):
                raise AccountDisabled
            version = operator.get("version", 0) + 1

        async def write(database: OperatorDatabase) -> None:
            record = await self._find(database, token, spend=True)
            await database.lock_owners()
            if record["kind"] == "reset":
                await _begin_again(database, operator_id, account, version)
                act = act_on(Action.OPERATOR_PASSWORD_CHANGED, operator_id, email)
            else:
                await _begin(database, {"_id": operator_id, "email": email, "roles": record["roles"], **account})
                joined = {"email": email, "name": given.name, "roles": record["roles"]}
                act = act_on(Action.OPERATOR_JOINED, operator_id, email, after=joined)
            await self._audit.record(database.session, act)

        speak_as(operator_id, given.name)
        stage = next_stage({}, is_required=self._factors.is_required)
        return await self._sessions.open(NewSession(operator_id, version, stage, client), write)


async def make_bootstrap(database: OperatorDatabase, console: str) -> OperatorInvitation | None:
    """The first owner's invitation, which replaces the one before; None where there are operators."""

    async def write(bound: OperatorDatabase) -> OperatorInvitation | None:
        if await bound.exist():
            return None
        await bound.invitations.delete_many({"kind": "bootstrap"})
        return await _make(bound, InvitationDraft("bootstrap", None, FIRST_OWNER, BOOTSTRAP_SECONDS), console)

    return await database.in_transaction(write)


async def _make(database: OperatorDatabase, new: InvitationDraft, console: str) -> OperatorInvitation:
    """Raises OperatorLimit."""
    rows = await database.invitations.aggregate([{"$match": IN_FORCE}, {"$count": "number"}], size=1)
    if rows and rows[0]["number"] >= MAX_INVITATIONS:
        raise OperatorLimit(MAX_INVITATIONS, "open invitations of operators")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    record: Document = {"_id": hash_secret(token), "kind": new.kind, "email": new.email, "roles": dict(new.roles)}
    if new.operator_id is not None:
        record["operator_id"] = new.operator_id
    stored = await database.invitations.create({"_id": record["_id"]}, created(record, lives_ms=new.seconds * 1_000))
    return _read(stored, f"{console}#/join/{token}")


async def _begin(database: OperatorDatabase, operator: Document) -> None:
    """Stores a new operator. Raises OperatorExists, OperatorLimit."""
    if await database.count_others({}) >= MAX_OPERATORS:
        raise OperatorLimit(MAX_OPERATORS)
    if await database.find({"email": operator["email"]}) is not None:
        raise OperatorExists
    await database.insert({**operator, "disabled": False, "version": 1, "created_at": now()})


async def _begin_again(database: OperatorDatabase, operator_id: str, account: Document, version: int) -> None:
    """Replaces name and password, removes the factor, and ends all sessions and tokens. Raises InvitationNotFound."""
    removed = {"totp": "", "new_totp": "", "recovery": ""}
    changes: Document = {"$set": account, "$unset": removed, "$inc": {"version": 1}}
    if await database.change(operator_id, changes, version=version - 1) is None:
        raise InvitationNotFound
    await end_all(database, operator_id)
    await database.tokens.delete_many({"operator_id": operator_id})


def _choose_email(invited: str | None, given: str | None) -> str:
    """Raises Invalid for an address that the invitation decides, and where it is missing."""
    if (invited is None) == (given is None):
        msg = "The invitation decides the address" if given is not None else "Field required"
        raise Invalid.one(("body", "email"), msg, type_="missing" if given is None else "extra_forbidden")
    return invited or given or ""


async def keep_present(database: OperatorDatabase, roles: Mapping[str, Role]) -> Mapping[str, Role]:
    """The roles in projects that are there."""
    present = await database.find_projects([each for each in roles if each != EVERY]) | {EVERY}
    return {project: role for project, role in roles.items() if project in present}


async def require_projects(database: OperatorDatabase, roles: Mapping[str, Role]) -> None:
    """Raises Invalid for a role in a project that is not there."""
    present = await keep_present(database, roles)
    if unknown := [project for project in roles if project not in present]:
        raise Invalid.one(("body", "roles", unknown[0]), f"There is no project {unknown[0]}")


def _read(record: Mapping[str, Any], link: str | None = None) -> OperatorInvitation:
    return OperatorInvitation(
        id=record["_id"][:ID_LENGTH],
        kind=record["kind"],
        email=record["email"],
        roles=record["roles"],
        created_at=record["created_at"],
        expires_at=record["expires_at"],
        link=link,
    )
