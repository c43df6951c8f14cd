"""Work that may be left between any two of its steps, and gone on with. Pure."""

from collections.abc import Generator
from math import inf
from time import monotonic
from typing import TypeVar, cast

T = TypeVar("T")
# Each `yield` ends a step; the generator returns what the work comes to, which is never None.
Steps = Generator[None, None, T]


def take_steps(steps: Steps[T], seconds: float = inf) -> T | None:
    """Runs `steps` and returns their result, or None if they did not end within `seconds`; the next call continues
    them.
    """
    until = monotonic() + seconds
    try:
        while monotonic() < until:
            next(steps)
    except StopIteration as end:
        return cast(T, end.value)
    return None


def finish(steps: Steps[T]) -> T:
    """Runs `steps` to their end and returns their result, for a caller without a deadline."""
    return cast(T, take_steps(steps))
