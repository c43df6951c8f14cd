"""The processes that tests start: a failure leaves none behind, and no wait lasts for ever."""

import os
import signal
import socket
import subprocess
import time

import pytest

from faults import starts
from faults.commands import Shell, await_ready, free_port, serving
from faults.starts import Forked, Process


def test_what_keeps_the_pipes_open_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As workers do whose parent was killed because it took too long."""
    monkeypatch.setattr(starts, "LEFT_SECONDS", 0.1)
    ours, theirs = os.pipe()
    reply, zygote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen(["/bin/sleep", "60"]) as sleeper, zygote:
        zygote.sendall(b"%d\n" % sleeper.pid)
        forked = Forked(["serve"], reply, [ours, None])
        os.write(theirs, b"Serving")
        started = time.monotonic()
        with pytest.raises(subprocess.TimeoutExpired):
            forked.communicate(timeout=0.1)
        assert time.monotonic() - started < 30
        assert sleeper.wait() == -signal.SIGKILL
        zygote.sendall(b"-9\n")
        assert forked.wait(30) == -signal.SIGKILL
    os.close(theirs)


def test_a_service_ends_with_a_test_that_fails(shell: Shell) -> None:
    port = free_port()

    def fail(process: Process) -> None:
        running.append(process)
        await_ready(f"http://127.0.0.1:{port}")
        raise LookupError

    running: list[Process] = []
    with pytest.raises(LookupError) as failed, serving(shell, "--port", str(port), "--workers", "2") as service:
        fail(service)
    assert [each.returncode for each in running] == [0]
    assert any("/health/ready" in logged for logged in failed.value.__notes__)
