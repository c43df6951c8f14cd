"""Waits for states that send no event. A wait in vain fails with the condition that did not become true."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

# A bound for what hangs. A machine that does much else needs some of it.
PATIENCE_SECONDS = 60.0


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Returns once `condition()` is true. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(describe(condition, seconds))
        time.sleep(0.02)


async def until(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS, *, pause: float = 0.02) -> None:
    """Returns once `condition()`, or what it awaits, is true. Raises TimeoutError."""
    async with waiting_for(describe(condition, seconds), seconds):
        while not await _outcome(condition):  # noqa: ASYNC110 - for what sends no event
            await asyncio.sleep(pause)


@asynccontextmanager
async def waiting_for(what: str, seconds: float = PATIENCE_SECONDS) -> AsyncIterator[None]:
    """Ends what is inside after so many seconds. Raises TimeoutError, which says `what` did not come."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise TimeoutError(what) from None


def describe(condition: Callable[[], object], seconds: float) -> str:
    """A sentence with the lines in which the condition is written."""
    source = " ".join(inspect.getsource(condition).split()) if inspect.isfunction(condition) else repr(condition)
    return f"This did not become true within {seconds:g} s: {source}"


async def _outcome(condition: Callable[[], Any]) -> object:
    found = condition()
    return await found if inspect.isawaitable(found) else found
