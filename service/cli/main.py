"""The command line: `auth-collections`. Every error is one line on stderr and exit status 1 or 2.

Modules of commands are imported when a command runs: help and completion need their names and one line of each.
"""

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from service.errors import BackupError, ServiceError

# A shell that completes a line calls the program with this variable.
COMPLETION = "_AUTH_COLLECTIONS_COMPLETE"
HELP = "A hosted backend on MongoDB: accounts, sign-in, files and collections for many projects."
# Each with the text of its own help, which a test compares.
COMMANDS = {
    "seed": "Make a project as a file describes it: settings, users, files, collections, documents. "
    "A second run changes nothing.",
    "serve": "Serve HTTP. Without MONGODB_URI, a MongoDB under DATA_DIR is started and stopped with the service.",
    "sweep": "Remove files that no record names: what uploads left that were cut short more than an hour ago.",
    "migrate": "Bring all stored data to this version's form, and make indexes that are missing. "
    "A server does so by itself.",
    "check": "Check the configuration, MongoDB's version and topology, and the indexes; say how to mend what is wrong.",
    "mongodb-uri": "Print the URI of the MongoDB, with its password. The embedded one answers there while a `serve` runs.",
}
CONTRACTS = {
    "types": "Write types of a project's records for TypeScript or Python.",
    "openapi": "Write the OpenAPI document of a project, of the service, or of the Admin API.",
}
# Commands with a module each.
ALONE = {
    "admin": "Do what a request to the Admin API does, as an owner; the answer's body goes to stdout.",
    "import": "Import users, documents and files of another backend into a project. A second run changes nothing.",
    "changes": "Print the events that a project's feed keeps, one JSON object a line.",
    "usage": "Show the requests of a project by hour or day, its sizes and its limits of the day.",
}
# The name of a command that is a word of Python's → its module.
MODULES = {"import": "importing"}
GROUPS = {
    "project": ("projects:project_app", "Create and change projects."),
    "key": ("keys:key_app", "Create, list and revoke API keys."),
    "provider": ("providers:provider_app", "Set, list, show, check and remove identity providers."),
    "rules": ("rules:rules_app", "Test, compare and save access rules."),
    "schema": ("schema:schema_app", "Compare and save schemas of collections and of profiles."),
    "backup": ("backups:backup_app", "Take, list, verify, restore and delete the backups that the service keeps."),
    "job": ("jobs:job_app", "List, show, follow and cancel the long jobs of projects."),
    "audit": ("audit:audit_app", "Look at the audit log."),
    "requests": ("requests:requests_app", "Look at the requests of a project."),
    "files": ("files:files_app", "Look at the files of a project."),
    "mail": ("mails:mail_app", "Look at mails, and test the mail server."),
    "operator": ("operators:operator_app", "Invite, list, change and remove operators."),
    "user": ("users:user_app", "List, show, disable and delete the users of a project."),
}


class LazyCommand(TyperCommand):
    """A command, or a group of them, of the Typer application that `path` names as `module:attribute`.

    With `member` it is that command of the application.
    """

    def __init__(self, name: str, path: str, help: str, *, member: bool = False) -> None:  # noqa: A002 - Typer's
        super().__init__(name, help=help, rich_markup_mode=None)
        self._path, self._is_member = path, member

    def load(self) -> Any:
        """The command itself."""
        module, _, attribute = self._path.partition(":")
        command: Any = get_command(getattr(import_module(module), attribute))
        return command.commands[self.name] if self._is_member else command

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """The context of the command itself, which Typer then invokes."""
        return self.load().make_context(*arguments, **options)


def make_group(name: str, help: str, commands: list[LazyCommand]) -> TyperGroup:  # noqa: A002 - Typer's
    """The command line, which prints its help when it is called without a command."""
    return TyperGroup(
        name=name,
        help=help,
        commands={command.name or "": command for command in commands},
        no_args_is_help=True,
        rich_markup_mode=None,
    )


app = make_group(
    "auth-collections",
    HELP,
    [
        *(LazyCommand(name, "service.cli.commands:app", text, member=True) for name, text in COMMANDS.items()),
        *(LazyCommand(name, "service.cli.contracts:app", text, member=True) for name, text in CONTRACTS.items()),
        *(LazyCommand(name, f"service.cli.{MODULES.get(name, name)}:app", text) for name, text in ALONE.items()),
        *(LazyCommand(name, f"service.cli.{path}", text) for name, (path, text) in GROUPS.items()),
    ],
)


def main() -> None:
    """Runs one command; every error becomes one line and an exit status."""
    _open_closed_streams()
    if COMPLETION in os.environ:
        completion_init()
    try:
        status = app.main(standalone_mode=False)
    except TyperException as error:
        _fail(error.format_message(), 2)
    except BackupError as error:
        _fail(f"{error.code}: {error.detail}", 1)
    except ServiceError as error:
        _fail(error.detail, 1)
    except (Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _open_closed_streams() -> None:
    """Opens /dev/null for each closed one of the three.

    Otherwise the next opened file would get its descriptor and its output.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _fail(message: str, status: int) -> NoReturn:
    typer.echo(f"auth-collections: {' '.join(message.split())}", err=True)
    sys.exit(status)
