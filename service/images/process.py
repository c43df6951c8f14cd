"""The process that draws variants, seen from the service: started for the first one, kept for a while, and ended."""

import asyncio
import json
import os
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from typing import Any, cast

from service.errors import Unavailable
from service.images.forks import ANSWER, HEAD, MAX_DRAWN_BYTES, REFUSED

# The code of this service, wherever it was started.
ROOT = str(Path(__file__).parents[2])
CODE = "import sys; sys.path.insert(0, sys.argv[1]); from service.images.forks import main; main()"
# Wall-clock limit; the CPU limit alone can take longer under load.
SECONDS = 30.0
# Seconds it is kept for the next image.
IDLE_SECONDS = 60.0
# Exit codes caused by the resource limits.
BY_LIMITS = frozenset({REFUSED, -SIGXCPU, -SIGKILL})

NOT_NOW = "The image could not be decoded; try again"


class NotDrawn(Exception):
    """The bytes are no image that can be decoded within the limits."""


class ImageProcess:
    """Draws one image at a time; others wait. A process that fails is replaced for the next."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._end_idle: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def draw(self, content: AsyncIterator[bytes], length: int, wanted: Mapping[str, Any]) -> bytes:
        """The variant of an image of `length` bytes. Raises NotDrawn, Unavailable, and what `content` raises."""
        async with self._lock:
            if self._end_idle is not None:
                self._end_idle.cancel()
            try:
                async with asyncio.timeout(SECONDS):
                    status, drawn = await self._ask(content, length, wanted)
            except TimeoutError:
                await self._end()
                raise Unavailable("The image could not be decoded in time; try again") from None
            except BaseException:
                await self._end()
                raise
            if status not in {0, REFUSED}:
                # It may not have read all of the image.
                await self._end()
            self._end_idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._kill)
        if status in BY_LIMITS or len(drawn) == MAX_DRAWN_BYTES:
            raise NotDrawn
        if status or not drawn:
            raise Unavailable(NOT_NOW)
        return drawn

    async def _ask(self, content: AsyncIterator[bytes], length: int, wanted: Mapping[str, Any]) -> tuple[int, bytes]:
        if self._process is None or self._process.returncode is not None:
            # The service's environment has its secrets, and a decoder needs nothing of it.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-c", CODE, ROOT, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}
            )
        stdin, stdout = cast(StreamWriter, self._process.stdin), cast(StreamReader, self._process.stdout)
        head = json.dumps(wanted).encode()
        try:
            stdin.write(HEAD.pack(len(head), length) + head)
            async for piece in content:
                stdin.write(piece)
                await stdin.drain()
            status, size = ANSWER.unpack(await stdout.readexactly(ANSWER.size))
            return status, await stdout.readexactly(size)
        except (IncompleteReadError, ConnectionError):
            raise Unavailable(NOT_NOW) from None

    def _kill(self) -> Process | None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            # Kills the process with its fork; one that has just started has no group, and no fork.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, SIGKILL)
            with suppress(ProcessLookupError):
                process.kill()
        return process

    async def _end(self) -> None:
        if (process := self._kill()) is not None:
            await asyncio.shield(process.wait())

    async def close(self) -> None:
        if self._end_idle is not None:
            self._end_idle.cancel()
        await self._end()
