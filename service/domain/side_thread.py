"""Work on large values beside the event loop, on one thread of the worker: other requests have their turn meanwhile."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from service.domain.background import background_threads

P = ParamSpec("P")
T = TypeVar("T")

# Up to so many values, whatever is done with them takes less than a millisecond for each condition.
FEW = 2_000
_THREAD = background_threads(1, "values")


async def run_beside(value: Any, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(...)`, which goes through `value`; beside the event loop where that has many values."""
    if has_few(value):
        return function(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(function, *args, **kwargs))


def has_few(value: Any) -> bool:
    """Whether there are at most FEW values in `value`, at all depths. It looks at no more of them than that."""
    left, open_ = FEW, [value]
    while open_:
        inner = open_.pop()
        left -= len(inner) if isinstance(inner, dict | list) else 0
        if left < 0:
            return False
        if isinstance(inner, dict):
            open_ += inner.values()
        elif isinstance(inner, list):
            open_ += inner
    return True
