"""Work under way, bounded for each name."""

import asyncio

import pytest

from service.domain.shares import Shares
from service.errors import Busy


async def test_a_name_at_its_bound_is_refused_and_others_are_not() -> None:
    shares = Shares(2)
    async with shares.take("a"), shares.take("a"):
        with pytest.raises(Busy) as refused:
            await shares.acquire("a")
        async with shares.take("b"):
            pass
    assert refused.value.headers["retry-after"] == "1"
    async with shares.take("a"):
        pass


async def test_a_place_is_handed_to_the_first_that_waits() -> None:
    shares, order = Shares(1, waiting=2), list[str]()

    async def work(name: str) -> None:
        async with shares.take("a"):
            order.append(name)

    await shares.acquire("a")
    tasks = [asyncio.create_task(work(name)) for name in ("first", "second")]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await shares.acquire("a")
    shares.release("a")
    await asyncio.gather(*tasks)
    assert order == ["first", "second"]


async def test_who_waits_too_long_is_refused() -> None:
    shares = Shares(1, waiting=1, seconds=0.01)
    async with shares.take("a"):
        with pytest.raises(Busy):
            await shares.acquire("a")
        with pytest.raises(Busy):
            await shares.acquire("a")
    async with shares.take("a"):
        pass


async def test_who_is_cancelled_as_the_place_comes_hands_it_on() -> None:
    shares = Shares(1, waiting=2)
    await shares.acquire("a")
    cancelled, next_ = (asyncio.create_task(shares.acquire("a")) for _ in range(2))
    await asyncio.sleep(0)
    shares.release("a")
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    async with asyncio.timeout(1):
        await next_
    shares.release("a")
    async with shares.take("a"):
        pass


async def test_names_without_work_are_forgotten() -> None:
    shares = Shares(1, waiting=1, seconds=0.01)
    for number in range(100):
        async with shares.take(str(number)):
            with pytest.raises(Busy):
                await shares.acquire(str(number))
    assert not shares._taken  # noqa: SLF001 - what it is about is that nothing stays
    assert not shares._queues  # noqa: SLF001 - as above
