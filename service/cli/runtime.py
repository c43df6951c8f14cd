"""Runs a command's work on the database. It imports the services only then: completion needs just names."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from service.foundation import Foundation
    from service.services import Services

T = TypeVar("T")


def run_command(work: "Callable[[Services], Awaitable[T]]", *, only_reads: bool = False, may_begin: bool = False) -> T:
    """As `running.run_command`, with all services."""
    from service.cli import running
    from service.services import build_services

    return running.run_command(build_services, work, only_reads=only_reads, may_begin=may_begin)


def run_on_foundation(
    work: "Callable[[Foundation], Awaitable[T]]", *, only_reads: bool = False, may_begin: bool = False
) -> T:
    """As `running.run_command`, for a command that works on projects alone: it imports fewer modules."""
    from service.cli import running
    from service.foundation import build_foundation

    return running.run_command(build_foundation, work, only_reads=only_reads, may_begin=may_begin)
