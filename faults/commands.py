"""Real processes: the command line, and a served port."""

import base64
import json
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from subprocess import PIPE
from typing import Any

import httpx2

from faults.starts import STOP_SECONDS, Process, run_command, start_command, stop

READY_SECONDS = 180.0
# So much of a log is shown.
LOGGED = 4_000
# Loading the system's certificates for each client would take longer than most clients live.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
KEY = base64.b64encode(b"s" * 32).decode()


@dataclass
class Shell:
    """Runs `auth-collections` with an environment of its own."""

    environment: dict[str, str]

    def run(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return run_command(arguments, self.environment | changes)

    def json(self, *arguments: str) -> Any:
        result = self.run(*arguments, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(shell: Shell, *arguments: str, **changes: str) -> Iterator[Process]:
    """Runs `serve` and stops it at the end. If the block fails, the error carries the end of the process's log."""
    environment = shell.environment | changes
    with start_command(["serve", *arguments], environment, stdout=PIPE, stderr=PIPE) as process:
        try:
            yield process
        except BaseException as error:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                error.add_note(process.communicate(timeout=STOP_SECONDS)[1][-LOGGED:])
            raise
        finally:
            stop(process)


def await_ready(url: str) -> None:
    """A first start makes a database, and with --demo fills it: on a busy machine that takes long."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx2.get(f"{url}/health/ready", verify=NO_TLS).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"not ready within {READY_SECONDS:.0f} s")
