"""Live requests and rates of projects, for operators: one poll for each project that is watched, shared by its watchers.

The poll reads what all workers have written. It begins with the first watcher and ends after the last one has left.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from time import monotonic
from typing import Any, Protocol

import orjson
import structlog

from service.bounds import MAX_LIVE_ENTRIES, MAX_LIVE_READ, MAX_LIVE_STREAMS, MAX_OPERATOR_LIVE_STREAMS
from service.domain.traffic.request_log import show_request
from service.domain.traffic.tally import EDGES, percentile
from service.domain.traffic.usage import PATHS, begin_step
from service.errors import Busy, ServiceError, TooManySockets
from service.schema.values import now, write_time
from service.storage.request_log import SKIPPED, RequestFilter, RequestLogStore
from service.storage.usage import HOUR, UsageStore

log = structlog.get_logger()

REQUESTS, USAGE = "requests", "usage"
TOPICS = (REQUESTS, USAGE)
POLL_SECONDS = 1.0
USAGE_SECONDS = 2.0
# Seconds between two comments, which show the client and proxies that the stream lives, and between two looks at a
# watcher's session.
COMMENT_SECONDS = 15.0
CHECK_SECONDS = 10.0
# Workers write their entries at different moments of one second, so each poll reads the last ones once more.
OVERLAP = timedelta(seconds=10)
# Workers add their counts every 10 seconds, so rates are those of the last 30.
WINDOW_SECONDS = 30.0


class Watcher(Protocol):
    """One client that watches a project."""

    @property
    def topics(self) -> Collection[str]: ...

    @property
    def holder(self) -> str:
        """The operator who watches."""

    def write(self, topic: str, data: bytes) -> None: ...

    def comment(self) -> None: ...

    async def check(self) -> None:
        """Ends the stream of a client that may no longer watch."""


class Rates:
    """The changes of a project's counts over the last seconds. No I/O."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, list[int]]] = deque()

    def note(self, at: float, counts: Sequence[int]) -> dict[str, Any]:
        """The rates after a sample: all requests, those with errors, and the buckets of durations, each ever growing."""
        samples = self._samples
        samples.append((at, list(counts)))
        while at - samples[0][0] > WINDOW_SECONDS:
            samples.popleft()
        begun, first = samples[0]
        seconds = at - begun
        requests, errors, *buckets = [last - before for last, before in zip(counts, first, strict=True)]
        return {
            "requests_per_s": round(requests / seconds, 2) if seconds else 0.0,
            "errors_per_s": round(errors / seconds, 2) if seconds else 0.0,
            "p95_ms": percentile(buckets, 0.95),
        }


class Fresh:
    """Tells entries that are read for the first time from those that were read before. No I/O."""

    def __init__(self) -> None:
        self.seen: set[str] | None = None

    def take(self, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], int]:
        """The new entries of `rows`, which are the newest first, in the order of time, and the number of those left out.

        The first call takes nothing: it only learns what is there.
        """
        seen, self.seen = self.seen, {row["_id"] for row in rows}
        if seen is None:
            return [], 0
        new = [row for row in rows if row["_id"] not in seen]
        skipped = sum(row["skipped"] for row in new if row["project_id"] == SKIPPED)
        entries = [row for row in new if row["project_id"] != SKIPPED]
        shown = entries[:MAX_LIVE_ENTRIES]
        return shown[::-1], skipped + len(entries) - len(shown)

    def forget(self) -> None:
        self.seen = None


class NewRequests:
    """The requests of a project that no look before this one has found, also where another worker writes them late."""

    def __init__(self, store: RequestLogStore, wanted: RequestFilter) -> None:
        self._store = store
        self._wanted = wanted
        self.fresh = Fresh()

    async def look(self) -> tuple[list[Mapping[str, Any]], int]:
        """As `Fresh.take`. Raises QueryTooSlow."""
        rows = await self._store.recent(self._wanted, now() - OVERLAP, limit=MAX_LIVE_READ)
        return self.fresh.take(rows)


