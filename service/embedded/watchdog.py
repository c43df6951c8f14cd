"""Something looked at again and again, in a thread, for as long as a context lasts."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

log = structlog.get_logger()

EVERY_SECONDS = 0.5


@contextmanager
def watch_repeatedly(check: Callable[[], None]) -> Iterator[None]:
    """Calls `check` twice a second until the context ends, which waits for the call under way.

    Every exception, too few open files among them, is logged and the call tried again.
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_SECONDS):
            try:
                check()
            except Exception as error:
                log.warning("watch_failed", cause=f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=watch, name="watching", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
