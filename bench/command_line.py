"""The CPU that each local command of the command line takes."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from bench.figures import Figure, Goal
from service.settings import Settings

COMPLETION = {
    "_AUTH_COLLECTIONS_COMPLETE": "complete_bash",
    "COMP_WORDS": "auth-collections project se",
    "COMP_CWORD": "2",
}


PROJECT = "command_line"
MANIFEST = {
    "project": {"id": PROJECT, "name": "Command line"},
    "collections": {"notes": {"schema": {"text": {"type": "string"}}}},
}
# Commands that ask a database, with the arguments that only look or change nothing.
COMMANDS = (
    "mongodb-uri",
    "project list",
    f"project show {PROJECT}",
    f"project settings {PROJECT}",
    f"key list {PROJECT}",
    f"provider list {PROJECT}",
    f"user list {PROJECT}",
    "mail list",
    f"rules diff {PROJECT} rules.json",
    f"schema diff {PROJECT} manifest.json",
    "seed manifest.json",
    "sweep",
    "migrate",
    "check",
)
FAST, LOCAL = Goal("<=", 0.3), Goal("<=", 0.8)


def measure_commands(settings: Settings, *, rounds: int) -> list[Figure]:
    """Each in a process of its own; the MongoDB that a command speaks to runs already and is not counted."""
    database = {"MONGODB_URI": settings.database_uri, "DATABASE_PREFIX": settings.database_prefix}
    if settings.secret_key is not None:
        database["SECRET_KEY"] = settings.secret_key.get_secret_value()
    note = f"median of {rounds} processes"

    def measure(name: str, arguments: Sequence[str], variables: Mapping[str, str], goal: Goal) -> Figure:
        seconds = median(_run(arguments, variables, Path(folder)) for _ in range(rounds))
        return Figure(f"CPU of {name}", seconds, "s", goal, note)

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "manifest.json").write_text(json.dumps(MANIFEST))
        (Path(folder) / "rules.json").write_text("{}")
        _run(["seed", "manifest.json"], database, Path(folder))
        return [
            measure("--help", ["--help"], {}, FAST),
            measure("a completion", [], COMPLETION, FAST),
            *(measure(" ".join(line.split()[:2]), line.split(), database, LOCAL) for line in COMMANDS),
        ]


def _run(arguments: Sequence[str], changes: Mapping[str, str], folder: Path) -> float:
    """The CPU seconds of one command, user and system, in a process whose working directory is `folder`."""
    before = getrusage(RUSAGE_CHILDREN)
    # The name of the program decides which variable asks for a completion.
    program = "import sys; sys.argv[0] = 'auth-collections'; from service.__main__ import main; main()"
    command = [sys.executable, "-c", program, *arguments]
    environment, nowhere = {**os.environ, **changes}, subprocess.DEVNULL
    subprocess.run(command, cwd=folder, env=environment, stdout=nowhere, stderr=nowhere, check=True)  # noqa: S603
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
