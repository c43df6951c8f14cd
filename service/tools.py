"""What one command works with: the service's parts on a database connection of its own, for as long as the command runs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from service.app import build_services
from service.domain.accounts import Accounts
from service.domain.collections import Collections
from service.domain.documents import Documents
from service.domain.passwords import Passwords
from service.domain.project_admin import ProjectAdmin
from service.domain.sealing import Sealer
from service.domain.submissions import Files
from service.errors import ConfigurationError, Unavailable
from service.local import database_uri, with_database
from service.settings import Settings, read_settings
from service.storage.databases import Databases
from service.storage.mongo import connect
from service.storage.projects import ProjectStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tools:
    """One of each, for one command."""

    databases: Databases
    admin: ProjectAdmin
    passwords: Passwords
    collections: Collections
    documents: Documents
    accounts: Accounts
    files: Files


def run_command(work: Callable[[Tools], Awaitable[T]]) -> T:
    """Runs `work` on the database of the environment, which is started if it is an embedded one that does not run yet."""
    with with_database(read_settings()) as settings:
        return run_on(settings, work)


def run_on(settings: Settings, work: Callable[[Tools], Awaitable[T]]) -> T:
    """Runs `work` on the database that `settings` name."""
    return asyncio.run(_with_tools(settings, work))


async def _with_tools(settings: Settings, work: Callable[[Tools], Awaitable[T]]) -> T:
    client = connect(database_uri(settings))
    databases, passwords = Databases(client, settings.database_prefix), Passwords(settings.bcrypt_cost)
    services = build_services(settings, databases, passwords)
    admin = ProjectAdmin(databases, ProjectStore(databases), Sealer(settings.secret), services.projects)
    try:
        await _prepare(databases)
        return await work(
            Tools(
                databases, admin, passwords, services.collections, services.documents, services.accounts, services.files
            )
        )
    finally:
        passwords.close()
        await client.close()


async def _prepare(databases: Databases) -> None:
    try:
        await databases.ensure_indexes()
    except Unavailable as error:
        cause = type(error.__cause__).__name__
        raise ConfigurationError(
            f"MONGODB_URI: no MongoDB answers there ({cause}); start it or mend the address"
        ) from None
