"""The least rate of an answer: judged window by window, from when the client falls behind."""

import asyncio
from typing import cast

import pytest

from service.server.send_rate import SendRate
from service.server.write_buffer import WriteBuffer

WINDOW = 0.05


class Buffer:
    """A connection of which the kernel has taken so many bytes."""

    def __init__(self) -> None:
        self.bytes_taken = 0
        self.aborted = False

    def taken(self) -> int:
        return self.bytes_taken

    def reset(self) -> None:
        self.aborted = True


@pytest.mark.parametrize(
    ("rate", "behind", "aborted"),
    [(1_000, True, True), (10_000, True, False), (1_000, False, False)],
    ids=["too slow", "fast enough", "caught up"],
)
async def test_who_is_behind_and_too_slow_loses_the_connection(rate: int, behind: bool, aborted: bool) -> None:
    buffer = Buffer()
    judged = SendRate(cast(WriteBuffer, buffer), lambda: behind, window=WINDOW, rate=5_000)
    judged.start()
    for _ in range(4):
        buffer.bytes_taken += int(rate * WINDOW)
        await asyncio.sleep(WINDOW / 2)
        buffer.bytes_taken += int(rate * WINDOW)
        await asyncio.sleep(WINDOW / 2)
    assert buffer.aborted is aborted
    judged.stop()
