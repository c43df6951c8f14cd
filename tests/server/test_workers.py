"""THREATS row N24: workers whose parent was killed end, and no command stops an embedded MongoDB under them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from socket import socket
from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock, patch

import httpx2
import pytest
from pymongo import MongoClient

from faults.commands import free_port
from faults.processes import START_SECONDS, Service, wait_live
from faults.waiting import wait_until
from service.domain import paces
from service.domain.paces import PRESENCE, Presence
from service.embedded.mongod import embedded_mongodb, keep_mongod
from service.server import workers
from service.server.draining import ServerConfig
from service.server.workers import Worker, Workers

GONE_SECONDS = 30.0
# So long uvicorn's own parent waits for an answer.
UVICORN_SECONDS = 5.0


def _serve(folder: Path, port: int) -> Service:
    """Two workers on a MongoDB that they embed under `folder`."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    environment = kept | {"DATA_DIR": str(folder / "data"), "BCRYPT_COST": "4", "DRAIN_SECONDS": "0"}
    log = folder / "service.log"
    command = [sys.executable, "-m", "service", "serve", "--port", str(port), "--workers", "2"]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)  # noqa: S603
    service = Service(process, port, log)
    try:
        wait_live(service)
    except BaseException:
        service.terminate()
        raise
    return service


def _lives(pid: int) -> bool:
    """True unless the process is a zombie, which only its parent could remove."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found under /proc")
def test_n24_workers_end_with_their_parent_and_serve_starts_again(tmp_path: Path) -> None:
    port = free_port()
    service = _serve(tmp_path, port)
    workers = service.workers()
    for worker in workers:
        environment = Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
        assert b"HASHING_THREADS=%d" % max(1, (os.cpu_count() or 1) // 2) in environment
    assert len(workers) == 2
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait()
    wait_until(lambda: not any(_lives(pid) for pid in workers), GONE_SECONDS)
    again = _serve(tmp_path, port)
    try:
        wait_until(lambda: httpx2.get(f"{again.url}/health/ready").status_code == 200, START_SECONDS)
    finally:
        again.terminate()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found under /proc")
def test_n24_a_command_does_not_stop_mongodb_under_workers_without_a_parent(tmp_path: Path) -> None:
    """They are halted, so that they live for as long as it takes to see."""
    service = _serve(tmp_path, free_port())
    workers = service.workers()
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait()
    try:
        with embedded_mongodb(tmp_path / "data") as uri, MongoClient[dict[str, object]](uri) as client:
            started = client.admin.command("serverStatus")["pid"]
        with MongoClient[dict[str, object]](uri) as client:
            assert client.admin.command("serverStatus")["pid"] == started
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
    wait_until(lambda: not any(_lives(pid) for pid in workers), GONE_SECONDS)
    with embedded_mongodb(tmp_path / "data"):
        pass


def test_n24_nobody_stops_mongodb_under_a_worker(tmp_path: Path) -> None:
    """As a command does that comes after the parent was killed: it is the last to leave but for the worker."""
    with embedded_mongodb(tmp_path):
        worker = keep_mongod(tmp_path)
        worker.__enter__()
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, object]](uri) as client:
        started = client.admin.command("serverStatus")["pid"]
    with MongoClient[dict[str, object]](uri) as client:
        assert client.admin.command("serverStatus")["pid"] == started
    worker.__exit__(None, None, None)
    with embedded_mongodb(tmp_path):
        pass


def test_a_worker_that_is_slow_to_start_is_not_killed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the imports took longer than the parent waits, each of the worker's successors would be killed as well."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: clock.now))
    worker = Worker(ServerConfig("service.app:from_environment", factory=True), [])
    monkeypatch.setattr(worker.process, "is_alive", lambda: True)

    def is_alive_after(seconds: float) -> bool:
        """The result for a parent that looks twice a second."""
        for _ in range(int(2 * seconds)):
            clock.now += 0.5
            found = worker.is_alive()
        return found

    assert is_alive_after(UVICORN_SECONDS + 1)
    worker.child_conn.recv()
    assert not worker.child_conn.poll()
    worker.child_conn.send(False)
    assert is_alive_after(ServerConfig.silent_seconds - 1)
    assert not is_alive_after(2)


def test_v13_a_worker_that_never_has_a_loop_answers_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands still while it loads the application. One that has a loop at last answers what it was asked meanwhile."""
    clock, pauses = SimpleNamespace(now=100.0), list[float]()
    worker = Worker(ServerConfig("service.app:from_environment", factory=True), [])

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            worker.server.loop = SimpleNamespace(call_soon_threadsafe=lambda answer: answer())  # type: ignore[attr-defined]

    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    worker._began = 100.0  # noqa: SLF001
    for now, expected in ((100.0 + workers.START_SECONDS, 0), (101.0 + workers.START_SECONDS, 3)):
        clock.now = now
        worker.parent_conn.send(b"ping")
        worker.pong()
        assert len(pauses) == expected
        assert worker.parent_conn.poll()
        worker.parent_conn.recv()


