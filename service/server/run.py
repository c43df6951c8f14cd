"""Running the ASGI application under uvicorn, in one process or several, which end if their event loop stands still."""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import structlog
from uvicorn.config import STARTUP_FAILURE

from service.bounds import MAX_MESSAGE_BYTES
from service.errors import ConfigurationError
from service.observe.metrics import FOLDER_VARIABLE
from service.process import raise_file_limit
from service.server.connections import ConnectionRegister
from service.server.draining import DrainingServer, ServerConfig
from service.server.protocol import TimedConnection
from service.server.timeouts import ConnectionTimeouts
from service.server.workers import Workers
from service.settings import EMBEDDED_VARIABLE, WORKERS_VARIABLE, Settings

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


# The clients' share of the limit of open files; the rest is for MongoDB, providers, the log and the code.
CLIENTS_SHARE = 0.8
# Options of uvicorn for every kind of connection.
UVICORN_OPTIONS: dict[str, Any] = {
    "log_config": None,
    "access_log": False,
    # The client's address is found by the service itself, from TRUSTED_PROXIES.
    "proxy_headers": False,
    "server_header": False,
    # A socket is made of this by `protocol`, at one path only.
    "ws": "websockets-sansio",
    "ws_max_size": int(MAX_MESSAGE_BYTES),
    "ws_per_message_deflate": False,
}


def check_address(host: str, port: int) -> None:
    """Raises ConfigurationError if the address cannot be listened on: before a database is started, and in one line."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                # As asyncio does, so that what is left of closed connections is no obstacle.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot listen on {host} port {port}: {error.strerror}; see --host and --port"
        ) from None


def serve_http(
    settings: Settings,
    *,
    host: str,
    port: int,
    workers: int,
    announce: Callable[[], object] = lambda: None,
    mongod_folder: Path | None = None,
    timeouts: ConnectionTimeouts = ConnectionTimeouts(),  # noqa: B008 - frozen
    silent_seconds: float = ServerConfig.silent_seconds,
) -> None:
    """Serves until SIGTERM or Ctrl-C, then returns. Workers read `settings` from the environment, as any process does.

    `announce` is called as soon as no connection is refused any more. `mongod_folder` is the DATA_DIR of an embedded
    MongoDB, which keeps running while a worker lives. A process whose event loop stands still for `silent_seconds` is
    ended; if it is one of several workers, another takes its place.
    """
    _export(settings, workers, is_embedded=mongod_folder is not None)
    # uvicorn raises the signal again when it has shut down; the default would end us before the database is stopped.
    signal.signal(signal.SIGTERM, _exit)
    register = ConnectionRegister(int(CLIENTS_SHARE * raise_file_limit()), settings.trusted_proxies)
    config = ServerConfig(
        "service.app:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        http=partial(TimedConnection, timeouts=timeouts, register=register),  # type: ignore[arg-type]
        timeout_keep_alive=timeouts.keep_alive,
        timeout_graceful_shutdown=timeouts.stop,
        **UVICORN_OPTIONS,
    )
    config.drain_seconds, config.mongod_folder = settings.drain_seconds, mongod_folder
    config.mongodb_uri, config.silent_seconds = settings.database_uri, silent_seconds
    with _shared_metrics(workers), suppress(KeyboardInterrupt):
        if workers > 1:
            _run_workers(config, announce)
        else:
            _run_alone(config, announce)


def _run_workers(config: ServerConfig, announce: Callable[[], object]) -> None:
    listener = config.bind_socket()
    # A connection that comes before the first worker is there waits for it.
    listener.listen(config.backlog)
    announce()
    Workers(config, [listener]).run()


def _run_alone(config: ServerConfig, announce: Callable[[], object]) -> None:
    config.load_app()
    server = DrainingServer(config)
    server.announce = announce
    watch_loop(lambda: server.loop, config.silent_seconds)
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


@contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """The folder through which several workers add up their metrics, unless the environment names one.

    It begins empty: what the processes of an earlier run left would be counted as this run's.
    """
    if workers == 1 or FOLDER_VARIABLE in os.environ:
        yield
        return
    with TemporaryDirectory(prefix="auth-collections-metrics-") as folder:
        os.environ[FOLDER_VARIABLE] = folder
        yield


def _exit(_signal: int, _frame: object) -> NoReturn:
    sys.exit(0)


def _export(settings: Settings, workers: int, *, is_embedded: bool) -> None:
    os.environ[EMBEDDED_VARIABLE] = "1" if is_embedded else ""
    os.environ[WORKERS_VARIABLE] = str(workers)
    if settings.mongodb_uri and settings.secret_key:
        os.environ["MONGODB_URI"] = settings.mongodb_uri.get_secret_value()
        os.environ["SECRET_KEY"] = settings.secret_key.get_secret_value()
    os.environ["BASE_URL"] = settings.base_url
    # More threads than CPUs would end no sooner, and all else would wait for them.
    threads = settings.hashing_threads or max(1, (os.cpu_count() or 1) // workers)
    os.environ["HASHING_THREADS"] = str(threads)
