"""Several writes that happen together or not at all."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pymongo import timeout
from pymongo.asynchronous.client_session import AsyncClientSession

from service.storage.client import Database
from service.storage.errors import translated

Result = TypeVar("Result")
ClientSession = AsyncClientSession

# Conflicts with other transactions are tried again within this time.
TRANSACTION_SECONDS = 10.0


async def in_transaction(database: Database, work: Callable[[ClientSession], Awaitable[Result]]) -> Result:
    """What `work(session)` returns, once all its writes are committed. It runs again when it meets another writer.

    `work` must call the driver itself, untranslated: the labels of the driver's errors say whether to try again. Raises
    what `work` raises, and the errors of `errors.translated`; after Unavailable the writes may or may not have happened.
    """
    with translated(), timeout(TRANSACTION_SECONDS):
        async with database.client.start_session() as session:
            return await session.with_transaction(work)
