"""Reading a project's own events from the log, by cursors that the reader keeps.

A reader is given the events before the feed's position, which is read first: a commit that comes later is behind it, so
no reader passes an event.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from service.bounds import MAX_CHANGES, MAX_FEED_BYTES, MAX_FEED_READERS
from service.domain.collections.catalog import Catalogs
from service.domain.feed.leader import FeedLeader
from service.domain.feed.views import show_event
from service.domain.projects.lookup import Project
from service.errors import CursorExpired, NotInFeed, TooManyReaders, Violation
from service.schema.event_patterns import GAP, are_within, matches
from service.schema.values import now
from service.storage.databases import Databases
from service.storage.feed import FeedRecord, LoggedEvent, read_feed, read_log, read_row
from service.storage.feed_stream import FeedPlace

# A reader who waits looks so often; the readers of a worker share the look at the position.
LOOK_SECONDS = 0.2
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """`after` is a cursor, or `now` or `first`. Without `events`, patterns, all events that the feed keeps are asked for."""

    after: str = "first"
    events: tuple[str, ...] = ()
    limit: int = 100
    wait: int = 0


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """Some events, and the cursor after which the next ones come. `lag_ms` is how far the feed is behind the writes."""

    events: Sequence[dict[str, Any]]
    next: str
    caught_up: bool
    lag_ms: int


class Feed:
    """The feed for its readers. Every call raises Unavailable."""

    def __init__(self, databases: Databases, catalogs: Catalogs, leader: FeedLeader, *, days: int) -> None:
        self.leader = leader
        self._databases = databases
        self._catalogs = catalogs
        self._days = days
        self._readers: Counter[str] = Counter()
        self._known: tuple[float, FeedRecord] | None = None
        self._looking = asyncio.Lock()

    async def read(self, project: Project, query: ChangesQuery) -> ChangesPage:
        """At once, or with `wait` as soon as there is an event. Raises Invalid, CursorExpired, TooManyReaders."""
        reader = await self.open(project, query)
        if not query.wait:
            return await reader.read()
        with self.count(project):
            return await reader.wait(query.wait)

    async def open(self, project: Project, query: ChangesQuery) -> "FeedReader":
        """Raises Invalid for events that the feed does not keep, CursorExpired."""
        if not are_within(query.events, project.settings.feed):
            msg = (
                f"The setting FEED keeps {', '.join(project.settings.feed) or 'no events'}; ask for those, or change it"
            )
            raise NotInFeed([Violation(("query", "events"), msg, "not_in_feed")])
        record = await read_feed(self._databases)
        first = self._find_first(record)
        after = {"first": first, "now": before(record.position)}.get(query.after, query.after)
        if after < first:
            raise CursorExpired(first)
        return FeedReader(self, project, query, after)

    @contextmanager
    def count(self, project: Project) -> Iterator[None]:
        """One more reader who waits. Raises TooManyReaders."""
        if self._readers[project.id] >= MAX_FEED_READERS:
            raise TooManyReaders
        self._readers[project.id] += 1
        try:
            yield
        finally:
            self._readers[project.id] -= 1
            if not self._readers[project.id]:
                del self._readers[project.id]

    async def look(self) -> FeedRecord:
        """The record as it was LOOK_SECONDS ago at the most."""
        async with self._looking:
            if self._known is None or time.monotonic() - self._known[0] >= LOOK_SECONDS:
                began = time.monotonic()
                self._known = began, await read_feed(self._databases)
        return self._known[1]

    async def read_rows(self, project: Project, after: str, limit: int) -> tuple[list[LoggedEvent], FeedRecord, bool]:
        """Rows after the cursor, the record they were read by, and True if there may be more before its position."""
        record = await read_feed(self._databases)
        rows = await read_log(self._databases, project.id, after, record.position.cursor, limit=limit)
        found, size = list[LoggedEvent](), 0
        for row in rows:
            size += len(row.raw)
            if found and size > MAX_FEED_BYTES:
                break
            found.append(read_row(row))
            await asyncio.sleep(0)
        return found, record, len(found) == limit or len(found) < len(rows)

    async def show(self, project: Project, event: LoggedEvent) -> dict[str, Any]:
        """The event, with the cursor after which the next one comes."""
        return {**await show_event(self._catalogs, project, event), "cursor": event.cursor}

    def _find_first(self, record: FeedRecord) -> str:
        """The earliest cursor whose later events are all in the log."""
        oldest = int(now().replace(tzinfo=UTC).timestamp()) - self._days * DAY_SECONDS
        return before(FeedPlace(max(record.since, oldest << 32)))

    async def close(self) -> None:
        await self.leader.close()


class FeedReader:
    """One reader of a project's events, who has read up to a cursor."""

    def __init__(self, feed: Feed, project: Project, query: ChangesQuery, after: str) -> None:
        self.after = after
        self._feed = feed
        self._project = project
        self._query = query

    async def read(self) -> ChangesPage:
        """The next events. The cursor passes those that the reader did not ask for."""
        limit = self._query.limit if not self._query.events else int(MAX_CHANGES)
        rows, record, has_more = await self._feed.read_rows(self._project, self.after, limit)
        wanted = [row for row in rows if self._wants(row.type)]
        is_cut = len(wanted) > self._query.limit
        wanted = wanted[: self._query.limit]
        is_at_end = not has_more and not is_cut
        if is_at_end:
            self.after = max(self.after, before(record.position))
        else:
            self.after = (wanted if is_cut else rows)[-1].cursor
        events = [await self._feed.show(self._project, row) for row in wanted]
        lag = max(int((now() - record.at).total_seconds() * 1000), 0)
        return ChangesPage(events, self.after, is_at_end, lag)

    async def wait(self, seconds: float) -> ChangesPage:
        """As `read`, as soon as there is an event, or after `seconds`."""
        until = time.monotonic() + seconds
        found = await self.read()
        while not found.events and (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(LOOK_SECONDS, left))
            if (await self._feed.look()).position.cursor > self.after or left <= LOOK_SECONDS:
                found = await self.read()
        return found

    def _wants(self, type_: str) -> bool:
        return type_ == GAP or matches(self._query.events or self._project.settings.feed, type_)


def before(place: FeedPlace) -> str:
    """The cursor of the last place before another one."""
    if place.operation:
        return FeedPlace(place.moment, place.operation - 1).cursor
    return FeedPlace(place.moment - 1, 0xFFFFFF).cursor
