"""The least rate of an answer: judged window by window, from when the client falls behind."""

import asyncio
from typing import cast

import pytest

from service.fast.write_buffer import WriteBuffer
from service.server.answers import SendRate

WINDOW = 0.05


class Buffer:
    """A connection of which the kernel has taken so many bytes, and `step` more with each look at it."""

    def __init__(self, step: int = 0) -> None:
        self.bytes_taken = 0
        self.aborted = False
        self._step = step

    def taken(self) -> int:
        self.bytes_taken += self._step
        return self.bytes_taken

    def reset(self) -> None:
        self.aborted = True


@pytest.mark.parametrize(
    ("rate", "behind", "aborted"),
    [(1_000, True, True), (10_000, True, False), (1_000, False, False)],
    ids=["too slow", "fast enough", "caught up"],
)
async def test_who_is_behind_and_too_slow_loses_the_connection(rate: int, behind: bool, aborted: bool) -> None:
    buffer = Buffer(int(rate * WINDOW))
    judged = SendRate(cast(WriteBuffer, buffer), lambda: behind, window=WINDOW, rate=5_000)
    judged.start()
    await asyncio.sleep(4 * WINDOW)
    assert buffer.aborted is aborted
    judged.stop()
