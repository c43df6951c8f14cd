"""THREATS row N30: whatever becomes of stderr, requests are answered and the service stops."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client import REGISTRY

from faults.commands import KEY, free_port
from service.bounds import MAX_LOG_BYTES
from service.observe.logging import LogStream

REQUESTS = 2_000
STOP_SECONDS = 60.0
LINE = b'{"event": "request"}\n'


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


def _dropped() -> float:
    return REGISTRY.get_sample_value("log_lines_dropped_total") or 0.0


def test_n30_lines_that_nobody_reads_wait_up_to_a_bound_and_are_counted_beyond_it(pipe: tuple[int, int]) -> None:
    read, write = pipe
    stream, before = LogStream(write), _dropped()
    written = 3 * MAX_LOG_BYTES // len(LINE)
    for _ in range(written):
        stream.write(LINE)
    dropped = _dropped() - before
    assert dropped > 0
    os.set_blocking(read, False)
    received = b""
    for _ in range(200):
        stream.write(b"")
        while piece := _read(read):
            received += piece
    assert received == LINE * (written - int(dropped))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, MAX_LOG_BYTES)
    except BlockingIOError:
        return b""


def test_n30_the_pipe_itself_is_left_as_it_is(pipe: tuple[int, int]) -> None:
    """Its other writers, a shell among them, wait as they did."""
    LogStream(pipe[1]).write(LINE)
    assert os.get_blocking(pipe[1])
    assert os.read(pipe[0], 100) == LINE


def test_n30_where_nobody_listens_every_line_is_counted() -> None:
    before = _dropped()
    LogStream(None).write(LINE + LINE)
    assert _dropped() - before == 2


def _serve(tmp_path: Path, uri: str, port: int, redirect: str, stderr: int | None) -> subprocess.Popen[bytes]:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    environment = kept | {"MONGODB_URI": uri, "SECRET_KEY": KEY, "DRAIN_SECONDS": "0", "DATABASE_PREFIX": "f_log_"}
    command = [sys.executable, "-m", "service", "serve", "--port", str(port)]
    return subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *command],
        env=environment,
        cwd=Path.cwd(),
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )


def _await_live(client: httpx2.Client) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            client.get("/health/live")
        except httpx2.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def test_n30_a_pipe_that_nobody_reads_stops_nobody(mongodb_uri: str, tmp_path: Path) -> None:
    port = free_port()
    with (
        _serve(tmp_path, mongodb_uri, port, "", subprocess.PIPE) as process,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        _await_live(client)
        assert {client.get("/health/live").status_code for _ in range(REQUESTS)} == {200}
        process.terminate()
        assert process.wait(STOP_SECONDS) == 0


@pytest.mark.parametrize("redirect", ["2>/dev/full", "2>&-", "<&- >&- 2>&-"], ids=["full", "closed", "all closed"])
def test_n30_a_dead_stderr_leaves_every_answer_as_it_is(tmp_path: Path, redirect: str) -> None:
    """MongoDB is away, so each request for it writes a warning."""
    port = free_port()
    away = f"mongodb://127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=200"
    with (
        _serve(tmp_path, away, port, redirect, None) as process,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        _await_live(client)
        answer = client.get("/auth-collections/users", headers={"x-api-key": f"ac_p_{'x' * 32}"})
        process.terminate()
        assert process.wait(STOP_SECONDS) == 0
    assert answer.status_code == 503
    assert answer.json()["code"] == "unavailable"
