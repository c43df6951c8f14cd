"""The line of `serve` about the console: its address, or the way to the first owner's account."""

import asyncio
import sys

from service.cli.running import KEY_SECONDS
from service.domain.operators.invitations import make_bootstrap
from service.errors import ServiceError
from service.foundation import build_foundation
from service.settings import Settings
from service.storage.client import within
from service.storage.operator_records import OperatorDatabase

COMMAND = "auth-collections operator invite EMAIL"


def describe_console(settings: Settings, *, is_embedded: bool) -> str | None:
    """The line; None without a console.

    The one-time link of the first owner is made now. It is shown where a person reads it, and not in collected logs.
    """
    if settings.console == "off":
        return None
    address = f"{settings.base_url}/console/"
    try:
        has_operators, link = asyncio.run(_begin(settings, shows_link=is_embedded or _is_terminal()))
    except ServiceError:
        # The database is away; it decides later.
        has_operators, link = False, None
    if has_operators:
        return f"Console: {address}"
    if link is None:
        return f"No operator yet: `{COMMAND}` prints a link that makes the first one"
    return f"The first owner's link, good once and for 30 minutes: {link}"


def _is_terminal() -> bool:
    """A supervisor may start the server with a closed stdout, which Python has as None."""
    return sys.stdout is not None and sys.stdout.isatty()


async def _begin(settings: Settings, *, shows_link: bool) -> tuple[bool, str | None]:
    base = build_foundation(settings)
    try:
        with within(KEY_SECONDS):
            database = OperatorDatabase(base.databases)
            if await database.exist():
                return True, None
            made = await make_bootstrap(database, f"{settings.base_url}/console/") if shows_link else None
            return False, made.link if made else None
    finally:
        await base.close()
