"""The time that a call of the driver may take: as `asyncio.timeout`, whatever else cancels the task."""

import asyncio

import pytest

from service.storage.deadline import Deadline

NEVER, AT_ONCE = 3_600.0, 0.0


async def forever() -> None:
    await asyncio.Event().wait()


async def under(deadline: Deadline, raised: list[type[BaseException]]) -> None:
    try:
        with deadline:
            await forever()
    except BaseException as error:
        raised.append(type(error))
        raise


async def test_what_takes_too_long_ends_with_a_timeout_error() -> None:
    with pytest.raises(TimeoutError), Deadline(AT_ONCE):
        await forever()
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
    # The task goes on as any other.
    await asyncio.sleep(0)


async def test_what_ends_in_time_leaves_nothing_behind() -> None:
    with Deadline(AT_ONCE):
        pass
    await asyncio.sleep(0.01)


async def test_what_is_raised_inside_comes_out() -> None:
    with pytest.raises(ValueError, match="ours"), Deadline(NEVER):
        raise ValueError("ours")


async def test_only_the_deadline_that_is_over_ends_what_is_inside_it() -> None:
    with Deadline(NEVER):
        with pytest.raises(TimeoutError), Deadline(AT_ONCE):
            await forever()
        await asyncio.sleep(0)


async def test_an_outer_deadline_passes_through_an_inner_one() -> None:
    passed: list[type[BaseException]] = []
    with pytest.raises(TimeoutError), Deadline(AT_ONCE):
        await under(Deadline(NEVER), passed)
    assert passed == [asyncio.CancelledError]


async def test_who_is_cancelled_is_not_told_of_a_timeout() -> None:
    async def work() -> None:
        with Deadline(NEVER):
            await forever()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_cancelled_in_the_moment_of_the_deadline_is_cancelled() -> None:
    deadline = Deadline(NEVER)

    async def work() -> None:
        with deadline:
            await forever()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    deadline._cancel()  # noqa: SLF001 - so that both come between two turns of the loop
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
