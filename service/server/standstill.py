"""A thread ends the process if its event loop stands still and no parent does so: it would answer no request."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from math import ceil

import structlog

log = structlog.get_logger()

LOOK_SECONDS = 0.5
STATUS = 1


def watch_loop(find_loop: Callable[[], asyncio.AbstractEventLoop | None], seconds: float) -> None:
    """From here on a loop that does nothing for `seconds` ends this process with STATUS, and a line with its place in
    the code.

    `find_loop` returns None until there is a loop. The watch ends with the loop.
    """
    main = threading.get_ident()
    threading.Thread(target=_watch, args=(find_loop, seconds, main), name="standstill", daemon=True).start()


def _watch(find_loop: Callable[[], asyncio.AbstractEventLoop | None], seconds: float, main: int) -> None:
    while (loop := find_loop()) is None:
        time.sleep(LOOK_SECONDS)
    while not loop.is_closed():
        moved = threading.Event()
        try:
            loop.call_soon_threadsafe(moved.set)
        except RuntimeError:
            return
        if not _happens(moved, seconds) and not loop.is_closed():
            log.error("loop_stands_still", seconds=seconds, at=_place(main))
            os._exit(STATUS)
        time.sleep(LOOK_SECONDS)


def _happens(event: threading.Event, seconds: float) -> bool:
    """Waits in short looks: of the time for which the whole process was suspended, one of them counts."""
    return any(event.wait(LOOK_SECONDS) for _ in range(ceil(seconds / LOOK_SECONDS)))


def _place(thread: int) -> str:
    """File and line at which a thread is."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented, "for specialized purposes only"
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""
