"""Help and completion import no more than they need."""

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from faults.commands import Shell
from service.cli.main import LazyCommand, app

UNREAD = ("service.services", "starlette", "jinja2", "aiosmtplib", "argon2", "puremagic", "email_validator")
HEAVY = ("pymongo", "starlette", "uvicorn", "cryptography", "service.services")


@pytest.mark.parametrize("command", app.commands.values(), ids=app.commands)
def test_the_help_of_all_commands_is_that_of_each(command: LazyCommand) -> None:
    assert " ".join((command.help or "").split()) == " ".join(command.load().help.split())


@pytest.mark.parametrize("command", app.commands.values(), ids=app.commands)
def test_no_group_offers_what_the_program_lacks(command: LazyCommand) -> None:
    """Completion is a matter of the whole program, which says in its page how a shell is set up for it."""
    assert not {"install_completion", "show_completion"} & {each.name for each in command.load().params}


@pytest.mark.parametrize(
    "words",
    [
        "",
        "pro",
        "project se",
        "key li",
        "provider se",
        "rules pu",
        "schema pu",
        "user li",
        "mail li",
        "seed --",
        "check --",
    ],
)
def test_help_and_completion_import_nothing_heavy(words: str) -> None:
    """Without words it is the help that is asked for."""
    line = {"COMP_WORDS": f"auth-collections {words}", "COMP_CWORD": str(len(words.split()))}
    completes = {"_AUTH_COLLECTIONS_COMPLETE": "complete_bash", **line}
    seen = run_and_list(HEAVY, [] if words else ["--help"], completes if words else {})
    assert seen[-1] == "[]"
    assert any(words.split()[-1] in each for each in seen[:-1]) if words else len(seen) > len(app.commands)


@pytest.mark.parametrize("module", ["projects", "keys", "providers", "commands"])
def test_commands_about_projects_alone_import_no_other_services(module: str) -> None:
    program = (
        f"import sys, service.cli.{module}, service.cli.running, service.foundation\n"
        "print([name for name in ('service.services', 'starlette', 'uvicorn', 'jinja2') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"  # noqa: S603


@pytest.mark.parametrize(
    "command", [("user", "list", "p"), ("rules", "diff", "p", "rules.json"), ("schema", "diff", "p", "schema.json")]
)
def test_commands_that_only_read_import_what_they_read_with(
    shell: Shell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "rules.json").write_text("{}")
    (tmp_path / "schema.json").write_text('{"collections": {}}')
    assert shell.run("project", "create", "P", "--id", "p").returncode == 0
    arguments = [str(tmp_path / each) if each.endswith(".json") else each for each in command]
    assert run_and_list(UNREAD, arguments, shell.environment)[-1] == "[]"


def run_and_list(names: tuple[str, ...], arguments: list[str], variables: dict[str, str]) -> list[str]:
    """The lines that the program printed; the last one lists which of the modules it had imported."""
    program = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print([name for name in {names} if name in sys.modules]))\n"
        "sys.argv = ['auth-collections', *sys.argv[1:]]\n"
        "import service.__main__ as entry\n"
        "entry.main()\n"
    )
    environment, command = {"PATH": os.environ["PATH"], **variables}, [sys.executable, "-c", program, *arguments]
    seen = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert seen.returncode == 0, seen.stderr
    return seen.stdout.splitlines()


def test_a_worker_collects_garbage_but_not_its_modules() -> None:
    """A worker imports the script that started its parent, and with it `service.__main__`, which turns the collector off.

    A collection of all its modules would stop the event loop for some 60 ms.
    """
    program = (
        "import gc, service.__main__, service.app; service.app.from_environment()\n"
        "print(gc.isenabled(), len(gc.get_objects()) * 10 < gc.get_freeze_count())"
    )
    variables = {"MONGODB_URI": "mongodb://127.0.0.1:1", "SECRET_KEY": b64encode(bytes(32)).decode()}
    command = [sys.executable, "-c", program]
    environment = {"PATH": os.environ["PATH"], **variables}
    seen = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert seen.stdout == "True True\n", seen.stderr
