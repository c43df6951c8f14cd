"""Several worker processes on one socket, and their parent."""

import os
import signal
import threading
import time
from contextlib import ExitStack
from socket import socket
from types import FrameType
from typing import cast

import uvicorn
from uvicorn.supervisors import multiprocess

from service.embedded.mongod import keep_mongod
from service.server.draining import DrainingServer, ServerConfig

# How often a worker looks for its parent, and how long it may go on without one.
LOOK_SECONDS = 0.5
ORPHAN_SECONDS = 3
# How long a worker may say nothing, at its start or later, before another takes its place. On a machine with much else to
# do the imports alone can take longer than uvicorn's five seconds, and one that was killed for that would begin again.
SILENT_SECONDS = 30.0


class Worker(multiprocess.Process):
    """A worker that stops with its parent, also when that was killed, and keeps an embedded MongoDB running meanwhile."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket]) -> None:
        self._parent = os.getpid()
        self._answered, self._is_asked = time.monotonic(), False
        super().__init__(config, sockets)

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = DrainingServer(self.config)
        return self._server

    def target(self, sockets: list[socket] | None = None) -> None:
        config = cast(ServerConfig, self.config)
        threading.Thread(target=self._end_with_parent, daemon=True).start()
        with ExitStack() as kept:
            if config.mongod_folder is not None:
                kept.enter_context(keep_mongod(config.mongod_folder))
            super().target(sockets)

    def is_alive(self, timeout: float = 0) -> bool:  # noqa: ARG002 - uvicorn's
        """Whether it runs and has answered lately. It is not waited for: the parent looks again twice a second."""
        if not self.process.is_alive():
            return False
        if not self._is_asked:
            self.parent_conn.send(b"ping")
            self._is_asked = True
        if self.parent_conn.poll(timeout=0):
            self.parent_conn.recv()
            self._answered, self._is_asked = time.monotonic(), False
        return time.monotonic() - self._answered < SILENT_SECONDS

    def _end_with_parent(self) -> None:
        while os.getppid() == self._parent:
            time.sleep(LOOK_SECONDS)
        # Nobody starts a worker that dies now, and nobody else can have the port: there is no time to drain.
        config = cast(ServerConfig, self.config)
        config.drain_seconds, config.timeout_graceful_shutdown = 0.0, ORPHAN_SECONDS
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)


# uvicorn's parent makes its workers by this name, in four places.
multiprocess.Process = Worker  # type: ignore[misc]


class Workers(multiprocess.Multiprocess):
    """uvicorn's parent, which hands on a signal at once: the workers are not to look ready while it sleeps."""

    def __init__(self, config: ServerConfig, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._pass_on)

    def _pass_on(self, sig: int, _frame: FrameType | None) -> None:
        self.signal_queue.append(sig)
        for process in self.processes:
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, signal.SIGTERM)

    def terminate_all(self) -> None:
        """The parent's own socket goes too: what the kernel accepts for it would find nobody."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()
