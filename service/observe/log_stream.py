"""The destination of log lines: stderr. Writing to it never waits and never raises."""

import asyncio
import os
import select
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress

from service.bounds import MAX_LOG_BYTES
from service.observe.metrics import LOG_LINES_DROPPED

# Writes some of the bytes and returns how many. Raises BlockingIOError if it would wait, OSError if the reader is gone.
Send = Callable[[bytes | bytearray], int]

RETRY_SECONDS = 0.25
# Bytes that a writable pipe takes at once (POSIX's least PIPE_BUF is smaller, Linux's is this).
PIECE_BYTES = 4_096


class LogStream:
    """Writes lines; those that find no room wait, up to a bound, and are dropped and counted beyond it.

    `descriptor` is that of stderr; None, where there is no stderr, drops everything.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._send = _send_nothing if descriptor is None else _sender(descriptor)
        self._waiting = bytearray()
        # Threads write too. A thread that holds the lock never waits for anything.
        self._lock = threading.RLock()
        self._retry: asyncio.TimerHandle | None = None

    def write(self, lines: bytes) -> None:
        """Whole lines, each with its end."""
        with self._lock:
            if len(self._waiting) + len(lines) > MAX_LOG_BYTES:
                _count_dropped(lines)
            else:
                self._waiting += lines
            self._flush()

    def _flush(self) -> None:
        try:
            while self._waiting:
                sent = self._send(self._waiting)
                del self._waiting[:sent]
        except BlockingIOError:
            self._flush_later()
        except OSError:
            _count_dropped(self._waiting)
            self._waiting.clear()

    def _flush_later(self) -> None:
        """Outside an event loop the next line sees to it."""
        with suppress(RuntimeError):
            if self._retry is None:
                self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._flush_again)

    def _flush_again(self) -> None:
        with self._lock:
            self._retry = None
            self._flush()


def _count_dropped(lines: bytes | bytearray) -> None:
    LOG_LINES_DROPPED.inc(lines.count(b"\n"))


def _send_nothing(_lines: bytes | bytearray) -> int:
    raise BrokenPipeError


def _sender(descriptor: int) -> Send:
    """Returns a function that writes to `descriptor` without waiting; the way depends on the kind of the descriptor.

    O_NONBLOCK is never set on it: other processes, such as the shell, share it and would find it changed. So a pipe or
    a terminal is opened once more (proc(5), /proc/pid/fd), and a socket is asked each time. A file never blocks.
    """
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        connection = socket.socket(fileno=os.dup(descriptor))
        return lambda lines: connection.send(lines, socket.MSG_DONTWAIT)
    if stat.S_ISREG(mode):
        return lambda lines: os.write(descriptor, lines)
    try:
        opened = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return lambda lines: _send_if_ready(descriptor, lines)
    return lambda lines: os.write(opened, lines)


def _send_if_ready(descriptor: int, lines: bytes | bytearray) -> int:
    """For systems without /proc: a small piece, when there is room for one."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if not poll.poll(0):
        raise BlockingIOError
    return os.write(descriptor, lines[:PIECE_BYTES])
