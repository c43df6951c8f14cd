"""What one command works with: the services on a database connection of its own, for as long as the command runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from service.embedded.local import with_database
from service.errors import ConfigurationError, Unavailable
from service.services import Services, build_services
from service.settings import Settings, read_settings
from service.storage.databases import Databases

T = TypeVar("T")


def run_command(work: Callable[[Services], Awaitable[T]]) -> T:
    """Runs `work` on the database of the environment, which is started if it is an embedded one that does not run yet."""
    with with_database(read_settings()) as settings:
        return run_on(settings, work)


def run_on(settings: Settings, work: Callable[[Services], Awaitable[T]]) -> T:
    """Runs `work` on the database that `settings` name."""
    return asyncio.run(_run(settings, work))


async def _run(settings: Settings, work: Callable[[Services], Awaitable[T]]) -> T:
    services = build_services(settings)
    try:
        await _prepare(services.databases)
        return await work(services)
    finally:
        await services.close()


async def _prepare(databases: Databases) -> None:
    try:
        await databases.ensure_indexes()
    except Unavailable as error:
        cause = type(error.__cause__).__name__
        raise ConfigurationError(
            f"MONGODB_URI: no MongoDB answers there ({cause}); start it or mend the address"
        ) from None
