"""Transactions: all of their writes happen, or none.

The body of a transaction makes the same calls as code outside of one, on a `ProjectDatabase` that is bound to the
transaction's session (`ProjectDatabase.in_transaction`). It may run several times, so it changes nothing but MongoDB
and its own variables. It makes one call after the other, for a session is no good for two at once; and it lets every
error out, for MongoDB has ended the transaction with it.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeVar

from pymongo import _csot, timeout
from pymongo.errors import PyMongoError

from service.storage.client import Client, ClientSession
from service.storage.errors import MAX_TIME_EXPIRED
from service.storage.records import translated

Result = TypeVar("Result")

# Conflicts with other transactions are tried again within this time.
TRANSACTION_SECONDS = 10.0
# The specification of the drivers' convenient API for transactions waits so before it tries again.
FIRST_WAIT_SECONDS = 0.005
WAIT_GROWTH = 1.5
LONGEST_WAIT_SECONDS = 0.5

RETRY_ALL = "TransientTransactionError"
RETRY_COMMIT = "UnknownTransactionCommitResult"


async def in_transaction(client: Client, work: Callable[[ClientSession], Awaitable[Result]]) -> Result:
    """Returns the result of `work(session)`, once all its writes are committed. It runs again after a write conflict.

    Raises the errors of `work` and of `records.translated`; after Unavailable the writes may or may not have happened.
    """
    deadline = time.monotonic() + TRANSACTION_SECONDS
    with translated(), timeout(TRANSACTION_SECONDS):
        async with client.start_session() as session:
            wait = FIRST_WAIT_SECONDS
            while True:
                try:
                    return await _attempt(session, work, deadline)
                except Exception as error:
                    if not _may_retry(error, RETRY_ALL, deadline):
                        raise
                # The waiting differs, so that two who met do not meet again.
                await asyncio.sleep(wait * random.random())  # noqa: S311 - not a secret
                wait = min(wait * WAIT_GROWTH, LONGEST_WAIT_SECONDS)


async def _attempt(
    session: ClientSession, work: Callable[[ClientSession], Awaitable[Result]], deadline: float
) -> Result:
    await session.start_transaction()
    try:
        result = await work(session)
        await _commit(session, deadline)
    finally:
        if session.in_transaction:
            await _abort(session)
    return result


async def _abort(session: ClientSession) -> None:
    """Ends the transaction, also that of a request whose time is over or which is cancelled: nothing stays locked.

    The driver would not even send the command past the deadline of its context, hence a context of its own.
    """
    await asyncio.shield(asyncio.create_task(session.abort_transaction(), context=Context()))


async def _commit(session: ClientSession, deadline: float) -> None:
    """A commit can be repeated: MongoDB answers how the first one ended."""
    while True:
        try:
            return await session.commit_transaction()
        except PyMongoError as error:
            if getattr(error, "code", None) == MAX_TIME_EXPIRED or not _may_retry(error, RETRY_COMMIT, deadline):
                raise


def _may_retry(error: Exception, label: str, deadline: float) -> bool:
    """True if the driver put `label` on the error, or on its cause, and time is left."""
    source = error if isinstance(error, PyMongoError) else error.__cause__
    left = _csot.remaining()
    is_late = time.monotonic() > deadline or (left is not None and left <= 0)
    return not is_late and isinstance(source, PyMongoError) and source.has_error_label(label)
