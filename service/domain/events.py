"""The events of a project: lists of them, and the journal of those that belong to no transaction.

The journal, of sign-ins and the ends of sessions, is written once a second, off every request's way: a worker that is
killed loses those of its last second. Changes of accounts record theirs in their own transactions.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from service.bounds import MAX_EVENTS_WAITING
from service.domain.projects.lookup import Project, Projects
from service.errors import ProjectNotFound, ServiceError
from service.query.populate import Row
from service.schema.values import now
from service.storage.events import Event, EventFilter, count_events, find_events, record_events

log = structlog.get_logger()

EVERY_SECONDS = 1.0
CLOSE_SECONDS = 2.0
# Time after which an unwritten event is dropped: a deleted project must not be written to any more.
KEEP = timedelta(seconds=20)
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


class Journal:
    """The events that this worker has to write."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._waiting: list[tuple[Project, Event]] = []
        self._lost = 0
        self._writing = asyncio.Lock()

    def note(self, project: Project, event: Event) -> None:
        """It is written soon, unless too many wait or the project keeps no events."""
        if not project.settings.event_days:
            return
        if len(self._waiting) >= MAX_EVENTS_WAITING:
            self._lost += 1
            return
        self._waiting.append((project, event))

    async def write(self) -> None:
        """Returns when what was noted is written; what cannot be written now is kept for a while."""
        async with self._writing:
            taken, self._waiting = self._waiting, []
            left = self._sort(taken)
            try:
                for project_id, (project, events) in list(left.items()):
                    await self._write(project, events)
                    del left[project_id]
            finally:
                self._waiting = [
                    (project, event) for project, events in left.values() for event in events
                ] + self._waiting

    def _sort(self, taken: Sequence[tuple[Project, Event]]) -> dict[str, tuple[Project, list[Event]]]:
        """By projects, without what is too old."""
        oldest, found = now() - KEEP, dict[str, tuple[Project, list[Event]]]()
        for project, event in taken:
            if event.at >= oldest:
                found.setdefault(project.id, (project, []))[1].append(event)
            else:
                self._lost += 1
        if self._lost:
            log.warning("events_lost", events=self._lost)
            self._lost = 0
        return found

    async def _write(self, project: Project, events: Sequence[Event]) -> None:
        with suppress(ProjectNotFound):
            await self._projects.by_id(project.id)
            await record_events(project.database, events, project.settings.event_days)

    async def close(self) -> None:
        """Writes what waits, as far as the database answers."""
        with suppress(ServiceError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.write()
