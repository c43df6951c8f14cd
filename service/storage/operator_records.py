"""Operators as they are stored, and the places of their sessions, tokens and invitations.

`operators`: {_id, email, name, roles: {<project or *>: role}, disabled, created_at, password, version, totp?: {sealed, step,
created_at, last_used_at}, new_totp?: {sealed, expires_at}, recovery?: [SHA-256 of each code that is left]}. A change that
ends sessions adds 1 to `version`: sessions of another version are void.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pymongo import ASCENDING, IndexModel

from service.errors import DuplicateValue, OperatorExists
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases, ProjectDatabase
from service.storage.records import Records, translated
from service.storage.transactions import in_transaction

OPERATORS, SESSIONS = "operators", "operator_sessions"
TOKENS, INVITATIONS = "operator_tokens", "operator_invitations"
ACTING = "operator_acting"
OF_OPERATOR = IndexModel([("operator_id", ASCENDING)], name="operator_id")


def _expiry(field: str) -> IndexModel:
    """Only cleans up: each read compares the stored time with MongoDB's clock."""
    return IndexModel([(field, ASCENDING)], name=field, expireAfterSeconds=0)


INDEXES = {
    OPERATORS: [IndexModel([("email", ASCENDING)], name="email", unique=True)],
    SESSIONS: [OF_OPERATOR, _expiry("expires_at")],
    TOKENS: [OF_OPERATOR, _expiry("purge_at")],
    INVITATIONS: [OF_OPERATOR, _expiry("expires_at")],
    ACTING: [OF_OPERATOR, IndexModel([("session", ASCENDING)], name="session"), _expiry("expires_at")],
}


async def ensure_operator_indexes(databases: Databases) -> None:
    with translated():
        for collection, indexes in INDEXES.items():
            await databases.system[collection].create_indexes(indexes)


Result = TypeVar("Result")
Forget = Callable[[str, str], Awaitable[None]]

# Records of `canary`: the deployment's id, and one that each change of owners writes, so that two at once conflict.
DEPLOYMENT, OWNERS = "deployment", "owners"


class OperatorDatabase:
    """The records of operators, in a transaction where there is a `session`."""

    def __init__(
        self, databases: Databases, session: ClientSession | None = None, forget: Forget | None = None
    ) -> None:
        """`forget` is called, after a commit, with each user of a project whose session ended: `ended`."""
        system = databases.system
        self.ended: list[tuple[str, str]] = []
        self._forget = forget
        self._databases = databases
        self.session = session
        self.operators = Records(system[OPERATORS], session)
        self.sessions = Records(system[SESSIONS], session)
        self.tokens = Records(system[TOKENS], session)
        self.invitations = Records(system[INVITATIONS], session)
        self.acting = Records(system[ACTING], session)
        self._marks = Records(system["canary"], session)
        self._projects = Records(system["projects"], session)

    async def in_transaction(self, work: Callable[["OperatorDatabase"], Awaitable[Result]]) -> Result:
        """Returns the result of `work`, once all its writes are committed. It may run several times."""

        bound = self

        async def attempt(session: ClientSession) -> Result:
            nonlocal bound
            bound = OperatorDatabase(self._databases, session)
            return await work(bound)

        result = await in_transaction(self._databases.client, attempt)
        if self._forget is not None:
            for project_id, user_id in bound.ended:
                await self._forget(project_id, user_id)
        return result

    def project(self, project_id: str) -> ProjectDatabase:
        """The database of a project, as part of the transaction."""
        return self._databases.project(project_id).join(self.session)

    async def find_deployment_id(self, proposed: str) -> str:
        """The id of this deployment, which is `proposed` where it has none yet."""
        found = await self._marks.upsert({"_id": DEPLOYMENT}, {"$setOnInsert": {"id": proposed}})
        return str(found["id"])

    async def lock_owners(self) -> None:
        """Within a transaction: of two that change operators at once, one is tried again and sees the other's change."""
        await self._marks.upsert({"_id": OWNERS}, {"$inc": {"changes": 1}})

    async def count_others(self, match: Document) -> int:
        """The number of operators that match, as the transaction sees them."""
        rows = await self.operators.aggregate([{"$match": match}, {"$count": "number"}], size=1)
        return int(rows[0]["number"]) if rows else 0

    async def find_projects(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` that are projects, and are not being deleted."""
        match = {"_id": {"$in": list(ids)}, "deleting": {"$exists": False}}
        rows = await self._projects.aggregate([{"$match": match}, {"$project": {"_id": 1}}], size=len(ids) or 1)
        return {row["_id"] for row in rows}

    async def find(self, match: Document) -> Document | None:
        return await self.operators.find(match)

    async def list(self, *, most: int) -> Sequence[Document]:
        """All operators, oldest first, each with `last_seen_at`, that of the newest of its sessions."""
        lookup = {"from": SESSIONS, "localField": "_id", "foreignField": "operator_id", "as": "sessions"}
        stages: list[Mapping[str, Any]] = [
            {"$sort": {"created_at": ASCENDING, "_id": ASCENDING}},
            {"$lookup": lookup},
            {"$set": {"last_seen_at": {"$max": [{"$max": "$sessions.last_seen_at"}, "$last_seen_at"]}}},
            {"$unset": "sessions"},
        ]
        return await self.operators.aggregate(stages, size=most)

    async def insert(self, operator: Document) -> None:
        """Raises OperatorExists where an operator has the address."""
        try:
            await self.operators.insert(operator)
        except DuplicateValue:
            raise OperatorExists from None

    async def change(self, operator_id: str, changes: Document, *, version: int | None = None) -> Document | None:
        """The operator afterwards; None where there is none, or where it has another version than the one given."""
        match: Document = {"_id": operator_id} | ({} if version is None else {"version": version})
        return await self.operators.update(match, changes)

    async def use_totp(self, operator_id: str, sealed: str, step: int, moment: datetime) -> bool:
        """Uses the code of `step`; False if one of it, or of a later one, was used before (RFC 6238 section 5.2)."""
        match: Document = {"_id": operator_id, "totp.sealed": sealed, "totp.step": {"$lt": step}}
        changes: Document = {"$set": {"totp.step": step, "totp.last_used_at": moment}}
        return await self.operators.update_one(match, changes)

    async def use_recovery_code(self, operator_id: str, digest: str) -> bool:
        """Removes the code; False if it was not one of the operator's unused codes."""
        match: Document = {"_id": operator_id, "recovery": digest}
        return await self.operators.update_one(match, {"$pull": {"recovery": digest}})

    async def exist(self) -> bool:
        """True if there is any operator."""
        return await self.operators.find({}, {"_id": 1}) is not None


def created(record: Document, *, lives_ms: int | None = None, also: Mapping[str, Any] | None = None) -> list[Document]:
    """The pipeline that stores `record` with `created_at`, and `expires_at` by MongoDB's clock; `also` are expressions."""
    times: Document = {"created_at": "$$NOW"}
    if lives_ms is not None:
        times["expires_at"] = {"$add": ["$$NOW", lives_ms]}
    # A text of a client may begin with `$`, which would name a field.
    return [{"$replaceWith": {"$mergeObjects": [{"$literal": record}, times, dict(also or {})]}}]
