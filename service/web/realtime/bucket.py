"""Bounds the messages of a socket: some at once, and then so many a second."""

import time
from collections.abc import Callable


class Bucket:
    """Holds `size` messages at most, and is filled at `rate` a second."""

    __slots__ = ("_clock", "_left", "_rate", "_size", "_spent_at")

    def __init__(self, size: int, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._rate = rate
        self._clock = clock
        self._left = float(size)
        self._spent_at = clock()

    def take(self) -> bool:
        """Takes one message; False if none is left."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._spent_at) * self._rate)
        self._spent_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
