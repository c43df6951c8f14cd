"""A wait in vain names its condition in the failure."""

import asyncio

import pytest

from faults.waiting import until, wait_until, waiting_for


async def test_a_condition_that_does_not_become_true_is_named() -> None:
    happened = False
    with pytest.raises(TimeoutError, match=r"within 0.01 s: .*lambda: happened"):
        await until(lambda: happened, 0.01)
    with pytest.raises(TimeoutError, match="lambda: happened"):
        wait_until(lambda: happened, 0.01)
    with pytest.raises(TimeoutError, match=r"<bound method Event.is_set of .*unset"):
        await until(asyncio.Event().is_set, 0.01)


async def test_what_hangs_is_named() -> None:
    with pytest.raises(TimeoutError, match=r"^the answer$"):
        async with waiting_for("the answer", 0.01):
            await asyncio.Event().wait()

    async def is_answered() -> bool:
        await asyncio.Event().wait()
        return True

    with pytest.raises(TimeoutError, match="async def is_answered"):
        await until(is_answered, 0.01)


async def test_what_becomes_true_is_waited_for() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, event.set)
    await until(event.is_set)
