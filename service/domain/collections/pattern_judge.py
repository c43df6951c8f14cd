"""Judges texts by the patterns of their fields without stopping the event loop: RE2 releases the interpreter's lock."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

from service.bounds import MAX_PATTERN_WAITING
from service.domain.background import background_threads
from service.domain.shares import Shares
from service.errors import Location, Violation
from service.schema.fields import Fields
from service.schema.patterns import SMALL_TEXTS, Programs, check_patterns, find_texts, judge
from service.schema.steps import Steps, take_steps

T = TypeVar("T")

# Seconds in the thread after which other work gets the interpreter: other requests, other projects' texts. A text
# cannot be left half matched, but RE2 releases the interpreter's lock meanwhile.
STEP_SECONDS = 0.005
# Seconds that many documents may keep the thread from other requests of their project.
SLICE_SECONDS = 0.1
WAIT_SECONDS = 5.0


class PatternJudge:
    """A worker's compiled patterns, and the one thread in which long texts are matched, each project's in its turn."""

    def __init__(self) -> None:
        self._programs = Programs()
        self._thread = background_threads(1, "patterns")
        self._shares = Shares(1, waiting=MAX_PATTERN_WAITING, seconds=WAIT_SECONDS)

    async def check(self, project_id: str, fields: Fields) -> list[Violation]:
        """The patterns of `fields` that cannot be used. Raises Busy."""
        return await self.run(project_id, check_patterns(fields))

    async def judge(self, project_id: str, data: Mapping[str, Any], fields: Fields, loc: Location) -> list[Violation]:
        """The violations of patterns in `data`, whose `fields` are those of `patterns.patterned`. Raises Busy."""
        texts = list(islice(find_texts(data, fields, loc), SMALL_TEXTS + 1))
        if self._programs.are_small(texts):
            return take_steps(judge(texts, self._programs)) or []
        return await self.run(project_id, judge(find_texts(data, fields, loc), self._programs))

    async def find_mismatches(
        self, project_id: str, documents: Sequence[Mapping[str, Any]], fields: Fields, loc: Location
    ) -> list[tuple[int, list[Violation]]]:
        """The violations of patterns in `documents` {data}, by position. Raises Busy."""
        found: list[tuple[int, list[Violation]]] = []
        start = 0
        while start < len(documents):
            part, start = await self.run(project_id, self._judge_slice(documents, start, fields, loc))
            found += part
        return found

    def _judge_slice(
        self, documents: Sequence[Mapping[str, Any]], start: int, fields: Fields, loc: Location
    ) -> Steps[tuple[list[tuple[int, list[Violation]]], int]]:
        """The violations from position `start` on, and the position of the next slice."""
        found, until = [], monotonic() + SLICE_SECONDS
        for position in range(start, len(documents)):
            if violations := (yield from judge(find_texts(documents[position]["data"], fields, loc), self._programs)):
                found.append((position, violations))
            if monotonic() > until:
                return found, position + 1
        return found, len(documents)

    async def run(self, project_id: str, steps: Steps[T]) -> T:
        """The result of `steps`, which are taken in the thread. Raises Busy."""
        loop = asyncio.get_running_loop()
        async with self._shares.take(project_id):
            while (found := await loop.run_in_executor(self._thread, take_steps, steps, STEP_SECONDS)) is None:
                pass
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
