"""The feed as NDJSON: a line for each event as it happens, and a heartbeat where none does."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable

from service.domain.feed.reader import ChangesPage, Feed, FeedReader
from service.domain.projects.lookup import Project
from service.errors import ServiceError
from service.schema.event_patterns import GAP
from service.web.http.render import write_json

LINES = "application/x-ndjson"
HEARTBEAT_SECONDS = 15.0
LIFE_SECONDS = 3_600.0


class ChangeLines:
    """The pieces of an answer. It ends after an hour, after a gap, and where the reader may no longer read."""

    def __init__(
        self, feed: Feed, project: Project, reader: FeedReader, may_follow: Callable[[], Awaitable[bool]]
    ) -> None:
        """Raises TooManyReaders."""
        self._reader = reader
        self._may_follow = may_follow
        self._place = feed.count(project)
        self._place.__enter__()
        self._is_open = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._write()

    async def _write(self) -> AsyncIterator[bytes]:
        until = time.monotonic() + LIFE_SECONDS
        while time.monotonic() < until and await self._may_follow():
            try:
                found = await self._reader.wait(HEARTBEAT_SECONDS)
            except ServiceError:
                # The client goes on from its last cursor.
                return
            for event in found.events:
                yield write_json(event) + b"\n"
                if event["type"] == GAP:
                    return
            if not found.events:
                yield write_json(_beat(found)) + b"\n"

    async def aclose(self) -> None:
        if self._is_open:
            self._is_open = False
            self._place.__exit__(None, None, None)


def _beat(found: ChangesPage) -> dict[str, object]:
    return {"type": "feed.heartbeat", "cursor": found.next, "lag_ms": found.lag_ms}
