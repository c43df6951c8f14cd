"""The events of a project, for its servers, and of one user, for that user."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.domain.projects.lookup import Project
from service.query.populate import Row
from service.storage.events import EventFilter, count_events, find_events

EVERYTHING = EventFilter()


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events are asked for, and which page of them. Without `count` there is no total."""

    wanted: EventFilter = EVERYTHING
    limit: int = 50
    offset: int = 0
    count: bool = True


@dataclass(frozen=True, slots=True)
class EventPage:
    rows: Sequence[Row]
    total: int | None
    query: EventQuery


async def list_events(project: Project, query: EventQuery) -> EventPage:
    """The newest first. Raises QueryTooSlow."""
    rows = await find_events(project.database, query.wanted, limit=query.limit, offset=query.offset)
    total = await count_events(project.database, query.wanted) if query.count else None
    return EventPage(rows, total, query)


async def list_events_of(project: Project, user_id: str, query: EventQuery) -> EventPage:
    """Those of one user, whatever the query says of users."""
    return await list_events(project, replace(query, wanted=replace(query.wanted, user_id=user_id)))
