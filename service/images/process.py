"""The process that draws one variant: begun for it, fed, read, and ended, whatever it does."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from typing import Any

from service.errors import Unavailable
from service.images.draw import REFUSED

SCRIPT = Path(__file__).with_name("draw.py")
# Of the clock: its seconds of the processor may take long on a busy machine.
SECONDS = 30.0
MAX_DRAWN_BYTES = 16 * 1024 * 1024
# What its limits end it with.
BY_LIMITS = frozenset({REFUSED, -SIGXCPU, -SIGKILL})


class NotDrawn(Exception):
    """The bytes are no image that can be decoded within the limits."""


async def draw(content: AsyncIterator[bytes], wanted: Mapping[str, Any]) -> bytes:
    """The variant of an image. Raises NotDrawn, Unavailable, and what `content` raises."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(SCRIPT),
        json.dumps(wanted),
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(SECONDS):
            feeding = asyncio.create_task(_feed(process, content))
            try:
                drawn = await _read(process)
                await feeding
                status = await process.wait()
            finally:
                feeding.cancel()
    except TimeoutError:
        raise Unavailable("The image could not be decoded in time; try again") from None
    finally:
        await _end(process)
    if status in BY_LIMITS:
        raise NotDrawn
    if status or not drawn:
        raise Unavailable("The image could not be decoded; try again")
    return drawn


async def _feed(process: Process, content: AsyncIterator[bytes]) -> None:
    stdin = process.stdin
    if stdin is None:
        return
    # Who has refused an image reads no more of it.
    with suppress(BrokenPipeError, ConnectionResetError):
        async for piece in content:
            stdin.write(piece)
            await stdin.drain()
        stdin.close()


async def _read(process: Process) -> bytes:
    drawn = bytearray()
    while process.stdout is not None and (piece := await process.stdout.read(65_536)):
        drawn += piece
        if len(drawn) > MAX_DRAWN_BYTES:
            raise NotDrawn
    return bytes(drawn)


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())
