"""The requests of this worker since its last write: counted by project and hour, and noted for their log. No I/O.

A row is a list of numbers, which one request changes in half a microsecond; a note costs less than a microsecond.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from service.bounds import MAX_REQUESTS_WAITING, MAX_REQUESTS_WRITTEN

# Upper edges of the buckets of durations, in milliseconds; the last one takes what is slower, too.
EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
KINDS = ("auth", "data", "files", "aggregate", "realtime")
# The places of a row: the numbers of all, of refused and of failed requests, the bytes of answers, the time of the last
# one, the buckets, the kinds, and the requests of no kind.
REQUESTS, REFUSED, FAILED, BYTES, LAST_AT, FIRST_BUCKET = range(6)
FIRST_KIND = FIRST_BUCKET + len(EDGES)
REALTIME = FIRST_KIND + KINDS.index("realtime")
NO_KIND = FIRST_KIND + len(KINDS)
SECONDS_OF_HOUR = 3_600
# The name of the row of the whole deployment, with the requests of no project. No id of a project has a star.
DEPLOYMENT = "*"
SECONDS_EDGES = tuple(edge / 1_000 for edge in EDGES[:-1])
# Rows of the Admin API are not the traffic of a project.
ADMIN = "/admin/"
# Routes by their beginnings, the first that fits.
PREFIXES = (
    ("/auth-collections/users/aggregate", "aggregate"),
    ("/api/collections/{name}/aggregate", "aggregate"),
    ("/api/aggregations", "aggregate"),
    ("/api/files", "files"),
    ("/files/", "files"),
    ("/auth-", "auth"),
    ("/realtime", "realtime"),
    ("/api/", "data"),
)

Row = list[float]
# A project's id and an hour, in hours since 1970.
Key = tuple[str, int]


class Tally:
    """Counts requests, and hands over what it has counted."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[Key, Row] = {}

    def count(
        self, at: float, project_id: str | None, route: str, status: int, seconds: float, size: int, *, is_stream: bool
    ) -> None:
        """Counts one answered request. `at` is in seconds since 1970; a stream of events is of the kind `realtime`."""
        if not (kind := find_kind(route)):
            return
        row = self._row(project_id or DEPLOYMENT, at)
        row[REQUESTS] += 1
        row[BYTES] += size
        row[LAST_AT] = at
        row[FIRST_BUCKET + bisect_left(SECONDS_EDGES, seconds)] += 1
        row[REALTIME if is_stream else kind] += 1
        if status >= 400:
            row[REFUSED if status < 500 else FAILED] += 1

    def count_socket(self, at: float, project_id: str) -> None:
        """Counts a socket that was opened, which has no duration."""
        row = self._row(project_id, at)
        row[REQUESTS] += 1
        row[REALTIME] += 1
        row[LAST_AT] = at

    def _row(self, project_id: str, at: float) -> Row:
        key = (project_id, int(at) // SECONDS_OF_HOUR)
        if (row := self._rows.get(key)) is None:
            row = self._rows[key] = _empty()
        return row

    def take(self) -> dict[Key, Row]:
        """The rows of what was counted since the last call."""
        rows, self._rows = self._rows, {}
        return rows

    def restore(self, rows: dict[Key, Row]) -> None:
        """Counts once more what `take` handed over, and could not be written."""
        for key, row in rows.items():
            _add(self._rows.setdefault(key, _empty()), row)


def add_totals(rows: dict[Key, Row]) -> dict[Key, Row]:
    """The rows, with those of the deployment, which also hold the sums of all projects."""
    found = {key: list(row) for key, row in rows.items()}
    for (project_id, hour), row in rows.items():
        if project_id != DEPLOYMENT:
            _add(found.setdefault((DEPLOYMENT, hour), _empty()), row)
    return found


def _empty() -> Row:
    return [0] * (NO_KIND + 1)


def _add(total: Row, row: Row) -> None:
    last = max(total[LAST_AT], row[LAST_AT])
    total[:] = [one + other for one, other in zip(total, row, strict=True)]
    total[LAST_AT] = last


@lru_cache(1_000)
def find_kind(route: str) -> int:
    """The place in a row that counts requests of a route; 0 for a route that is not counted."""
    if route.startswith(ADMIN):
        return 0
    kind = next((kind for prefix, kind in PREFIXES if route.startswith(prefix)), None)
    return NO_KIND if kind is None else FIRST_KIND + KINDS.index(kind)


def percentile(buckets: list[int], part: float) -> int | None:
    """The upper edge, in milliseconds, of the bucket in which `part` of all durations ends; None for no durations."""
    wanted, seen = sum(buckets) * part, 0
    for edge, number in zip(EDGES, buckets, strict=True):
        seen += number
        if seen >= wanted and seen:
            return edge
    return None


SLOW_SECONDS = 1.0
FAILED_STATUS = 400

# time, method, route, status, seconds, bytes, project's id, caller, API key, error code, rule, request id. A tuple, which is
# made faster than an object.
Note = tuple[float, str, str, int, float, int, str | None, Any, str | None, str | None, str | None, str]


@dataclass(frozen=True, slots=True)
class TakenNotes:
    """The notes to write, and the number of those that are dropped."""

    notes: list[Note]
    skipped: int


class Ring:
    """The notes since the last write."""

    __slots__ = ("_dropped", "_notes")

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._dropped = 0

    def note(self, note: Note) -> None:
        """It is written with the next write, or dropped and counted."""
        if len(self._notes) < MAX_REQUESTS_WAITING:
            self._notes.append(note)
        else:
            self._dropped += 1

    def take(self) -> TakenNotes:
        """The notes that one write takes: failed and slow requests first, then the others in their order."""
        notes, dropped = self._notes, self._dropped
        self._notes, self._dropped = [], 0
        if len(notes) <= MAX_REQUESTS_WRITTEN:
            return TakenNotes(notes, dropped)
        # The sort keeps the order of equals.
        chosen = sorted(notes, key=_is_plain)[:MAX_REQUESTS_WRITTEN]
        return TakenNotes(chosen, dropped + len(notes) - len(chosen))


def _is_plain(note: Note) -> bool:
    _, _, _, status, seconds, *_ = note
    return status < FAILED_STATUS and seconds < SLOW_SECONDS
