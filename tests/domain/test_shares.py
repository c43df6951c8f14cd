"""Work under way, bounded for each name."""

import asyncio
import time

import pytest

from faults.waiting import waiting_for
from service.domain.paces import Fewer, Presence
from service.domain.shares import Shares, Turns
from service.errors import Busy


def slow(presence: Presence | None = None) -> Fewer:
    """One place for names whose work takes a second; beside others a quarter of each second, half a second at once."""
    return Fewer(1, 1.0, presence or Presence(), share=0.25, saved=0.5)


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
    async with waiting_for("the place"):
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


async def test_a_name_has_fewer_places_until_its_work_is_quick() -> None:
    shares = Shares(3, slow=slow(), seconds=0.01)
    async with shares.take("unknown"):
        with pytest.raises(Busy):
            await shares.acquire("unknown")
    for name, seconds in (("a", 8.0), ("b", 0.5)):
        await shares.acquire(name)
        shares.release(name, seconds)
    async with shares.take("b"), shares.take("b"), shares.take("a"):
        with pytest.raises(Busy):
            await shares.acquire("a")
    for _ in range(10):
        async with shares.take("a"):
            pass
    async with shares.take("a"), shares.take("a"), shares.take("a"):
        pass


async def test_places_above_the_fewer_are_not_handed_on_and_come_back() -> None:
    shares, begun = Shares(3, waiting=9, seconds=5.0, slow=slow()), list[int]()
    async with shares.take("a"):
        pass
    for _ in range(3):
        await shares.acquire("a")
    waiting = [asyncio.create_task(shares.acquire("a")) for _ in range(6)]
    await asyncio.sleep(0)
    for seconds in (3.9, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0):
        shares.release("a", seconds)
        await asyncio.sleep(0.01)
        begun.append(sum(task.done() for task in waiting))
    # The mean is just below 1 s, then 1.7 s, 2.3 s, and falls to 1.7 s, 1.3 s and 0.96 s.
    assert begun == [1, 1, 1, 2, 3, 6, 6, 6, 6]
    assert not shares._taken  # noqa: SLF001 - what it is about is that nothing stays
    assert not shares._queues  # noqa: SLF001 - as above


async def test_with_fewer_places_as_many_are_taken_in() -> None:
    shares = Shares(3, waiting=2, slow=slow())
    tasks = [asyncio.create_task(shares.acquire("a")) for _ in range(6)]
    await asyncio.sleep(0.01)
    assert [task.done() for task in tasks] == [True, False, False, False, False, True]
    with pytest.raises(Busy):
        await tasks[-1]
    for _ in range(5):
        shares.release("a")
    await asyncio.gather(*tasks[:-1])


async def test_a_slow_name_waits_beside_others_until_its_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Presence, "has_others", lambda *_: True)
    presence = Presence()
    shares = Shares(3, waiting=3, seconds=30.0, slow=Fewer(2, 0.001, presence, share=100.0, saved=0.5))
    await shares.acquire("a")
    shares.release("a", 2.5)
    # It owes 2 s more than it may at once; a hundredth of that is waited for.
    began, tasks = time.monotonic(), [asyncio.create_task(shares.acquire("a")) for _ in range(2)]
    await tasks[0]
    assert time.monotonic() - began >= 0.019
    await asyncio.sleep(0)
    assert not tasks[1].done()
    shares.release("a", 0.1)
    await tasks[1]
    shares.release("a", 0.1)
    assert not shares._taken  # noqa: SLF001 - what it is about is that nothing stays
    assert not shares._queues  # noqa: SLF001 - as above
    assert not shares._timers  # noqa: SLF001 - as above


async def in_turn(turns: Turns, name: str, order: list[str]) -> None:
    async with turns.take(name):
        order.append(name)
        await asyncio.sleep(0)


