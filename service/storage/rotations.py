"""One refresh of a session: a single command judges a refresh token and writes the result.

A session's record has `count`, the number of its refreshes; `seen`, the count of the newest access token that was used;
`rotated_at`, the time of the last increase; `asked` {until, n}, the refreshes requested in the hour that ends then; and
`reused_at` if an old token was used, which is a sign of theft.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from service.storage.account_states import STATE_FIELDS, AccountState, read_state
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.layout import SESSIONS
from service.storage.records import Projection
from service.storage.sessions import Session, read_session

STANDING: Projection = dict.fromkeys(("token_version", *STATE_FIELDS), 1)


class Verdict(Enum):
    """The verdict on a refresh token."""

    GRANTED = "the next token"
    LIMITED = "too many this hour"
    REFUSED = "no token, and the session stays"
    REUSED = "no token, and the session ends"


@dataclass(frozen=True, slots=True)
class Terms:
    """By what a refresh at `moment` is judged.

    A session that was not used since `idle_since` is over; tokens live until `tokens_until`. `limit` refreshes are allowed in
    the hour that ends at `hour_end` (Unix time); 0 is no limit.
    """

    moment: datetime
    grace_seconds: int
    tokens_until: datetime
    limit: int
    hour_end: int
    idle_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rotation:
    """The verdict, and the session after it; `asked` is how often a refresh was asked for in this hour."""

    verdict: Verdict
    session: Session | None = None
    asked: int = 0


async def rotate(database: ProjectDatabase, session_id: str, presented: int, terms: Terms) -> Rotation:
    """Judges the refresh token with the count `presented`.

    The present count is rotated. Its predecessor is given the same successor again as long as no access token of that
    was used, or for `grace_seconds`; older ones are refused for so long. Every other token was used twice.
    """
    records = database.records(SESSIONS)
    record = await records.update_again(*_step(session_id, presented, terms))
    if record is None:
        match: Document = {"_id": session_id, "expires_at": {"$gt": terms.moment}, **_used(terms)}
        record = await records.update_again(match, _decision(presented, terms))
    if record is None:
        return Rotation(Verdict.REFUSED)
    return Rotation(_verdict(record, presented, terms.limit), read_session(record), record["asked"]["n"])


def _step(session_id: str, presented: int, terms: Terms) -> tuple[Document, list[Document]]:
    """The match and the change of the usual case: the same as by `_decision`, at half the price.

    That is the present count of a session which outlives its tokens.
    """
    match: Document = {"_id": session_id, "count": presented, "expires_at": {"$gte": terms.tokens_until}}
    match |= {"reused_at": None, **_used(terms)}
    if terms.limit:
        match["$or"] = [{"asked.until": {"$ne": terms.hour_end}}, {"asked.n": {"$lt": terms.limit}}]
    return match, [
        {
            "$set": {
                "asked": _asked(terms),
                "count": presented + 1,
                "rotated_at": "$$NOW",
                "last_used_at": "$$NOW",
                "tokens_until": {"$max": ["$tokens_until", terms.tokens_until]},
            }
        }
    ]


def _used(terms: Terms) -> Document:
    return {} if terms.idle_since is None else {"last_used_at": {"$gt": terms.idle_since}}


def _asked(terms: Terms) -> Document:
    in_this_hour = {"$eq": ["$asked.until", terms.hour_end]}
    return {"until": terms.hour_end, "n": _where(in_this_hour, {"$add": ["$asked.n", 1]}, 1)}


def _decision(presented: int, terms: Terms) -> list[Document]:
    is_recent = {"$gt": ["$rotated_at", {"$subtract": ["$$NOW", terms.grace_seconds * 1000]}]}
    is_dead = {"$gt": ["$reused_at", None]}
    is_present = {"$eq": ["$count", presented]}
    is_unseen = {"$lte": [{"$ifNull": ["$seen", -1]}, presented]}
    is_previous = {"$and": [{"$eq": ["$count", presented + 1]}, {"$or": [is_unseen, is_recent]}]}
    is_good = {"$and": [{"$not": is_dead}, {"$or": [is_present, is_previous]}]}
    # A count that is not reached yet comes from before the database was restored.
    is_harmless = {"$or": [{"$lt": ["$count", presented]}, {"$and": [{"$gt": ["$count", presented + 1]}, is_recent]}]}
    is_reused = {"$not": {"$or": [is_good, {"$and": [{"$not": is_dead}, is_harmless]}]}}
    is_granted = {"$and": [is_good, {"$lte": ["$asked.n", terms.limit]}]} if terms.limit else is_good
    until = {"$max": ["$tokens_until", {"$min": ["$expires_at", terms.tokens_until]}]}
    return [
        {"$set": {"asked": _asked(terms)}},
        {
            "$set": {
                "count": _where({"$and": [is_granted, is_present]}, presented + 1, "$count"),
                "rotated_at": _where({"$and": [is_granted, is_present]}, "$$NOW", "$rotated_at"),
                "last_used_at": _where(is_granted, "$$NOW", "$last_used_at"),
                "tokens_until": _where(is_granted, until, "$tokens_until"),
                "reused_at": _where(is_reused, {"$ifNull": ["$reused_at", "$$NOW"]}, "$reused_at"),
            }
        },
    ]


def _where(condition: Document, value: Any, otherwise: Any) -> Document:
    return {"$cond": [condition, value, otherwise]}


def _verdict(after: Document, presented: int, limit: int) -> Verdict:
    """The verdict of the command: after a good token the count is one higher, unless the limit was reached."""
    if after.get("reused_at") is not None:
        return Verdict.REUSED
    if limit and after["asked"]["n"] > limit:
        return Verdict.LIMITED if after["count"] in {presented, presented + 1} else Verdict.REFUSED
    return Verdict.GRANTED if after["count"] == presented + 1 else Verdict.REFUSED


@dataclass(frozen=True, slots=True)
class Standing:
    """The present state of a user: the version of good tokens, and the state of the account."""

    version: int
    state: AccountState


async def find_standing(database: ProjectDatabase, user_id: str) -> Standing | None:
    """None where the user is gone."""
    found = await database.records("users").find({"_id": user_id}, STANDING)
    return Standing(found["token_version"], read_state(found)) if found else None
