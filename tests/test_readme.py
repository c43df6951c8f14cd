"""The README's requests, run as a newcomer would: from nothing, by copy and paste, in order."""

import re
import signal
import subprocess
from itertools import islice
from pathlib import Path

import pytest

from faults.commands import Shell, await_ready, free_port, serving

ROOT = Path(__file__).parent.parent
# Fails on any status but success, so that a request that does not work is seen.
STRICT = 'set -euo pipefail\ncurl() { command curl --silent --show-error --fail-with-body "$@"; }\n'


def examples() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def nothing(shell: Shell, tmp_path: Path) -> Shell:
    """A machine without MongoDB; commands of the README run in the repository, but keep their data elsewhere."""
    shell.environment |= {"MONGODB_URI": "", "SECRET_KEY": "", "DATA_DIR": str(tmp_path / "data")}
    return shell


def test_the_examples_run_as_printed(nothing: Shell) -> None:
    port = free_port()
    script = STRICT + "\n".join(examples()).replace("http://127.0.0.1:8000", f"http://127.0.0.1:{port}")
    with serving(nothing, "--demo", "--port", str(port)) as service:
        await_ready(f"http://127.0.0.1:{port}")
        assert service.stdout is not None
        keys = "".join(islice((line for line in iter(service.stdout.readline, "") if "export" in line), 3))
        ran = subprocess.run(  # noqa: S603
            ["bash", "-c", f"{keys}\n{script}"],  # noqa: S607 - the reader's own shell
            env=nothing.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        service.send_signal(signal.SIGTERM)
        service.communicate(timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert '"name":"Ann","age":33,"city":"Paris"' in ran.stdout
    assert "api_key: ac_my-app_" in ran.stdout
    assert '"providers":[{"id":"google"' in ran.stdout
    # The seed at the end finds all that the start made.
    for unchanged in (
        "project: 1",
        "users: 77",
        "files: 77",
        "collections: 6",
        "movies: 3201",
        "flights: 2000",
        "cards: 7",
        "rules: 1",
        "aggregations: 1",
    ):
        assert f"{unchanged} unchanged\n" in ran.stdout
