"""Work that may be left between any two of its steps, and gone on with. Pure."""

from collections.abc import Generator
from math import inf
from time import monotonic
from typing import TypeVar, cast

T = TypeVar("T")
# Each `yield` ends a step; the generator returns what the work comes to, which is never None.
Steps = Generator[None, None, T]


def take_steps(steps: Steps[T], seconds: float = inf) -> T | None:
    """What `steps` come to, or None where they are not at their end after so long; the next call goes on with them."""
    until = monotonic() + seconds
    try:
        while monotonic() < until:
            next(steps)
    except StopIteration as end:
        return cast(T, end.value)
    return None


def finish(steps: Steps[T]) -> T:
    """What `steps` come to, for a caller that nobody waits for."""
    return cast(T, take_steps(steps))
