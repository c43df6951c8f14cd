"""The CPU that a command of the command line takes: help, completion, and a list of projects."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from bench.figures import Figure, Goal
from service.settings import Settings

COMPLETION = {
    "_AUTH_COLLECTIONS_COMPLETE": "complete_bash",
    "COMP_WORDS": "auth-collections project se",
    "COMP_CWORD": "2",
}


def measure_commands(settings: Settings, *, rounds: int) -> list[Figure]:
    """Each in a process of its own; the MongoDB that a command speaks to runs already and is not counted."""
    database = {"MONGODB_URI": settings.database_uri, "DATABASE_PREFIX": settings.database_prefix}
    if settings.secret_key is not None:
        database["SECRET_KEY"] = settings.secret_key.get_secret_value()
    measured: tuple[tuple[str, Sequence[str], Mapping[str, str], float], ...] = (
        ("CPU of --help", ["--help"], {}, 0.3),
        ("CPU of a completion", [], COMPLETION, 0.3),
        ("CPU of project list", ["project", "list"], database, 0.8),
    )
    note = f"median of {rounds} processes"
    return [
        Figure(name, median(_run(arguments, changes) for _ in range(rounds)), "s", Goal("<=", goal), note)
        for name, arguments, changes, goal in measured
    ]


def _run(arguments: Sequence[str], changes: Mapping[str, str]) -> float:
    """The CPU seconds of one command, of user and system."""
    before = getrusage(RUSAGE_CHILDREN)
    # The name of the program decides which variable asks for a completion.
    program = "import sys; sys.argv[0] = 'auth-collections'; from service.__main__ import main; main()"
    command = [sys.executable, "-c", program, *arguments]
    environment, nowhere = {**os.environ, **changes}, subprocess.DEVNULL
    subprocess.run(command, env=environment, stdout=nowhere, stderr=nowhere, check=True)  # noqa: S603
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