async def test_names_take_turns_however_many_wait() -> None:
    turns, order = Turns(1, waiting=10, retry_after=5), list[str]()
    await turns.acquire("a")
    tasks = [asyncio.create_task(in_turn(turns, name, order)) for name in "aaaabbc"]
    await asyncio.sleep(0)
    turns.release("a")
    await asyncio.gather(*tasks)
    assert "".join(order) == "abcabaa"


@pytest.mark.parametrize(("is_beside_others", "expected"), [(True, "bca"), (False, "abc")])
async def test_a_name_that_owes_time_passes_its_turn_beside_others(
    monkeypatch: pytest.MonkeyPatch, is_beside_others: bool, expected: str
) -> None:
    monkeypatch.setattr(Presence, "has_others", lambda *_: is_beside_others)
    slow = Fewer(1, 0.0, Presence(), share=100.0, saved=0.5)
    turns, order = Turns(1, waiting=10, retry_after=5, slow=slow), list[str]()
    await turns.acquire("a")
    tasks = [asyncio.create_task(in_turn(turns, name, order)) for name in "abc"]
    await asyncio.sleep(0)
    # It owes 5 s more than it may at once; a hundredth of that is waited for.
    began = time.monotonic()
    turns.release("a", 5.5)
    await asyncio.gather(*tasks)
    assert "".join(order) == expected
    assert not is_beside_others or time.monotonic() - began >= 0.049
    assert not turns._queues  # noqa: SLF001 - what it is about is that nothing stays
    await turns.acquire("c")


async def test_a_name_that_owes_little_does_not_wait_for_the_first_that_owes_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Presence, "has_others", lambda *_: True)
    turns = Turns(1, waiting=10, retry_after=5, slow=Fewer(1, 0.0, Presence(), share=1.0, saved=0.0))
    turns.note("a", 3_600.0)
    turns.note("b", 0.01)
    first, second = (asyncio.create_task(turns.acquire(name)) for name in "ab")
    async with waiting_for("the turn of b"):
        await second
    assert not first.done()
    first.cancel()


async def test_the_name_with_most_waiting_makes_room_for_others() -> None:
    turns, order = Turns(1, waiting=4, retry_after=5), list[str]()
    await turns.acquire("a")
    tasks = [asyncio.create_task(in_turn(turns, name, order)) for name in "aaaa" + "a" + "bb" + "b"]
    await asyncio.sleep(0)
    turns.release("a")
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(each, Busy) for each in answers] == [False, False, True, True, True, False, False, True]
    assert [each.headers["retry-after"] for each in answers if isinstance(each, Busy)] == ["5"] * 4
    assert "".join(order) == "abab"


async def test_who_leaves_the_queue_makes_room() -> None:
    turns, order = Turns(1, waiting=1, retry_after=5), list[str]()
    await turns.acquire("a")
    for _ in range(3):
        leaver = asyncio.create_task(turns.acquire("a"))
        await asyncio.sleep(0)
        leaver.cancel()
        await asyncio.gather(leaver, return_exceptions=True)
    last = asyncio.create_task(in_turn(turns, "b", order))
    await asyncio.sleep(0)
    turns.release("a")
    await last
    assert order == ["b"]


async def test_a_turn_that_comes_as_its_owner_is_cancelled_goes_on() -> None:
    turns = Turns(1, waiting=2, retry_after=5)
    await turns.acquire("a")
    cancelled, next_ = (asyncio.create_task(turns.acquire(name)) for name in "bc")
    await asyncio.sleep(0)
    turns.release("a")
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    async with waiting_for("the place"):
        await next_


async def test_v32_a_waiter_that_was_cancelled_in_the_same_moment_makes_room() -> None:
    turns, order = Turns(1, waiting=3, retry_after=5), list[str]()
    await turns.acquire("a")
    tasks = [asyncio.create_task(in_turn(turns, "a", order)) for _ in range(3)]
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(turns.release, "a")
    tasks[-1].cancel()
    await in_turn(turns, "b", order)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in outcomes] == [type(None), type(None), asyncio.CancelledError]
    assert "".join(order) == "aba"
