"""Log output of the process: one JSON object a line on stderr, or coloured text for a person.

Writing to stderr never waits and never raises.
"""

import asyncio
import logging
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson
import structlog

from service.bounds import MAX_LOG_BYTES
from service.observe.metrics import LOG_LINES_DROPPED

# Lines that may wait for the event loop to write them; more are written at once.
MANY_LINES = 100
# structlog's own choice, where `rich` is installed, takes seconds for a traceback, and prints every variable of every frame.
CONSOLE = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)

Event = MutableMapping[str, Any]
# Writes some of the bytes and returns how many. Raises BlockingIOError if it would wait, OSError if the reader is gone.
Send = Callable[[bytes | bytearray], int]

RETRY_SECONDS = 0.25
# Bytes that a writable pipe takes at once (POSIX's least PIPE_BUF is smaller, Linux's is this).
PIECE_BYTES = 4_096


class Stream(Protocol):
    """The destination of lines."""

    def write(self, lines: bytes, /) -> object: ...


def configure_logging(level: str, log_format: str) -> None:
    """Sets up structlog, and sends what libraries log by way of the standard library through the same renderer."""
    lines, console = LogLines(LogStream(_stderr())), log_format == "console"
    renderer = CONSOLE if console else structlog.processors.JSONRenderer(_dumps)
    shared: list[Any] = [_stamped] if console else [structlog.processors.format_exc_info, _stamped]
    structlog.configure(
        processors=[*shared, renderer, _encode] if console else [_json_line],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lines.itself,
        cache_logger_on_first_use=True,
    )
    handler = LineHandler(lines)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _stderr() -> int | None:
    """Its descriptor. Python has no `sys.stderr` where the process was started without one."""
    try:
        return sys.stderr.fileno() if sys.stderr is not None else None
    except (OSError, ValueError):
        return None


class LogLines:
    """Writes lines to a stream: those of one turn of the event loop at its end, in one system call.

    A line worse than `info` is written at once, with all that came before; so is every line outside an event loop.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._lines: list[bytes] = []

    def itself(self, *_arguments: object) -> "LogLines":
        """structlog calls this to get a logger."""
        return self

    def info(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) == 1:
            self._write_soon()
        elif len(self._lines) >= MANY_LINES:
            self._write()

    def error(self, line: bytes) -> None:
        self._lines.append(line)
        self._write()

    debug = info
    warning = critical = exception = error

    def _write_soon(self) -> None:
        try:
            asyncio.get_running_loop().call_soon(self._write)
        except RuntimeError:
            self._write()

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            self._stream.write(b"\n".join([*lines, b""]))


class LineHandler(logging.Handler):
    """Writes the log lines of libraries to the same stream.

    The standard library's own handler waits for a slow reader.
    """

    def __init__(self, lines: LogLines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.error(_encode(None, "", self.format(record)))
        except Exception:
            LOG_LINES_DROPPED.inc()


def _stamped(_logger: object, method: str, event: Event) -> Event:
    event["level"] = method
    event["timestamp"] = datetime.now(UTC).isoformat()
    return event


def _encode(_logger: object, _method: str, text: Any) -> bytes:
    return str(text).encode(errors="backslashreplace")


def _json_line(logger: object, method: str, event: Event) -> bytes:
    """The whole chain in one step, for one line is written for every request."""
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, method, event)
    event["level"] = method
    event["timestamp"] = datetime.now(UTC)
    try:
        return orjson.dumps(event, str)
    except TypeError:
        # A lone surrogate, in a text of a driver or a provider, has no form in UTF-8.
        return orjson.dumps({key: ascii(value) for key, value in event.items()})


def _dumps(value: Any, default: Any = None, **_: Any) -> str:
    return orjson.dumps(value, default).decode()


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
