"""What a worker remembers for some seconds: so much saves a question to the database, and is never much out of date."""

from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Values by name, each for `seconds` after it was put in, and at most `size` of them.

    It is read several times in every request, so reading is one look into a dict. When it is full the oldest goes.
    """

    __slots__ = ("_entries", "seconds", "size")

    def __init__(self, size: int, seconds: float) -> None:
        self.size = size
        self.seconds = seconds
        self._entries: dict[str, tuple[float, V]] = {}

    def get(self, name: str) -> V | None:
        """The value put in under `name` less than `seconds` ago; None where there is none."""
        entry = self._entries.get(name)
        return entry[1] if entry is not None and entry[0] + self.seconds > monotonic() else None

    def put(self, name: str, value: V) -> V:
        """Remembers `value` from now on, and returns it."""
        # Taken out first, so that the dict's order is that of age.
        self._entries.pop(name, None)
        if len(self._entries) >= self.size:
            del self._entries[next(iter(self._entries))]
        self._entries[name] = (monotonic(), value)
        return value

    def clear(self) -> None:
        self._entries.clear()
