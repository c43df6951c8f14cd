"""Running the ASGI application under uvicorn, in one process or several."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from service.errors import ConfigurationError
from service.observe.metrics import FOLDER_VARIABLE
from service.server.listening import ACCEPT_SECONDS, drop_new_connections
from service.server.protocol import TimedConnection
from service.settings import Settings

# After SIGTERM a request in flight gets this long, without CUT_SHORT_SECONDS; the process is gone within 30 s.
GRACEFUL_SECONDS = 25
KEEP_ALIVE_SECONDS = 75
UVICORN_OPTIONS: dict[str, Any] = {
    "log_config": None,
    "access_log": False,
    # The client's address is found by the service itself, from TRUSTED_PROXIES.
    "proxy_headers": False,
    "server_header": False,
    "ws": "none",
    "http": TimedConnection,
    "timeout_keep_alive": KEEP_ALIVE_SECONDS,
    "timeout_graceful_shutdown": GRACEFUL_SECONDS,
}


def check_address(host: str, port: int) -> None:
    """Raises ConfigurationError where nobody could listen: before a database is started, and in one line."""
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


def serve_http(settings: Settings, *, host: str, port: int, workers: int) -> None:
    """Serves until SIGTERM or Ctrl-C, then returns. Workers read `settings` from the environment, as any process does."""
    _export(settings)
    with _shared_metrics(workers):
        _run(host, port, workers)


def _run(host: str, port: int, workers: int) -> None:
    """One process serves by itself; several have a parent that starts them anew when they die."""
    # uvicorn raises the signal again when it has shut down; the default would end us before the database is stopped.
    signal.signal(signal.SIGTERM, _exit)
    application = "service.app:from_environment"
    config = uvicorn.Config(application, factory=True, host=host, port=port, workers=workers, **UVICORN_OPTIONS)
    with suppress(KeyboardInterrupt):
        if workers > 1:
            Workers(config, [config.bind_socket()]).run()
        else:
            _run_alone(config)


def _run_alone(config: uvicorn.Config) -> None:
    config.load_app()
    server = OneServer(config)
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


class OneServer(uvicorn.Server):
    """uvicorn's server, which takes what has connected before it stops listening."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            for listener in server.sockets:
                drop_new_connections(listener)
        await asyncio.sleep(ACCEPT_SECONDS)
        await super().shutdown(sockets)


class Workers(Multiprocess):
    """uvicorn's parent of several workers, which gives them time to take what has connected before it stops them."""

    def terminate_all(self) -> None:
        for listener in self.sockets:
            drop_new_connections(listener)
        time.sleep(ACCEPT_SECONDS)
        super().terminate_all()


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


def _export(settings: Settings) -> None:
    if settings.mongodb_uri and settings.secret_key:
        os.environ["MONGODB_URI"] = settings.mongodb_uri.get_secret_value()
        os.environ["SECRET_KEY"] = settings.secret_key.get_secret_value()
    os.environ["BASE_URL"] = settings.base_url
