"""Runs the test provider, and other small applications, on loopback: a thread with an event loop of its own for each."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from starlette.applications import Starlette

from faults.provider.app import create_provider
from faults.provider.state import Provider


@contextmanager
def running_provider(port: int = 0) -> Iterator[Provider]:
    """A provider that answers on 127.0.0.1; port 0 takes a free one."""
    provider = Provider()
    with serving(create_provider(provider), port) as base:
        provider.base = base
        yield provider


@contextmanager
def serving(app: Starlette, port: int = 0) -> Iterator[str]:
    """The base URL at which `app` answers."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        config = uvicorn.Config(app, ws="none", lifespan="off", log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=10)