class Poll:
    """The poll of one project."""

    def __init__(self, project_id: str, requests: RequestLogStore, usage: UsageStore) -> None:
        self.watchers: set[Watcher] = set()
        self._project_id = project_id
        self._usage = usage
        self._new = NewRequests(requests, RequestFilter(project_id))
        self.fresh = self._new.fresh
        self._rates = Rates()
        self._begun = begin_step(now(), "hour")
        self._due = dict.fromkeys(("usage", "comment", "check"), 0.0)

    async def run(self) -> None:
        """Returns when the last watcher has left. A database that is away is asked again."""
        while self.watchers:
            try:
                await self._look()
            except ServiceError as error:
                log.warning("live_failed", project=self._project_id, code=error.code)
            except Exception:
                log.exception("live_crashed", project=self._project_id)
            await asyncio.sleep(POLL_SECONDS)

    async def _look(self) -> None:
        if self._is_due("check", CHECK_SECONDS):
            await asyncio.gather(*(watcher.check() for watcher in self.watchers))
        if self._is_due("comment", COMMENT_SECONDS):
            for watcher in list(self.watchers):
                watcher.comment()
        if not any(REQUESTS in watcher.topics for watcher in self.watchers):
            self.fresh.forget()
        else:
            await self._tell_requests()
        if any(USAGE in watcher.topics for watcher in self.watchers) and self._is_due("usage", USAGE_SECONDS):
            await self._tell_usage()

    def _is_due(self, name: str, seconds: float) -> bool:
        at = monotonic()
        if at < self._due[name]:
            return False
        self._due[name] = at + seconds
        return True

    async def _tell_requests(self) -> None:
        entries, skipped = await self._new.look()
        if entries or skipped:
            shown = [{**show_request(row), "at": write_time(row["at"])} for row in entries]
            self._tell(REQUESTS, {"entries": shown, "skipped": skipped})

    async def _tell_usage(self) -> None:
        paths = [path for path in PATHS.values() if not path.startswith("by.")]
        rows = await self._usage.sum_up(
            self._project_id, self._begun, begin_step(now(), "hour") + HOUR, step="day", paths=paths, most=100
        )
        sockets = await self._usage.count_sockets(self._project_id)
        self._tell(USAGE, {**self._rates.note(monotonic(), _add_up(rows)), "sockets": sockets})

    def _tell(self, topic: str, value: Mapping[str, Any]) -> None:
        data = orjson.dumps(value)
        for watcher in list(self.watchers):
            if topic in watcher.topics:
                watcher.write(topic, data)


def _add_up(rows: Iterable[Mapping[str, Any]]) -> list[int]:
    """All requests, those with errors, and the buckets of durations."""
    names = [("requests",), ("errors_4xx", "errors_5xx"), *((f"ms_{number}",) for number in range(len(EDGES)))]
    found = list(rows)
    return [sum(int(row[name]) for row in found for name in each) for each in names]


class LivePolls:
    """The polls of this worker."""

    def __init__(self, requests: RequestLogStore, usage: UsageStore) -> None:
        self._requests = requests
        self._usage = usage
        self.polls: dict[str, Poll] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, wanted: RequestFilter) -> NewRequests:
        """For one command, which asks by itself."""
        return NewRequests(self._requests, wanted)

    def join(self, project_id: str, watcher: Watcher) -> None:
        """Adds a watcher, which gets what happens from now on. Raises Busy, TooManySockets."""
        watching = [each for poll in self.polls.values() for each in poll.watchers]
        if len(watching) >= MAX_LIVE_STREAMS:
            raise Busy
        if sum(each.holder == watcher.holder for each in watching) >= MAX_OPERATOR_LIVE_STREAMS:
            raise TooManySockets("This operator has 10 live streams already; close one first")
        poll = self.polls.get(project_id)
        if poll is None:
            poll = self.polls[project_id] = Poll(project_id, self._requests, self._usage)
            self._start(project_id, poll)
        poll.watchers.add(watcher)

    def _start(self, project_id: str, poll: Poll) -> None:
        # The poll outlives the request that began it, and is none of its work.
        task = asyncio.create_task(self._run(project_id, poll), name="live", context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, project_id: str, poll: Poll) -> None:
        try:
            await poll.run()
        finally:
            del self.polls[project_id]

    def leave(self, project_id: str, watcher: Watcher) -> None:
        if (poll := self.polls.get(project_id)) is not None:
            poll.watchers.discard(watcher)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