def test_v13_workers_are_left_alone_after_a_standstill_of_their_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a machine that was suspended: no answer can be there when the parent looks again, nor a second later."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: clock.now))
    worker = Worker(ServerConfig("service.app:from_environment", factory=True), [])
    monkeypatch.setattr(worker.process, "is_alive", lambda: True)
    for _ in range(20):
        clock.now += 3_600
        assert worker.is_alive()
        worker.child_conn.recv()
        clock.now += 0.5
        assert worker.is_alive()
        worker.child_conn.send(True)
        assert worker.is_alive()


class Noting(Worker):
    """A worker that serves nothing."""

    def target(self, sockets: list[socket] | None = None) -> None:
        with patch.object(Worker.__base__, "target"):
            super().target(sockets)
        PRESENCE.note("a")


def test_v6_a_worker_sees_the_projects_that_ask_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = (Noting(ServerConfig("service.app:from_environment", factory=True), []) for _ in range(2))
    assert here._board is not None  # noqa: SLF001 - what the processes share has no other name
    presence = Presence()
    presence.join(here._board)  # noqa: SLF001
    assert not presence.has_others("b")
    there.process.start()
    there.process.join()
    monkeypatch.setattr(paces, "BOARD_SECONDS", 0.0)
    monkeypatch.setattr(paces, "PRESENT_SECONDS", 3_600.0)
    wait_until(lambda: presence.has_others("b"))
    assert not presence.has_others("a")


def test_v6_workers_start_where_they_can_share_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "board", None)
    monkeypatch.setattr(
        workers, "RawArray", Mock(side_effect=FileNotFoundError(2, "No usable temporary directory found"))
    )
    worker = Worker(ServerConfig("service.app:from_environment", factory=True), [])
    assert worker._board is None  # noqa: SLF001 - as above


def test_a_worker_that_has_ended_is_not_asked() -> None:
    worker = Worker(ServerConfig("service.app:from_environment", factory=True), [])
    assert not worker.is_alive()
    assert not worker.child_conn.poll()


def test_workers_that_never_serve_are_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the busiest machine a start takes longer than the first time, and each worker would be killed before it serves."""
    monkeypatch.setattr(Worker, "start_seconds", workers.START_SECONDS)
    monkeypatch.setattr(workers, "end_sessions", lambda *_: None)
    monkeypatch.setattr(Worker, "start", lambda _: None)
    monkeypatch.setattr(Worker, "join", lambda _: None)
    monkeypatch.setattr(Worker, "kill", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    parent = Workers(ServerConfig("service.app:from_environment", factory=True), [])
    parent.processes = [Worker(parent.config, [])]
    given = []
    for serves in (False, False, False, False, False, False, True, False):
        cast(Worker, parent.processes[0]).has_served = serves
        parent.keep_subprocess_alive()
        given.append(Worker.start_seconds)
    assert given == [60.0, 120.0, 240.0, 480.0, 600.0, 600.0, 30.0, 60.0]
