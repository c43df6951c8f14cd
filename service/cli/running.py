"""Runs one command with the services, on a database connection of its own."""

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import typer

from service.domain.audit.origin import ORIGIN, AuditActor, Origin
from service.embedded.local import check_data, describe_database, has_data, with_database
from service.errors import ConfigurationError, NewerData, NotFound, Unavailable
from service.foundation import Foundation, build_foundation
from service.observe.logging import configure_logging
from service.process import turn_on_collector
from service.settings import Settings, read_settings
from service.storage.authors import AUTHOR
from service.storage.client import within

if TYPE_CHECKING:
    from service.services import Services

T = TypeVar("T")
Base = TypeVar("Base", Foundation, "Services")
Build = Callable[[Settings], Base]
# A server does not wait longer than this for a MongoDB that may come later.
KEY_SECONDS = 2.0


def run_command(
    build: Build[Base], work: Callable[[Base], Awaitable[T]], *, only_reads: bool = False, may_begin: bool = False
) -> T:
    """Runs `work`, with what `build` makes, on the database of the environment. An embedded one is started if none runs.

    The database is named on stderr once `work` is done, or in the one line of a NotFound. If there is no database, the
    command fails, unless it `may_begin` one, which it announces at once. The system's database is brought to the
    present version first, unless `work` only reads. Log lines go to stderr, as a server's do: a program may read the
    command's output.
    """
    turn_on_collector()
    found = read_settings()
    configure_logging(found.log_level, found.log_format)
    if not may_begin:
        check_data(found)
    AUTHOR.set(lambda: "cli:")
    ORIGIN.set(lambda: Origin(AuditActor("cli", name=_find_user())))
    begins, name = announce_beginning(found), describe_database(found)
    with with_database(found) as settings:
        try:
            result = asyncio.run(_run(settings, build, work, only_reads))
        except NotFound as error:
            raise NotFound(f"{error.detail} ({name})") from None
    if not begins:
        typer.echo(name, err=True)
    return result


def _find_user() -> str:
    """The name of the user of the operating system who runs the command, or the number of one without a name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def announce_beginning(settings: Settings) -> bool:
    """Announces on stderr a database that begins with this command; True if one does."""
    if has_data(settings):
        return False
    typer.echo(f"{describe_database(settings)}, which begins now", err=True)
    return True


def run_on(settings: Settings, work: "Callable[[Services], Awaitable[T]]") -> T:
    """Runs `work`, with all services, on the database that `settings` name."""
    from service.services import build_services

    return asyncio.run(_run(settings, build_services, work, only_reads=False))


async def _run(settings: Settings, build: Build[Base], work: Callable[[Base], Awaitable[T]], only_reads: bool) -> T:
    services = build(settings)
    try:
        base = services if isinstance(services, Foundation) else services.base
        await _prepare(base.databases.hello if only_reads else base.migrations.migrate_system)
        return await work(services)
    finally:
        await services.close()


def refuse_data(settings: Settings) -> None:
    """Raises ConfigurationError for data that this process cannot serve: of a newer version, or of another SECRET_KEY.

    Prints nothing if no MongoDB answers yet.
    """
    asyncio.run(_refuse_data(settings))


async def _refuse_data(settings: Settings) -> None:
    base = build_foundation(settings)
    try:
        with suppress(Unavailable), within(KEY_SECONDS):
            await _refuse_newer(base.versions.check)
            await base.canary.check()
    finally:
        await base.close()


async def _refuse_newer(step: Callable[[], Awaitable[object]]) -> None:
    try:
        await step()
    except NewerData as error:
        raise ConfigurationError(f"{error.cause}, or put back a backup that this one has written") from None


async def _prepare(step: Callable[[], Awaitable[object]]) -> None:
    try:
        await _refuse_newer(step)
    except Unavailable as error:
        if error.cause:
            raise ConfigurationError(f"MONGODB_URI: {error.cause}") from None
        cause = type(error.__cause__).__name__
        raise ConfigurationError(
            f"MONGODB_URI: no MongoDB answers there ({cause}); start it or mend the address"
        ) from None
