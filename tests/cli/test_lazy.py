"""Help and completion import no more than they need."""

import os
import subprocess
import sys
from base64 import b64encode
from typing import cast

import pytest

from service.cli.main import LazyCommand, app

HEAVY = ("pymongo", "starlette", "uvicorn", "cryptography", "service.services")


@pytest.mark.parametrize("command", app.commands.values(), ids=app.commands)
def test_the_help_of_all_commands_is_that_of_each(command: LazyCommand) -> None:
    assert " ".join((command.help or "").split()) == " ".join(command.load().help.split())


@pytest.mark.parametrize("command", app.commands.values(), ids=app.commands)
def test_no_group_offers_what_the_program_lacks(command: LazyCommand) -> None:
    """Completion is a matter of the whole program, which says in its page how a shell is set up for it."""
    assert not {"install_completion", "show_completion"} & {each.name for each in command.load().params}


@pytest.mark.parametrize("completes", [False, True], ids=["help", "completion"])
def test_help_and_completion_import_nothing_heavy(completes: bool) -> None:
    program = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print([name for name in {HEAVY} if name in sys.modules]))\n"
        "sys.argv = ['auth-collections', *sys.argv[1:]]\n"
        "import service.__main__ as entry\n"
        "entry.main()\n"
    )
    asked = {"_AUTH_COLLECTIONS_COMPLETE": "complete_bash", "COMP_WORDS": "auth-collections pro", "COMP_CWORD": "1"}
    arguments = [] if completes else ["--help"]
    environment = {"PATH": os.environ["PATH"], **(asked if completes else {})}
    command = [sys.executable, "-c", program, *arguments]
    seen = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert seen.returncode == 0, seen.stderr
    assert seen.stdout.splitlines()[-1] == "[]"
    assert "project" in seen.stdout
    assert cast(LazyCommand, app.commands["project"]).load().commands.keys() >= {"create", "list"}


def test_a_worker_collects_garbage() -> None:
    """A worker imports the script that started its parent, and with it `service.__main__`, which turns the collector off."""
    program = "import gc, service.__main__, service.app; service.app.from_environment(); print(gc.isenabled())"
    variables = {"MONGODB_URI": "mongodb://127.0.0.1:1", "SECRET_KEY": b64encode(bytes(32)).decode()}
    command = [sys.executable, "-c", program]
    environment = {"PATH": os.environ["PATH"], **variables}
    seen = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert seen.stdout == "True\n", seen.stderr
