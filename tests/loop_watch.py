"""Measures the steps of the event loop: the time of its thread's processor between two turns of a task that always waits."""

import asyncio
import time
from types import TracebackType


class LoopWatch:
    """`longest` is the longest step in seconds, of `turns` in all."""

    def __init__(self) -> None:
        self.turns = 0
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "LoopWatch":
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        # The last step may have been all of the work.
        await asyncio.sleep(0)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            self.longest = max(self.longest, time.thread_time() - before)
            self.turns += 1
