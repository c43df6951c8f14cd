"""The pace of each name's work: a name whose work is slow has fewer places, and little time beside others. No I/O."""

from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Protocol
from zlib import crc32

# The number of names whose paces are kept, and the weight of the newest piece of work in a mean.
KEPT_PACES = 1_024
NEWEST = 0.25
# Seconds for which a name is present after it has asked.
PRESENT_SECONDS = 1.0
# Places of the board on which workers note names, and seconds for which a worker remembers what it has read there.
BOARD_PLACES = 64
BOARD_SECONDS = 0.05


class Board(Protocol):
    """Moments by place, in memory that several processes write."""

    def __getitem__(self, places: slice, /) -> list[float]: ...

    def __setitem__(self, place: int, at: float, /) -> None: ...


class Presence:
    """Tells whether names other than a given one are present. It keeps no more than the latest name.

    Workers that `join` one board tell each other of their names. Two names may share a place there: then one of them does
    not count as present for the other, if it asks other workers alone.
    """

    __slots__ = ("_board", "_elsewhere", "_latest", "_latest_at", "_other_at", "_place", "_read_until")

    def __init__(self) -> None:
        self._latest = ""
        self._latest_at = -inf
        # The moment at which a name other than the latest asked last.
        self._other_at = -inf
        self._board: Board | None = None
        self._place = 0
        # The place of the board with the latest moment, that moment, and the latest one of all other places.
        self._elsewhere = (0, -inf, -inf)
        self._read_until = -inf

    def join(self, board: Board) -> None:
        """Shares the board with other processes: the moment at which the names of each place asked last."""
        self._board = board

    def note(self, name: str) -> None:
        """The name asks for something now."""
        if name != self._latest:
            self._latest, self._other_at = name, self._latest_at
            self._place = _find_place(name)
        self._latest_at = monotonic()
        if self._board is not None:
            self._board[self._place] = self._latest_at

    def has_others(self, name: str) -> bool:
        """True if a name other than this one is present."""
        at, now = self._other_at if name == self._latest else self._latest_at, monotonic()
        return now - at < PRESENT_SECONDS or (self._board is not None and now - self._read(name, now) < PRESENT_SECONDS)

    def _read(self, name: str, now: float) -> float:
        """The moment at which a name of another place asked last."""
        if self._board is not None and now >= self._read_until:
            times = self._board[:]
            latest = max(range(BOARD_PLACES), key=times.__getitem__)
            others = (*times[:latest], *times[latest + 1 :])
            self._elsewhere, self._read_until = (latest, times[latest], max(others)), now + BOARD_SECONDS
        place, at, other_at = self._elsewhere
        return other_at if place == _find_place(name) else at


def _find_place(name: str) -> int:
    return crc32(name.encode()) % BOARD_PLACES


# The projects that ask a worker, and those that ask the other workers of one server. One for the process, as its event
# loop is.
PRESENCE = Presence()


@dataclass(frozen=True, slots=True)
class Fewer:
    """`most` places in place of all, for a name whose work takes longer than `seconds` in the mean, or is not known yet.

    While others are present such a name has one place. Each piece of work that takes longer than `seconds` is owed: such
    pieces may take `share` seconds of each second, and `saved` seconds at once. Quick pieces between them change nothing.
    """

    most: int
    seconds: float
    presence: Presence
    share: float
    saved: float


@dataclass(slots=True)
class Pace:
    """The mean seconds of a name's work, and the seconds that it owed at a moment for its work beside others."""

    mean: float
    owed: float = 0.0
    at: float = 0.0


class Paces:
    """The paces of the last KEPT_PACES names. Names without any count as slow."""

    __slots__ = ("_kept", "_slow")

    def __init__(self, slow: Fewer) -> None:
        self._slow = slow
        self._kept: dict[str, Pace] = {}

    def allow(self, name: str, taken: int, most: int) -> bool:
        """True if a name that has `taken` places may take one more; a quick name that owes nothing may have `most`."""
        if self.find_delay(name):
            return False
        pace = self._kept.get(name)
        if pace is not None and pace.mean <= self._slow.seconds:
            return taken < most
        return not taken if self._slow.presence.has_others(name) else taken < self._slow.most

    def find_delay(self, name: str) -> float:
        """The seconds until a name may begin: beside others it first waits until what it owes is forgiven."""
        pace = self._kept.get(name)
        if pace is None or not pace.owed or not self._slow.presence.has_others(name):
            return 0.0
        return max(0.0, self._owed(pace) - self._slow.saved) / self._slow.share

    def note(self, name: str, seconds: float) -> None:
        """A piece of work of the name took so long."""
        pace = self._kept.pop(name, None) or Pace(seconds)
        if len(self._kept) >= KEPT_PACES:
            del self._kept[next(iter(self._kept))]
        # Put in again, so that the dict's order is that of use.
        self._kept[name] = pace
        pace.mean += NEWEST * (seconds - pace.mean)
        if seconds > self._slow.seconds and self._slow.presence.has_others(name):
            pace.owed, pace.at = self._owed(pace) + seconds, monotonic()

    def _owed(self, pace: Pace) -> float:
        return max(0.0, pace.owed - self._slow.share * (monotonic() - pace.at))
