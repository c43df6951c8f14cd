"""Sessions in which operators act as users: `operator_acting` {_id: the session's id, operator_id, session: the hash of the
operator's session, project_id, user_id, until, expires_at}. The session itself is one of the project.

The TTL index only cleans up; the token ends by itself.
"""

from typing import Any

from service.bounds import MAX_ACTING
from service.storage.client import Document
from service.storage.endings import end_session
from service.storage.operator_records import OperatorDatabase

# All of one operator: two that begin at once may be one too many for a moment.
MOST = 4 * MAX_ACTING


async def insert_acting(database: OperatorDatabase, acting: Document) -> None:
    """Stores one, and ends the oldest of an operator that has too many. A part of a transaction."""
    match: Document = {"operator_id": acting["operator_id"]}
    rows = await database.acting.find_all(match, limit=MOST)
    oldest = sorted(rows, key=lambda row: row["until"])[: max(0, len(rows) - MAX_ACTING + 1)]
    await _end(database, oldest)
    await database.acting.insert(acting)


async def end_acting(database: OperatorDatabase, match: Document) -> int:
    """Ends the sessions that match: their tokens are refused from the next request on. Returns their number.

    A part of the transaction that ends what they stand on.
    """
    rows = await database.acting.find_all(match, limit=MOST)
    await _end(database, rows)
    return len(rows)


async def _end(database: OperatorDatabase, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        project = database.project(row["project_id"])
        await end_session(project, row["user_id"], row["_id"], row["until"])
        database.ended.append((row["project_id"], row["user_id"]))
    if rows:
        await database.acting.delete_many({"_id": {"$in": [row["_id"] for row in rows]}})
