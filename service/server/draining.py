"""uvicorn's server, which stops in two steps: it reports not-ready while it still accepts, then it closes."""

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import cast

import uvicorn

from service.server.protocol import TimedConnection
from service.web.asgi.deadlines import STOPPING

POLL_SECONDS = 0.05


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration, which a worker receives, with our own fields."""

    drain_seconds: float = 0.0
    # The DATA_DIR of an embedded MongoDB that a worker keeps running.
    mongod_folder: Path | None = None
    # The database in which the parent ends the sessions of a worker that died.
    mongodb_uri: str = ""
    # Seconds the event loop of a process may stand still before the process is ended.
    silent_seconds: float = 30.0


class DrainingServer(uvicorn.Server):
    """From the signal on `/health/ready` answers 503, and for the drain time the server accepts as before.

    A proxy that asks for readiness sends no more in that time. Each answer ends its connection. Then the server closes:
    requests that were read are answered, connections in the kernel's queue are reset.
    """

    loop: asyncio.AbstractEventLoop | None = None
    # Called once the server listens.
    announce: Callable[[], object] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """From here on the loop itself must answer for this process."""
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self.announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._say_so()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._say_so()
        for connection in list(self.server_state.connections):
            cast(TimedConnection, connection).end_when_answered()
        await self._drain(cast(ServerConfig, self.config).drain_seconds)
        await super().shutdown(sockets)

    def _say_so(self) -> None:
        """Each request is given a copy of the application's state. A signal may come before there is an application."""
        if hasattr(self, "lifespan"):
            self.lifespan.state[STOPPING] = True

    async def _drain(self, seconds: float) -> None:
        """A second Ctrl-C ends it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.force_exit:  # noqa: ASYNC110 - a signal sets it
            await asyncio.sleep(POLL_SECONDS)
