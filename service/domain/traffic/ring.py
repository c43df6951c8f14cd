"""The requests of this worker that wait to be written. No I/O: a note costs less than a microsecond."""

from dataclasses import dataclass
from typing import Any

from service.bounds import MAX_REQUESTS_WAITING, MAX_REQUESTS_WRITTEN

SLOW_SECONDS = 1.0
FAILED = 400

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
    return status < FAILED and seconds < SLOW_SECONDS
