"""Commands whose modules are imported when they are run: help and completion need their names and one line of each."""

import gc
from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


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
        # The objects of modules live as long as the process, so the collector leaves them out.
        gc.freeze()
        gc.enable()
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
