"""Several worker processes on one socket, and their parent."""

import os
import secrets
import signal
import threading
import time
from contextlib import ExitStack, suppress
from math import inf
from multiprocessing.sharedctypes import RawArray
from socket import socket
from types import FrameType
from typing import cast

import structlog
import uvicorn
from pymongo.errors import PyMongoError
from uvicorn.supervisors import multiprocess

from service.domain.paces import BOARD_PLACES, PRESENCE, Board
from service.embedded.mongod import keep_mongod
from service.server.draining import DrainingServer, ServerConfig
from service.settings import APP_NAME, APP_NAME_VARIABLE
from service.storage.abandoned import end_sessions

log = structlog.get_logger()

# Seconds between two looks of a worker for its parent, and seconds it may go on without one.
LOOK_SECONDS = 0.5
ORPHAN_SECONDS = 3
# Longer pauses between two looks mean that the parent itself stood still, as in a suspended machine.
MOST_SECONDS = 1.0
# Seconds a worker may take until its first answer. On a busy machine the imports alone can take longer than uvicorn's
# five seconds, and a worker killed for that would begin again.
START_SECONDS = 30.0
# The longest that it may take after others that did not serve in time.
LONGEST_START_SECONDS = 600.0


class Worker(multiprocess.Process):
    """A worker that stops with its parent, also when that was killed, and keeps an embedded MongoDB running meanwhile."""

    # The time of the next worker: doubled after each that never served, so that the busiest machine starts one in the end.
    start_seconds = START_SECONDS
    # Memory of all workers of the parent: each sees there that another project asks, though it asks another worker.
    board: Board | None = None

    def __init__(self, config: uvicorn.Config, sockets: list[socket]) -> None:
        self._parent = os.getpid()
        Worker.board = self._board = Worker.board or _make_board()
        # Its connections to MongoDB have this name, by which the parent finds what it leaves there.
        self.app_name = f"{APP_NAME} {secrets.token_hex(6)}"
        # Seconds without an answer, as far as the parent was running to hear it.
        self._silent, self._looked_at = 0.0, time.monotonic()
        self._is_asked, self.has_served = False, False
        self._start_seconds = self._patience = Worker.start_seconds
        # The time at which the worker began to load the application.
        self._began = self._looked_at
        super().__init__(config, sockets)

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = DrainingServer(self.config)
        return self._server

    def target(self, sockets: list[socket] | None = None) -> None:
        config = cast(ServerConfig, self.config)
        os.environ[APP_NAME_VARIABLE], self._began = self.app_name, time.monotonic()
        threading.Thread(target=self._end_with_parent, daemon=True).start()
        if self._board is not None:
            PRESENCE.join(self._board)
        with ExitStack() as kept:
            if config.mongod_folder is not None:
                kept.enter_context(keep_mongod(config.mongod_folder))
            super().target(sockets)

    def pong(self) -> None:
        """Answers the parent from the event loop, so that a worker whose loop stands still does not.

        A worker that loads the application has no loop yet, and answers for its first seconds all the same.
        """
        self.child_conn.recv()
        server = cast(DrainingServer, self.server)
        while (loop := server.loop) is None and time.monotonic() - self._began > self._start_seconds:
            time.sleep(LOOK_SECONDS)
        if loop is None:
            self._answer()
            return
        # A loop that has ended gives no more answers.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        with suppress(OSError):
            self.child_conn.send(self.server.started)

    def is_alive(self, timeout: float = 0) -> bool:  # noqa: ARG002 - uvicorn's
        """True if it runs and has answered lately. The parent does not wait for it: it looks again twice a second."""
        if not self.process.is_alive():
            return False
        if not self._is_asked:
            self.parent_conn.send(b"ping")
            self._is_asked = True
        if self.parent_conn.poll(timeout=0):
            self.has_served |= self.parent_conn.recv()
            self._silent, self._is_asked = 0.0, False
            self._patience = cast(ServerConfig, self.config).silent_seconds
        now = time.monotonic()
        self._silent += min(now - self._looked_at, MOST_SECONDS)
        self._looked_at = now
        return self._silent < self._patience

    def _end_with_parent(self) -> None:
        while os.getppid() == self._parent:
            time.sleep(LOOK_SECONDS)
        # No parent starts another worker now, and no other process can have the port: there is no time to drain.
        config = cast(ServerConfig, self.config)
        config.drain_seconds, config.timeout_graceful_shutdown = 0.0, ORPHAN_SECONDS
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)


def _make_board() -> Board | None:
    """Memory for `Presence.join`; None where the system lets no processes share any, as without a writable folder."""
    try:
        board: Board = RawArray("d", [-inf] * BOARD_PLACES)
        return board
    except OSError as error:
        log.warning("workers_share_no_memory", cause=f"{type(error).__name__}: {error.strerror}")
        return None


# uvicorn's parent makes its workers by this name, in four places.
multiprocess.Process = Worker  # type: ignore[misc]


class Workers(multiprocess.Multiprocess):
    """uvicorn's parent, which hands on a signal at once: the workers are not to look ready while it sleeps.

    When it replaces a worker, it ends the sessions of the dead one, whose transactions would hold their documents.
    """

    def __init__(self, config: ServerConfig, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._mongodb_uri, self._is_refused = config.mongodb_uri, False
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._pass_on)

    def _pass_on(self, sig: int, _frame: FrameType | None) -> None:
        self.signal_queue.append(sig)
        for process in self.processes:
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, signal.SIGTERM)

    def keep_subprocess_alive(self) -> None:
        before = [cast(Worker, process) for process in self.processes]
        super().keep_subprocess_alive()
        for worker in before:
            if worker not in self.processes:
                log.warning("worker_replaced", pid=worker.pid, status=worker.exitcode)
                doubled = min(2 * Worker.start_seconds, LONGEST_START_SECONDS)
                Worker.start_seconds = START_SECONDS if worker.has_served else doubled
                threading.Thread(target=self._end_sessions, args=(worker.app_name,), daemon=True).start()

    def _end_sessions(self, app_name: str) -> None:
        """Logs the first failure only: a user without the right lacks it each time."""
        try:
            end_sessions(self._mongodb_uri, app_name)
        except PyMongoError as error:
            if not self._is_refused:
                log.warning("sessions_not_ended", cause=f"{type(error).__name__}: {getattr(error, 'code', None)}")
            self._is_refused = True

    def terminate_all(self) -> None:
        """Closes the parent's own socket too: connections that the kernel accepts for it would never be served."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()
