"""Runs the test provider on loopback, in a thread with an event loop of its own."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn

from tests.provider.app import create_provider
from tests.provider.state import Provider


@contextmanager
def running_provider(port: int = 0) -> Iterator[Provider]:
    """A provider that answers on 127.0.0.1; port 0 takes a free one."""
    provider = Provider()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        provider.base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            create_provider(provider), ws="none", lifespan="off", log_level="error", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        listener.listen(128)
        thread.start()
        try:
            yield provider
        finally:
            server.should_exit = True
            thread.join(timeout=10)
