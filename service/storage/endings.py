"""The end of sessions: `ended` of a user, which refuses their tokens at the next request, and the deleted records.

`ended`: [{sid, until}] has the sessions whose tokens still live, and is pruned with each addition. If there would be
too many, `token_version` is raised instead: then all tokens expire, and surviving sessions get the new version, so that
they can be refreshed. First the tokens are refused, then the record goes: a session interrupted between the two is
ended, and may only be listed still. Every call may be part of a transaction.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from service.bounds import MAX_ENDED
from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.layout import SESSIONS
from service.storage.sessions import LIST_SECONDS

# A token that is made while its session ends, and the clocks of two hosts.
SLACK = timedelta(minutes=10)


async def end_others(database: ProjectDatabase, user_id: str, except_sid: str) -> int | None:
    """Ends a user's sessions, but for `except_sid`. Returns the user's version afterwards; None where there is no user.

    `account_writes` ends all sessions, and every token with them.
    """
    match: Document = {"user_id": user_id, "_id": {"$ne": except_sid}}
    command: Document = {"find": SESSIONS, "filter": match, "projection": {"tokens_until": 1}}
    command |= {"limit": MAX_ENDED + 1, "batchSize": MAX_ENDED + 2}
    found = await database.records(SESSIONS).page(command, seconds=LIST_SECONDS)
    # A session that begins meanwhile stays, unless there are too many: then its tokens expire, too.
    if len(found) <= MAX_ENDED:
        match = {"_id": {"$in": [each["_id"] for each in found]}}
    version = await _refuse_tokens(
        database,
        {"_id": user_id},
        {each["_id"]: each["tokens_until"] for each in found},
        survivors={"$nor": [match], "user_id": user_id},
    )
    await database.records(SESSIONS).delete_many(match)
    return version


async def end_session(
    database: ProjectDatabase, user_id: str, session_id: str, tokens_until: datetime, *, version: int | None = None
) -> int | None:
    """Ends one session of a user. Returns the user's version afterwards; None where there is no user.

    Returns None if `version` is given and differs: then all sessions have ended, and this one with them.
    """
    survivors: Document = {"user_id": user_id, "_id": {"$ne": session_id}}
    match: Document = {"_id": user_id} if version is None else {"_id": user_id, "token_version": version}
    after = await _refuse_tokens(database, match, {session_id: tokens_until}, survivors=survivors)
    await database.records(SESSIONS).delete({"_id": session_id, "user_id": user_id})
    return after


async def _refuse_tokens(
    database: ProjectDatabase, match: Document, sessions: Mapping[str, datetime], *, survivors: Document
) -> int | None:
    """`sessions`: sid → the end of its last token. Returns the new version of the user that `match` finds.

    If it was raised, `survivors` are given it.
    """
    sids, moment = list(sessions), now()
    added = [{"sid": sid, "until": max(until, moment) + SLACK} for sid, until in sessions.items()]
    lives = {"$and": [{"$gt": ["$$this.until", "$$NOW"]}, {"$not": {"$in": ["$$this.sid", sids]}}]}
    kept = {"$filter": {"input": {"$ifNull": ["$ended", []]}, "cond": lives}}
    is_full = {"$gt": [{"$size": "$ended"}, int(MAX_ENDED)]}
    changes: list[Document] = [
        {"$set": {"ended": {"$concatArrays": [kept, {"$literal": added}]}}},
        {
            "$set": {
                "token_version": {"$cond": [is_full, {"$add": ["$token_version", 1]}, "$token_version"]},
                "ended": {"$cond": [is_full, [], "$ended"]},
            }
        },
    ]
    user = await database.records("users").update(match, changes, {"token_version": 1, "ended": 1})
    if user is None:
        return None
    version: int = user["token_version"]
    if added and not user["ended"]:
        await database.records(SESSIONS).update_many({**survivors, "ver": version - 1}, {"$set": {"ver": version}})
    return version
