"""Runs schemathesis (https://schemathesis.readthedocs.io) against a service that runs."""

import subprocess
import sys
from pathlib import Path

HOOKS = Path(__file__).with_name("fuzz_hooks.py")


def fuzz(
    base_url: str, environment: dict[str, str], folder: Path, config: str, *arguments: str, document: str | Path = ""
) -> tuple[int, str]:
    """All checks, with `arguments` of `st run`: the exit status, which is 0 when nothing was found, and what it wrote.

    `document` is another one than the service's own. `environment` fills in the file `config`; `folder` takes what
    schemathesis leaves behind.
    """
    command = [
        str(Path(sys.executable).with_name("st")),
        "--config-file",
        str(HOOKS.with_name(config)),
        "--no-color",
        "run",
    ]
    done = subprocess.run(  # noqa: S603 - our own command on our own machine
        [*command, document or f"{base_url}/openapi.json", "--url", base_url, "--checks", "all", *arguments],
        env={"HOME": str(folder), "PATH": "", "SCHEMATHESIS_HOOKS": str(HOOKS), **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
