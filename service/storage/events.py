"""The events of a project's users: `events` {_id, type, at, user_id, sid, ip, user_agent, actor, detail, expires_at}.

Each change of an account writes its event in its own transaction; sign-ins and the ends of sessions are written soon
after. The TTL index cleans up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.ids import new_id
from service.storage.layout import EVENTS

PAGE_SECONDS = 2.0


class EventType(StrEnum):
    """The types of events. `docs/administration.md` describes each."""

    USER_CREATED = "user_created"
    USER_DISABLED = "user_disabled"
    USER_ENABLED = "user_enabled"
    USER_DELETED = "user_deleted"
    EMAIL_CHANGED = "email_changed"
    EMAIL_VERIFIED = "email_verified"
    ROLES_CHANGED = "roles_changed"
    CLAIMS_CHANGED = "claims_changed"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - the name of a type
    SIGNED_IN = "signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SESSION_ENDED = "session_ended"
    SESSIONS_ENDED = "sessions_ended"
    REFRESH_TOKEN_REUSED = "refresh_token_reused"  # noqa: S105 - the name of a type
    LINK_MADE = "link_made"
    IDENTITY_LINKED = "identity_linked"
    IDENTITY_REMOVED = "identity_removed"
    FACTOR_ADDED = "factor_added"
    FACTOR_REMOVED = "factor_removed"
    RECOVERY_CODES_MADE = "recovery_codes_made"
    RECOVERY_CODE_USED = "recovery_code_used"
    ACTED_AS = "acted_as"


class Actor(StrEnum):
    """The cause of an event: the user, a server with the secret key, or an operator of the deployment."""

    USER = "user"
    SERVER = "server"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a user. `detail` has no secrets."""

    type: EventType
    user_id: str
    actor: Actor
    sid: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    at: datetime = field(default_factory=now)
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The wanted events; None for all."""

    type: EventType | None = None
    user_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def match(self) -> Document:
        found: Document = {}
        if self.type is not None:
            found["type"] = self.type.value
        if self.user_id is not None:
            found["user_id"] = self.user_id
        bounds = {"$gte": self.since, "$lt": self.until}
        if times := {name: value for name, value in bounds.items() if value is not None}:
            found["at"] = times
        return found


async def record_event(database: ProjectDatabase, event: Event, days: int) -> None:
    """Stores an event for `days`; with 0 days it is not stored. Within the transaction of the change."""
    if days:
        await database.records(EVENTS).insert(_write(event, days))


async def record_events(database: ProjectDatabase, events: Sequence[Event], days: int) -> None:
    """Stores events for `days`, in one command; with 0 days none. Within the transaction of a change, if it has one.

    Events that are already stored, as after a lost answer, stay unchanged.
    """
    if days and events:
        await database.records(EVENTS).insert_each([_write(event, days) for event in events])


async def find_events(database: ProjectDatabase, wanted: EventFilter, *, limit: int, offset: int) -> list[Document]:
    """The newest first. Raises QueryTooSlow."""
    command: Document = {
        "find": EVENTS,
        "filter": wanted.match(),
        "sort": {"at": -1, "_id": -1},
        "skip": offset,
        "limit": limit,
        "batchSize": limit + 1,
    }
    return await database.records(EVENTS).page(command, seconds=PAGE_SECONDS)


async def count_events(database: ProjectDatabase, wanted: EventFilter) -> int:
    """Raises QueryTooSlow."""
    command: Document = {"count": EVENTS, "query": wanted.match()}
    return await database.records(EVENTS).count(command, seconds=PAGE_SECONDS)


def _write(event: Event, days: int) -> Document:
    return {
        "_id": event.id,
        "type": event.type.value,
        "at": event.at,
        "user_id": event.user_id,
        "sid": event.sid,
        "ip": event.ip,
        "user_agent": event.user_agent,
        "actor": event.actor.value,
        "detail": dict(event.detail),
        "expires_at": event.at + timedelta(days=days),
    }
