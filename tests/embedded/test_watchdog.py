"""A watchdog outlives what its check raises."""

import errno
import threading

from service.embedded.watchdog import watch_repeatedly


def test_n23_too_few_open_files_do_not_end_the_watchdog() -> None:
    looked, errors = threading.Event(), [OSError(errno.EMFILE, "Too many open files"), ValueError("odd")]

    def check() -> None:
        if errors:
            raise errors.pop()
        looked.set()

    with watch_repeatedly(check):
        assert looked.wait(10)
