"""The leader of the feed: it reads the writes of the projects that keep one, and commits their events to the log.

One process does, under the lease of the deployment's jobs. Between two commits MongoDB gathers the writes for 100 ms,
because a commit costs as much as the events of a hundred.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from service.bounds import MAX_COMMIT_BYTES
from service.domain.feed.events import log_change
from service.domain.feed.interests import Interests, read_interests
from service.errors import Unavailable
from service.observe.metrics import EVENT_FEED_COMMITS, EVENT_FEED_EVENTS, EVENT_FEED_GAPS, EVENT_FEED_LAG
from service.schema.event_patterns import GAP
from service.schema.values import now
from service.storage.change_feed import FeedHistoryLost, find_now, is_lost
from service.storage.client import Client
from service.storage.databases import Databases
from service.storage.feed import FeedFenced, FeedWriter, LoggedEvent
from service.storage.feed_interests import find_interests
from service.storage.feed_stream import FeedChange, FeedPlace, FeedStream

log = structlog.get_logger()

GATHER_SECONDS = 0.1
# Seconds between two looks for projects that keep a feed, and between two commits of a position alone.
LOOK_SECONDS = 1.0
CLOSE_SECONDS = 2.0
# Events read in one turn of the event loop, some 30 µs each.
EVENTS_AT_ONCE = 50


class FeedLeader:
    """Call `run` again and again in the leading process; it returns after a while without anything to follow."""

    def __init__(self, databases: Databases, connect: Callable[[], Client], *, days: int) -> None:
        self._databases = databases
        self._connect = connect
        self._keep = timedelta(days=days)
        self._client: Client | None = None

    async def run(self) -> None:
        """Returns where another process leads, or MongoDB was away. Raises Unavailable where nothing could be written."""
        if self._client is None:
            self._client = self._connect()
        writer = FeedWriter(self._client, self._databases)
        try:
            await self._lead(self._client, writer)
        except FeedFenced:
            log.warning("feed_fenced", epoch=writer.epoch)
        except Exception as error:
            if not is_lost(error):
                raise
            # Failures in a row make the next attempt wait; one after hours of work is the first of them.
            if not writer.has_written:
                raise Unavailable from error
            log.warning("feed_interrupted", cause=type(error).__name__)
        finally:
            await writer.close()

    async def _lead(self, client: Client, writer: FeedWriter) -> None:
        place = (await writer.begin()).position
        while True:
            seen = await find_now(client)
            interests = read_interests(self._databases, await find_interests(self._databases))
            if interests.by_database:
                place = await self._follow(client, writer, place, interests)
                continue
            # No feed was kept when the settings were read, so no write before that is one of a feed.
            place = FeedPlace(max(seen, place.moment))
            await writer.commit((), place, None, self._expiry())
            await asyncio.sleep(LOOK_SECONDS)

    async def _follow(self, client: Client, writer: FeedWriter, place: FeedPlace, interests: Interests) -> FeedPlace:
        """Commits until the settings of a project change; returns the place behind that."""
        stream = FeedStream(client, interests.follow(self._databases), place)
        try:
            return await self._commit_all(writer, stream, interests)
        except FeedHistoryLost:
            return await self._report_gap(client, writer, place, interests)
        finally:
            with suppress(Exception):
                await stream.close()

    async def _commit_all(self, writer: FeedWriter, stream: FeedStream, interests: Interests) -> FeedPlace:
        written = time.monotonic()
        while True:
            changes = await stream.next_changes()
            until, definition = _cut_at_definition(changes, self._databases.system.name)
            for some in cut(changes[:until]):
                events = await _log_all(some, interests)
                last = some[-1]
                behind = FeedPlace(last.place.moment, last.place.operation + 1)
                await self._commit(writer, events, behind, last.event["wallTime"])
                written = time.monotonic()
            if definition is not None:
                return FeedPlace(definition.place.moment + 1)
            if time.monotonic() - written >= LOOK_SECONDS:
                await self._commit(writer, (), stream.place, None if not changes else changes[-1].event["wallTime"])
                written = time.monotonic()
            elif changes:
                await asyncio.sleep(GATHER_SECONDS)

    async def _commit(
        self, writer: FeedWriter, events: Sequence[LoggedEvent], place: FeedPlace, at: datetime | None
    ) -> None:
        await writer.commit(events, place, at, self._expiry())
        EVENT_FEED_COMMITS.inc()
        EVENT_FEED_EVENTS.inc(len(events))
        EVENT_FEED_LAG.set(0.0 if at is None else max((now() - at).total_seconds(), 0.0))

    async def _report_gap(
        self, client: Client, writer: FeedWriter, place: FeedPlace, interests: Interests
    ) -> FeedPlace:
        """Reports to each project that the writes since `place` are lost; the feed goes on from now."""
        present, at = FeedPlace(await find_now(client)), now()
        data = {"from": place.cursor, "to": present.cursor, "reason": "history_lost"}
        names = sorted(each.project_id for each in interests.by_database.values())
        events = [
            LoggedEvent(FeedPlace(present.moment - 1, number).cursor, name, GAP, at, data)
            for number, name in enumerate(names)
        ]
        await self._commit(writer, events, present, at)
        EVENT_FEED_GAPS.inc()
        log.error("feed_gap", since=place.cursor, until=present.cursor, projects=len(names))
        return present

    def _expiry(self) -> datetime:
        return now() + self._keep

    async def close(self) -> None:
        if self._client is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._client.close()


def _cut_at_definition(changes: Sequence[FeedChange], system: str) -> tuple[int, FeedChange | None]:
    """The number of writes before the first that changes a project's settings, and that one."""
    for number, change in enumerate(changes):
        if change.database == system:
            return number, change
    return len(changes), None


def cut(changes: Sequence[FeedChange]) -> Iterator[Sequence[FeedChange]]:
    """Parts of at most MAX_COMMIT_BYTES each; a larger write is a part of its own."""
    some, size = list[FeedChange](), 0
    for change in changes:
        length = change.size
        if some and size + length > MAX_COMMIT_BYTES:
            yield some
            some, size = [], 0
        some.append(change)
        size += length
    if some:
        yield some


async def _log_all(changes: Sequence[FeedChange], interests: Interests) -> list[LoggedEvent]:
    """The events of those writes that are one, in turns with the rest of the event loop."""
    events = list[LoggedEvent]()
    for number, change in enumerate(changes):
        interest = interests.by_database.get(change.database)
        if interest is not None and (event := log_change(change, interest)) is not None:
            events.append(event)
        if number % EVENTS_AT_ONCE == EVENTS_AT_ONCE - 1:
            await asyncio.sleep(0)
    return events
