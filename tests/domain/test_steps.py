"""Long work on the event loop: in steps, by turns of projects, and no longer than its client waits."""

import asyncio
import time
from typing import Any

import pytest

from service.domain import steps
from service.domain.paces import Presence
from service.domain.steps import (
    FIRST_SECONDS,
    SAVED_SECONDS,
    SHARE,
    SHORT_STEP_SECONDS,
    STEP_SECONDS,
    run_in_steps,
    stop_steps,
)
from service.errors import Unavailable
from service.schema.steps import Steps
from tests.conftest import MakeApi
from tests.loop_watch import LoopWatch

STEP = 0.001


def work(count: int, done: list[str], name: str = "") -> Steps[int]:
    """So many milliseconds of work."""
    for _ in range(count):
        yield
        until = time.thread_time() + STEP
        while time.thread_time() < until:
            pass
        done.append(name)
    return count


@pytest.fixture
async def databases(make_api: MakeApi) -> list[Any]:
    return [(await make_api()).project.database for _ in range(2)]


async def test_short_work_is_done_at_once(databases: list[Any]) -> None:
    done: list[str] = []
    running = run_in_steps(databases[0], work(1, done))
    with pytest.raises(StopIteration) as end:
        running.send(None)
    assert (end.value.value, len(done)) == (1, 1)


async def test_v5_others_have_their_turn_between_the_steps_of_long_work(databases: list[Any]) -> None:
    async with LoopWatch() as watch:
        assert await run_in_steps(databases[0], work(200, [])) == 200
    assert watch.turns >= 200 * STEP / STEP_SECONDS / 2
    assert watch.longest < 0.05


async def test_v5_projects_take_turns_however_much_one_has_to_do(databases: list[Any]) -> None:
    """A hundred milliseconds of the second project are not behind four seconds of the first."""
    done: list[str] = []
    hostile = [asyncio.create_task(run_in_steps(databases[0], work(500, done, "a"))) for _ in range(8)]
    await asyncio.sleep(0)
    assert await run_in_steps(databases[1], work(100, done, "b")) == 100
    assert done.count("a") < 4 * done.count("b")
    for task in hostile:
        task.cancel()
    assert {type(each) for each in await asyncio.gather(*hostile, return_exceptions=True)} == {asyncio.CancelledError}


async def test_v5_long_work_has_a_share_of_the_loop_beside_others(
    databases: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Presence, "has_others", lambda *_: True)
    began = time.monotonic()
    async with LoopWatch() as watch:
        await run_in_steps(databases[0], work(100, []))
    assert time.monotonic() - began > (100 * STEP - FIRST_SECONDS - SAVED_SECONDS) / SHARE * 0.9
    assert watch.turns >= 100 * STEP / SHORT_STEP_SECONDS / 2


async def test_v5_cancelled_work_ends_at_its_next_step(databases: list[Any]) -> None:
    done: list[str] = []
    task = asyncio.create_task(run_in_steps(databases[0], work(2_000, done)))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    before = len(done)
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert len(done) - before <= 1 + STEP_SECONDS / STEP
    # The place was given back.
    assert await run_in_steps(databases[1], work(20, done)) == 20


async def test_v5_work_that_nobody_waits_for_ends_at_its_next_step(databases: list[Any]) -> None:
    done: list[str] = []
    task = asyncio.create_task(run_in_steps(databases[0], work(2_000, done)))
    for _ in range(5):
        await asyncio.sleep(0)
    stop_steps(task)
    before = len(done)
    with pytest.raises(Unavailable) as refusal:
        await task
    assert refusal.value.cause == "the client has left"
    assert len(done) - before <= 1 + STEP_SECONDS / STEP
    assert FIRST_SECONDS <= STEP_SECONDS < 0.05
    assert await run_in_steps(databases[1], work(20, done)) == 20
    assert task in steps._left  # noqa: SLF001 - it is forgotten with the request
    del task, refusal
