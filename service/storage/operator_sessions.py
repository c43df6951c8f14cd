"""Sessions of operators, by the SHA-256 of their cookie; every time is compared with MongoDB's clock.

`operator_sessions`: {_id, operator_id, stage, version, created_at, last_seen_at, confirmed_at, expires_at, ip, user_agent}.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pymongo import DESCENDING, UpdateOne

from service.bounds import MAX_OPERATOR_SESSIONS
from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.operator_records import OPERATORS, SESSIONS, TOKENS, OperatorDatabase, created
from service.storage.records import translated

FULL = "full"
# Characters of the hash by which a session, a token or an invitation is named: of no use to anybody else.
ID_LENGTH = 24
# The fields of operators that no request needs but the one that judges them.
HIDDEN = ["operator.password", "operator.recovery", "operator.totp.sealed", "operator.new_totp.sealed"]
OPERATOR: Document = {"from": OPERATORS, "localField": "operator_id", "foreignField": "_id", "as": "operator"}
IN_FORCE: Document = {"$gt": ["$expires_at", "$$NOW"]}
OF_OPERATOR: Sequence[Document] = (
    {"$lookup": OPERATOR},
    {"$unwind": "$operator"},
    {"$match": {"operator.disabled": {"$ne": True}}},
    {"$set": {"now": "$$NOW", "codes_left": {"$size": {"$ifNull": ["$operator.recovery", []]}}}},
    {"$unset": HIDDEN},
)


def _active(idle_ms: int) -> Document:
    """The session's life is not over, nor was it idle for too long; the stages before are short enough."""
    used = {"$gt": [{"$add": ["$last_seen_at", idle_ms]}, "$$NOW"]}
    return {"$expr": {"$and": [IN_FORCE, {"$or": [{"$ne": ["$stage", FULL]}, used]}]}}


SAME_VERSION: Document = {"$match": {"$expr": {"$eq": ["$version", "$operator.version"]}}}


async def find_session(database: OperatorDatabase, hash_: str, idle_ms: int) -> Document | None:
    """The session with its `operator`, `codes_left` and MongoDB's `now`; None where it does not stand for one now."""
    match = {"_id": hash_, **_active(idle_ms)}
    rows = await database.sessions.aggregate([{"$match": match}, *OF_OPERATOR, SAME_VERSION], size=1)
    return rows[0] if rows else None


async def find_token(database: OperatorDatabase, hash_: str) -> Document | None:
    """The token in the same form."""
    match = {"_id": hash_, "$expr": IN_FORCE}
    rows = await database.tokens.aggregate([{"$match": match}, *OF_OPERATOR], size=1)
    return rows[0] if rows else None


async def open_session(database: OperatorDatabase, session: Document, lives_ms: int, *, confirms: bool) -> list[str]:
    """Stores a session, and ends the oldest of an operator that has too many, whose hashes it returns.

    A part of a transaction.
    """
    times: Document = {"last_seen_at": "$$NOW"} | ({"confirmed_at": "$$NOW"} if confirms else {})
    await database.sessions.create({"_id": session["_id"]}, created(session, lives_ms=lives_ms, also=times))
    stages: list[Mapping[str, Any]] = [
        {"$match": {"operator_id": session["operator_id"]}},
        {"$sort": {"created_at": DESCENDING, "_id": DESCENDING}},
        {"$skip": int(MAX_OPERATOR_SESSIONS)},
        {"$project": {"_id": 1}},
    ]
    rows = await database.sessions.aggregate(stages, size=MAX_OPERATOR_SESSIONS)
    ended = [row["_id"] for row in rows]
    if ended:
        await database.sessions.delete_many({"_id": {"$in": ended}})
    return ended


async def list_sessions(database: OperatorDatabase, operator_id: str, version: int, idle_ms: int) -> list[Document]:
    """The sessions of an operator that stand, newest first."""
    match = {"operator_id": operator_id, "version": version, "stage": FULL, **_active(idle_ms)}
    stages: list[Mapping[str, Any]] = [{"$match": match}, {"$sort": {"created_at": DESCENDING, "_id": DESCENDING}}]
    return await database.sessions.aggregate(stages, size=2 * MAX_OPERATOR_SESSIONS)


def beginning(id_: str) -> Document:
    """The filter for the record whose hash begins with `id_`."""
    return {"_id": {"$gte": id_, "$lt": f"{id_}g"}}


async def note_uses(databases: Databases, sessions: Iterable[str], tokens: Iterable[str]) -> None:
    """Stores that these sessions and tokens, by their hashes, were used just now."""
    for collection, field, hashes in ((SESSIONS, "last_seen_at", sessions), (TOKENS, "last_used_at", tokens)):
        writes = [UpdateOne({"_id": each}, [{"$set": {field: "$$NOW"}}]) for each in hashes]
        if writes:
            with translated():
                await databases.system[collection].bulk_write(writes, ordered=False)
