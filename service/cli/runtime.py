"""Runs a command's work on the database. It imports the services only then: completion needs just names."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from service.services import Services

T = TypeVar("T")


def run_command(work: "Callable[[Services], Awaitable[T]]", *, only_reads: bool = False, may_begin: bool = False) -> T:
    """As `running.run_command`."""
    from service.cli import running

    return running.run_command(work, only_reads=only_reads, may_begin=may_begin)
