"""Measures the steps of the event loop: the time of its thread's processor between two turns of a task that always waits.

The garbage collector's time does not count: the heap here is that of all the tests, and a worker's is frozen at its start.
"""

import asyncio
import gc
import time
from types import TracebackType


class LoopWatch:
    """`longest` is the longest step in seconds, of `turns` in all."""

    def __init__(self) -> None:
        self.turns = 0
        self.longest = 0.0
        self._collected = self._began = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "LoopWatch":
        gc.callbacks.append(self._note)
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        # The last step may have been all of the work.
        await asyncio.sleep(0)
        gc.callbacks.remove(self._note)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _note(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self._collected += time.thread_time() - self._began

    def _now(self) -> float:
        return time.thread_time() - self._collected

    async def _watch(self) -> None:
        while True:
            before = self._now()
            await asyncio.sleep(0)
            self.longest = max(self.longest, self._now() - before)
            self.turns += 1
