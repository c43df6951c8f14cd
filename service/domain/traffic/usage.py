"""Usage: the requests of each project by hour, which every worker adds to, and the sizes that the leader measures.

A worker that is killed loses the counts of its last ten seconds. A write whose reply is lost may be counted twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from service.domain.traffic.tally import (
    BYTES,
    DEPLOYMENT,
    EDGES,
    FAILED,
    FIRST_BUCKET,
    FIRST_KIND,
    KINDS,
    LAST_AT,
    REFUSED,
    REQUESTS,
    Key,
    Row,
    Tally,
    add_totals,
    percentile,
)
from service.errors import ServiceError
from service.schema.values import now
from service.storage.ids import new_id
from service.storage.usage import HOUR, HourCounts, UsageStore, hour_of

EVERY_SECONDS = 10.0
CLOSE_SECONDS = 2.0
# Seconds between two looks of the leader, and the age at which the sizes of a project with traffic are measured again.
LOOK_SECONDS = 60.0
SIZES_AGE = timedelta(minutes=5)
# A worker counts a request in its hour so much later.
LATE = timedelta(seconds=30)
BUSIEST = 20
DAY = timedelta(days=1)
PATHS = {
    REQUESTS: "requests",
    REFUSED: "errors_4xx",
    FAILED: "errors_5xx",
    BYTES: "bytes",
    **{FIRST_BUCKET + number: f"ms.{number}" for number in range(len(EDGES))},
    **{FIRST_KIND + number: f"by.{kind}" for number, kind in enumerate(KINDS)},
}
SIZES = ("users", "documents", "files", "storage_bytes")
TOTALS = ("requests", "errors_4xx", "errors_5xx", "bytes")
NOTHING: Mapping[str, Any] = {}

Step = Literal["hour", "day"]
STEPS: Mapping[Step, timedelta] = {"hour": HOUR, "day": DAY}


@dataclass(frozen=True, slots=True)
class Span:
    """The time of a report in steps, from `since` on and before `until`; both are the beginning of a step."""

    since: datetime
    until: datetime
    step: Step

    def __iter__(self) -> Iterator[datetime]:
        at = self.since
        while at < self.until:
            yield at
            at += STEPS[self.step]


class Usage:
    """The counts of this worker, and the reports over all workers. Every call raises Unavailable."""

    def __init__(self, store: UsageStore, count_sockets: Callable[[], Mapping[str, int]]) -> None:
        """`count_sockets` returns how many sockets this worker has open, by project."""
        self.tally = Tally()
        self._count_sockets = count_sockets
        # One measurement, and one write, at a time.
        self.measuring, self._writing = asyncio.Lock(), asyncio.Lock()
        self._store = store
        self._worker = new_id()

    async def write(self) -> None:
        """Adds what was counted to the hours; counts that cannot be written are added later."""
        async with self._writing:
            if sockets := self._count_sockets():
                await self._store.note_sockets(self._worker, sockets)
            rows = self.tally.take()
            try:
                await self._store.add([_counted(key, row) for key, row in add_totals(rows).items()])
            except ServiceError:
                self.tally.restore(rows)
                raise

    async def close(self) -> None:
        """Writes the counts that wait, unless the database does not answer in time."""
        with suppress(ServiceError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.write()

    async def report(self, project_id: str, span: Span) -> list[dict[str, Any]]:
        """The counts of each step, zeros included. Raises QueryTooSlow."""
        steps = list(span)
        rows = await self._store.sum_up(
            project_id, span.since, span.until, step=span.step, paths=PATHS.values(), most=len(steps)
        )
        found = {row["_id"]: row for row in rows}
        return [{"at": at, **show_sums(found.get(at, NOTHING))} for at in steps]

    async def busiest(self, span: Span) -> list[dict[str, Any]]:
        """The projects with most requests in that time, with their sums. Raises QueryTooSlow."""
        rows = await self._store.busiest(span.since, span.until, but=DEPLOYMENT, limit=BUSIEST)
        return [{"id": row["_id"], **{name: int(row[name]) for name in TOTALS}} for row in rows]

    async def figures(self, project_id: str) -> Mapping[str, Any] | None:
        """The figures of a project, as the leader measured them last; None before the first time."""
        return await self._store.find_sizes(project_id)

    async def measure_all(self, project_ids: Callable[[], Awaitable[Iterable[str]]]) -> None:
        """The leader's job: figures of each project. One without a request since the last time keeps its sizes."""
        async with self.measuring:
            await self._measure_all(await project_ids())

    async def _measure_all(self, project_ids: Iterable[str]) -> None:
        at = now()
        recent = await self._store.recent(begin_step(at, "hour") - 23 * HOUR)
        known = await self._store.all_sizes()
        for project_id in project_ids:
            await self._measure(project_id, known.get(project_id), recent.get(project_id), at)

    async def _measure(
        self, project_id: str, known: Mapping[str, Any] | None, recent: Mapping[str, Any] | None, at: datetime
    ) -> None:
        last = recent["last_at"] if recent is not None else None
        counts = {
            "requests_24h": int(recent["requests"]) if recent is not None else 0,
            "errors_24h": int(recent["errors"]) if recent is not None else 0,
            "last_request_at": last or (known or {}).get("last_request_at"),
        }
        if known is None or _is_outdated(known["measured_at"], last, at):
            sizes = {**asdict(await self._store.measure(project_id)), "measured_at": at}
        elif any(known[name] != value for name, value in counts.items()):
            sizes = {name: known[name] for name in (*SIZES, "measured_at")}
        else:
            return
        await self._store.put_sizes(project_id, {**sizes, **counts, "as_of": at})


def _is_outdated(measured_at: datetime, last: datetime | None, at: datetime) -> bool:
    """True for sizes of some age, if there was a request since."""
    return last is not None and last > measured_at - LATE and at - measured_at >= SIZES_AGE


def begin_step(at: datetime, step: Step) -> datetime:
    """The beginning of the hour or the day that holds `at`."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    return hour if step == "hour" else hour.replace(hour=0)


def show_sums(sums: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of a step, with percentiles of its durations, and its requests by kind."""
    buckets = [int(sums.get(f"ms_{number}", 0)) for number in range(len(EDGES))]
    return {
        **{name: int(sums.get(name, 0)) for name in TOTALS},
        "p50_ms": percentile(buckets, 0.5),
        "p95_ms": percentile(buckets, 0.95),
        "by": {kind: int(sums.get(f"by_{kind}", 0)) for kind in KINDS},
    }


def _counted(key: Key, row: Row) -> HourCounts:
    project_id, hour = key
    last_at = datetime.fromtimestamp(row[LAST_AT], UTC).replace(tzinfo=None)
    return HourCounts(project_id, hour_of(hour), {PATHS[place]: row[place] for place in PATHS if row[place]}, last_at)
