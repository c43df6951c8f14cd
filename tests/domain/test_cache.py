"""A worker's cache: its time, its size, and one load for all that wait for it."""

import asyncio
import time
from contextvars import ContextVar
from typing import Any

import pytest

from service.domain import cache
from service.domain.cache import Cache


class Source:
    """The source of a cache: each load takes the next number once `open` is set."""

    def __init__(self) -> None:
        self.loads = 0
        self.open = asyncio.Event()
        self.fails = False

    async def load(self) -> int:
        self.loads += 1
        number = self.loads
        await self.open.wait()
        if self.fails:
            raise LookupError
        return number


async def test_a_value_is_known_until_its_time_is_over() -> None:
    recent = Cache[str](10, 5)
    assert recent.put("a", "one") == "one"
    assert recent.get("a") == "one"
    assert recent.get("b") is None
    recent.seconds = 0
    assert recent.get("a") is None


async def test_putting_again_begins_anew() -> None:
    recent = Cache[str](2, 5)
    recent.put("a", "one")
    recent.put("b", "two")
    recent.put("a", "three")
    recent.put("c", "four")
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == ("three", None, "four")


async def test_clear_forgets_all() -> None:
    recent = Cache[str](2, 5)
    recent.put("a", "one")
    recent.clear()
    assert recent.get("a") is None


async def test_what_has_expired_leaves_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SWEEP_SECONDS", 0.01)
    recent = Cache[str](10, 60)
    # The first value begins a timer, and so does the first one after all have left.
    for _ in range(2):
        recent.put("a", "one", read_at=time.monotonic() - 59.99)
        await asyncio.sleep(0.1)
        assert len(recent) == 0
    recent.put("a", "one", read_at=time.monotonic() - 59.99)
    recent.put("b", "two")
    await asyncio.sleep(0.1)
    assert remembered(recent) == ["b"]


async def test_a_cache_of_bytes_has_room_for_so_many_and_always_for_the_newest() -> None:
    recent = Cache[bytes](2_000, 5, len)
    for name in "abc":
        recent.put(name, b"x" * 400)
    assert remembered(recent) == ["a", "b", "c"]
    recent.put("d", b"x" * 400)
    assert remembered(recent) == ["b", "c", "d"]
    # A replacement takes the room of the value before it, not more.
    for _ in range(5):
        recent.put("d", b"x" * 390)
    assert remembered(recent) == ["b", "c", "d"]
    recent.put("large", b"x" * 5_000)
    assert remembered(recent) == ["large"]
    recent.put("e", b"")
    assert remembered(recent) == ["e"]
    recent.forget("e")
    recent.clear()
    for name in "abc":
        recent.put(name, b"x" * 400)
    assert remembered(recent) == ["a", "b", "c"]


async def test_the_names_of_values_count_as_bytes_too() -> None:
    recent = Cache[bytes](2_000, 5, len)
    recent.put("a", b"")
    recent.put("b" * 1_900, b"")
    assert (len(recent), remembered(recent)) == (1, [])


def remembered(recent: Cache[Any]) -> list[str]:
    return [name for name in ("a", "b", "c", "d", "e", "large") if recent.read_at(name) is not None]


async def test_all_who_wait_share_one_load() -> None:
    recent, source = Cache[int](10, 5), Source()
    waiting = [asyncio.create_task(recent.get_or_load("a", source.load)) for _ in range(40)]
    await asyncio.sleep(0)
    source.open.set()
    assert await asyncio.gather(*waiting) == [1] * 40
    assert await recent.get_or_load("a", source.load) == 1
    assert source.loads == 1


async def test_a_false_value_is_remembered_too() -> None:
    recent = Cache[bool](10, 5)

    async def load() -> bool:
        return False

    assert not await recent.get_or_load("a", load)
    assert not await recent.get_or_load("a", pytest.fail)


async def test_a_failed_load_fails_all_who_wait_and_is_not_kept() -> None:
    recent, source = Cache[int](10, 5), Source()
    source.fails = True
    source.open.set()
    outcomes = await asyncio.gather(*(recent.get_or_load("a", source.load) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [LookupError] * 3
    source.fails = False
    assert await recent.get_or_load("a", source.load) == 2


async def test_a_waiter_who_is_cancelled_does_not_cancel_the_load() -> None:
    recent, source = Cache[int](10, 5), Source()
    first, second = (asyncio.create_task(recent.get_or_load("a", source.load)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    source.open.set()
    assert await second == 1
    assert first.cancelled()
    assert recent.get("a") == 1


async def test_a_value_is_as_old_as_the_beginning_of_its_load() -> None:
    recent, source = Cache[int](10, 0.05), Source()
    waiting = asyncio.create_task(recent.get_or_load("a", source.load))
    await asyncio.sleep(0.06)
    source.open.set()
    assert await waiting == 1
    assert recent.get("a") is None


async def test_a_reload_begins_after_it_was_asked_for_and_is_shared() -> None:
    recent, source = Cache[int](10, 5), Source()
    first = asyncio.create_task(recent.get_or_load("a", source.load))
    await asyncio.sleep(0)
    later = [asyncio.create_task(recent.reload("a", source.load)) for _ in range(5)]
    await asyncio.sleep(0)
    source.open.set()
    assert await first == 1
    assert await asyncio.gather(*later) == [2] * 5
    assert recent.get("a") == 2
    assert await recent.reload("a", source.load) == 3


async def test_a_reload_goes_on_where_the_load_before_it_failed() -> None:
    recent, source = Cache[int](10, 5), Source()
    source.fails = True
    first = asyncio.create_task(recent.get_or_load("a", source.load))
    await asyncio.sleep(0)
    later = asyncio.create_task(recent.reload("a", lambda: asyncio.sleep(0, 7)))
    await asyncio.sleep(0)
    source.open.set()
    with pytest.raises(LookupError):
        await first
    assert await later == 7


async def test_a_load_knows_nothing_of_the_request_that_asked_first() -> None:
    variable = ContextVar("variable", default="none")
    variable.set("the first request's")
    recent = Cache[str](10, 5)

    async def load() -> str:
        return variable.get()

    assert await recent.get_or_load("a", load) == "none"
