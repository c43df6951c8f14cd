"""Tokens of operators, for pipelines: `aco_<8 of the operator>_<32 random>`, kept as SHA-256 and shown once.

At each request a token may do what its scopes and the roles of its operator both allow.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from service.bounds import MAX_OPERATOR_TOKENS
from service.domain.access.caller import AdminCaller
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import compare
from service.domain.audit.origin import AuditActor
from service.domain.operators.operator import read_operator
from service.domain.operators.sessions import ID, hash_secret
from service.domain.operators.uses import Uses
from service.domain.permissions import EVERY, Rights, Scope, read_scope
from service.domain.projects.keys import ALPHABET
from service.errors import OperatorNotFound, ScopeExceeded, TokenLimit, TokenNotFound
from service.storage.client import Document
from service.storage.operator_records import OperatorDatabase, created
from service.storage.operator_sessions import ID_LENGTH, IN_FORCE, beginning, find_token

PREFIX = "aco_"
TOKEN = re.compile(rf"{PREFIX}[a-z0-9]{{8}}_[A-Za-z0-9]{{32}}")
RANDOM_LENGTH = 32
DAY_MS = 86_400_000
# Days after its end for which a token stands in its operator's list.
KEPT_DAYS = 30
MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class OperatorToken:
    """A token as a list shows it. `token` is there where it was made just now."""

    id: str
    name: str
    scopes: Sequence[str]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    token: str | None = field(default=None, repr=False)


class OperatorTokens:
    """Makes, finds, lists and revokes tokens."""

    def __init__(self, database: OperatorDatabase, uses: Uses, audit: Audit) -> None:
        self._database = database
        self._uses = uses
        self._audit = audit

    async def find(self, token: str) -> AdminCaller | None:
        """The operator of a token, narrowed to its scopes; None for one that is unknown, revoked or expired."""
        if not TOKEN.fullmatch(token):
            return None
        record = await find_token(self._database, hash_secret(token))
        if record is None:
            return None
        operator = read_operator(record["operator"], 0)
        self._uses.note_token(record["_id"], record.get("last_used_at"), record["now"])
        scopes = tuple(scope for text in record["scopes"] if (scope := read_scope(text)) is not None)
        token_id = record["_id"][:ID_LENGTH]
        return AdminCaller(
            AuditActor("token", token_id, record["name"]), operator.id, token_id, Rights(operator.roles, scopes)
        )

    async def create(self, operator_id: str, name: str, scopes: Sequence[str], days: int) -> OperatorToken:
        """Raises ScopeExceeded, TokenLimit, OperatorNotFound."""
        text = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
        token = f"{PREFIX}{operator_id[:8]}_{text}"

        async def write(database: OperatorDatabase) -> OperatorToken:
            # Every making of a token writes the operator, so that two at once are counted one after the other.
            operator = await database.change(operator_id, {"$inc": {"tokens_made": 1}})
            if operator is None:
                raise OperatorNotFound
            await _require_held(database, Rights(operator["roles"]), scopes)
            match: Document = {"operator_id": operator_id, "$expr": IN_FORCE}
            rows = await database.tokens.aggregate([{"$match": match}, {"$count": "number"}], size=1)
            if rows and rows[0]["number"] >= MAX_OPERATOR_TOKENS:
                raise TokenLimit(MAX_OPERATOR_TOKENS)
            record: Document = {"_id": hash_secret(token), "operator_id": operator_id, "name": name}
            purge = {"purge_at": {"$add": ["$$NOW", (days + KEPT_DAYS) * DAY_MS]}}
            changes = created(record | {"scopes": list(scopes)}, lives_ms=days * DAY_MS, also=purge)
            made = _read(await database.tokens.create({"_id": record["_id"]}, changes), token)
            found = compare({}, {"name": name, "scopes": list(scopes), "days": days})
            act = Act(Action.TOKEN_CREATED, Target("token", made.id, name), changes=found, is_new=True)
            await self._audit.record(database.session, act)
            return made

        return await self._database.in_transaction(write)

    async def list(self, operator_id: str) -> Sequence[OperatorToken]:
        """Those in force, and those that ended within the last 30 days; newest first."""
        stages: list[Document] = [
            {"$match": {"operator_id": operator_id, "$expr": {"$gt": ["$purge_at", "$$NOW"]}}},
            {"$sort": {"created_at": -1, "_id": -1}},
            {"$limit": MAX_LISTED},
        ]
        return [_read(record) for record in await self._database.tokens.aggregate(stages, size=MAX_LISTED)]

    async def revoke(self, operator_id: str, token_id: str) -> None:
        """The token is refused from the next request on. Raises TokenNotFound."""
        match: Document = {**beginning(token_id), "operator_id": operator_id, "$expr": IN_FORCE}
        ends = {"expires_at": "$$NOW", "purge_at": {"$add": ["$$NOW", KEPT_DAYS * DAY_MS]}}

        async def write(database: OperatorDatabase) -> None:
            ended = await database.tokens.update(match, [{"$set": ends}])
            if ended is None:
                raise TokenNotFound
            await self._audit.record(
                database.session, Act(Action.TOKEN_REVOKED, Target("token", token_id, ended["name"]))
            )

        if not ID.fullmatch(token_id):
            raise TokenNotFound
        await self._database.in_transaction(write)


async def _require_held(database: OperatorDatabase, rights: Rights, texts: Sequence[str]) -> None:
    """Raises ScopeExceeded for a scope that these rights do not hold, and for one of a project that is not there."""
    scopes: list[Scope] = [scope for text in texts if (scope := read_scope(text)) is not None]
    named = {scope.project for scope in scopes} - {EVERY}
    present = await database.find_projects(sorted(named)) if named else set()
    if named - present or not all(rights.holds(scope) for scope in scopes):
        raise ScopeExceeded


def _read(record: Mapping[str, Any], token: str | None = None) -> OperatorToken:
    return OperatorToken(
        id=record["_id"][:ID_LENGTH],
        name=record["name"],
        scopes=record["scopes"],
        created_at=record["created_at"],
        expires_at=record["expires_at"],
        last_used_at=record.get("last_used_at"),
        token=token,
    )
