"""Rows V1 and V15 over sockets: one large write, a thousand subscriptions, and an event loop that others get their turn of."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, merge, put_rules, sign_up
from tests.web.realtime.live import Live

EACH, LEAVES, VALUES = 40, 50, 49_900
MOMENT = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored
Record = dict[str, Any]
# The CPU of the loop's thread between two turns. Test, clients and server share it.
STEP_SECONDS = 0.05


class Gaps:
    """The longest time that the event loop was held at once: CPU seconds of its thread."""

    longest = 0.0


@asynccontextmanager
async def measured_loop() -> AsyncIterator[Gaps]:
    """Without the collection of garbage, which goes through all that the suite holds."""
    gaps = Gaps()

    async def look() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            gaps.longest, last = max(gaps.longest, now - last), now

    gc.collect()
    gc.disable()
    task = asyncio.create_task(look())
    try:
        yield gaps
    finally:
        task.cancel()
        gc.enable()


async def follow_many(messages: Api, open_socket: Open, leaf: Any, sockets: int) -> list[Live]:
    """Each subscription has LEAVES conditions of its own, any of which may hold; of LAST one holds."""
    opened: list[Live] = []
    for number in range(sockets):
        live: Live = await open_socket()
        opened.append(live)
        await live.hello(key=messages.key)
        for each in range(EACH):
            last = LAST - (number * EACH + each) * LEAVES
            where = {"or": [leaf(last - offset) for offset in range(LEAVES)]}
            await live.send(type="subscribe", id=str(each), collection="messages", where=where, limit=1)
        assert {(await live.expect("snapshot"))["id"] for _ in range(EACH)} == {str(each) for each in range(EACH)}
    return opened


LAST = 49_999
TEXT = "y" * 400_000
# The values, the condition of a number, and how many sockets follow; 25 have a thousand subscriptions.
SHAPES: dict[str, tuple[Any, Callable[[int], Record], int]] = {
    "eq": ([*range(VALUES), f"x{LAST}"], lambda number: {"extra_eq": f"x{number}"}, 25),
    "gt": (list(range(10_000)), lambda number: {"extra_gt": 9_998 if number == LAST else 10_000 + number}, 3),
    "names of their own": (
        [*({f"x{number % 50}": number} for number in range(VALUES // 2 - 50)), {f"y{LAST}": 1}],
        lambda number: {f"data.extra.y{number}_eq": 1},
        3,
    ),
    "contains": (f"{TEXT}x{LAST}.", lambda number: {"extra_contains": f"x{number}."}, 1),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_v1_no_large_write_holds_the_loop(messages: Api, open_socket: Open, shape: str) -> None:
    values, leaf, count = SHAPES[shape]
    first, *others = await follow_many(messages, open_socket, leaf, count)
    async with measured_loop() as gaps:
        made = await create(messages, extra=values)
        assert (await first.change("0"))["op"] == "enter"
        await merge(messages, made, note="x")
        assert (await first.change("0"))["op"] == "change"
    for live in others:
        await live.nothing()
    assert gaps.longest < STEP_SECONDS


async def test_v1_no_bulk_of_large_writes_holds_the_loop(messages: Api, open_socket: Open) -> None:
    (live,) = await follow_many(messages, open_socket, lambda number: {"extra_eq": f"x{number}"}, 1)
    times = {"created_at": MOMENT, "updated_at": MOMENT, "version": 1}
    records = [{"_id": f"{number:024x}", "data": {"extra": [*range(VALUES)]}, **times} for number in range(30)]
    last = {"_id": "f" * 24, "data": {"extra": f"x{LAST}"}, **times}
    async with measured_loop() as gaps:
        await asyncio.to_thread(messages.database["c_messages"].insert_many, [*records, last])
        assert (await live.change("0"))["document"]["id"] == last["_id"]
    assert gaps.longest < STEP_SECONDS


async def test_v15_a_write_to_the_source_of_a_set_holds_no_loop(messages: Api, open_socket: Open) -> None:
    members = {"name": "members", "schema": {"list": {"type": "array"}, "room": {"type": "string"}}}
    await messages.request("POST", "/api/collections", json=members)
    sets = {"rooms": {"from": "members", "where": {"list_eq": "$user.id"}, "take": "room"}}
    await put_rules(messages, {"sets": sets, "collections": {"messages": {"read": {"room_id_in": "$sets.rooms"}}}})
    user, token = await sign_up(messages, "ann@example.com")
    live: Live = await open_socket()
    await live.hello(token=token)
    for each in range(EACH):
        await live.subscribe("messages", str(each), where={"text_eq": str(each)})
    async with measured_loop() as gaps:
        await create(messages, "members", list=list(range(45_000)), room="r1")
        await live.nothing()
        await create(messages, "members", list=[*range(45_000), user], room="r2")
        resyncs = {(await live.expect("resync"))["reason"]}
    assert resyncs == {"access"}
    assert gaps.longest < STEP_SECONDS
