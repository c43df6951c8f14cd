"""Real processes: the command line, and a served port."""

import base64
import json
import socket
import subprocess
import time
from dataclasses import dataclass
from typing import Any

import httpx2

from faults.starts import Process, run_command, start_command

READY_SECONDS = 90.0
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


def serving(shell: Shell, *arguments: str, **changes: str) -> Process:
    environment = shell.environment | changes
    return start_command(["serve", *arguments], environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def await_ready(url: str) -> None:
    """A first start makes a database, and with --demo fills it: on a busy machine that takes long."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx2.get(f"{url}/health/ready").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.02)
    raise AssertionError(f"not ready within {READY_SECONDS:.0f} s")
