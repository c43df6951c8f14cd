"""The MongoDB client and the one place where the driver's errors become ours."""

import asyncio
import sys
from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager
from time import perf_counter
from types import TracebackType
from typing import Any

import pymongo.lock
from bson.codec_options import DatetimeConversion
from pymongo import AsyncMongoClient, timeout
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConfigurationError as DriverConfigurationError
from pymongo.errors import DuplicateKeyError, InvalidURI, OperationFailure, PyMongoError

from service.errors import (
    ConfigurationError,
    DuplicateValue,
    QueryTooSlow,
    RejectedByValidator,
    ServiceError,
    TooLarge,
    Unavailable,
)
from service.metrics import operation_series
from service.storage.pool_metrics import PoolMetrics

if sys.version_info < (3, 12):

    async def _wait_for(awaitable: Awaitable[Any], seconds: float | None) -> Any:
        """`asyncio.wait_for` as it is from Python 3.12 on: in the task of whoever waits.

        That of 3.11 makes another task, in which the driver waits for a connection. A waiter who is cancelled twice leaves
        it to end with the pool's lock in its hands, and from then on nobody gets a connection.
        """
        async with asyncio.timeout(seconds):
            return await awaitable

    pymongo.lock.wait_for = _wait_for  # type: ignore[assignment, attr-defined]

Document = dict[str, Any]
Client = AsyncMongoClient[Document]
Database = AsyncDatabase[Document]

# One operation, with its retries, must end within this time; a request makes few of them.
OPERATION_TIMEOUT_MS = 5_000
SERVER_SELECTION_TIMEOUT_MS = 3_000
MAX_CONNECTIONS = 100

MAX_TIME_EXPIRED = 50
DOCUMENT_VALIDATION_FAILURE = 121
DUPLICATE_KEY = 11000
# 10334 is the driver's and the server's BSONObjectTooLarge; 17419 and 17420 say that an update would make one.
TOO_LARGE = frozenset({10334, 17419, 17420})


def connect(uri: str) -> Client:
    """A client that has not connected yet: it does so with the first operation, and again after each loss.

    It belongs to the event loop that uses it first. Raises ConfigurationError for a URI the driver cannot read.
    """
    try:
        return AsyncMongoClient(
            uri,
            appname="auth-collections",
            timeoutMS=OPERATION_TIMEOUT_MS,
            serverSelectionTimeoutMS=SERVER_SELECTION_TIMEOUT_MS,
            maxPoolSize=MAX_CONNECTIONS,
            event_listeners=[PoolMetrics()],
            w="majority",
            retryWrites=True,
            retryReads=True,
            # A date or a string that another program stored badly must not make every list that holds it fail.
            datetime_conversion=DatetimeConversion.DATETIME_AUTO,
            unicode_decode_error_handler="replace",
        )
    except (InvalidURI, DriverConfigurationError, ValueError) as error:
        # The URI holds a password, and so may the driver's message; neither is repeated.
        raise ConfigurationError(
            f"MONGODB_URI cannot be used ({type(error).__name__}); expected mongodb://host:port/?replicaSet=name"
        ) from None


class _Translation:
    """`with translated():` turns what the driver raises into the errors of errors.py, and times it. A class: it is fast."""

    __slots__ = ("_started",)

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = _ours(error) if isinstance(error, PyMongoError) else None
        outcome = ours.code if ours is not None else "ok" if error is None else "ended"
        operation_series(outcome).observe(perf_counter() - self._started)
        if ours is not None:
            raise ours from error


def translated() -> _Translation:
    """The context in which every driver call is made.

    Raises DuplicateValue, RejectedByValidator, QueryTooSlow, TooLarge; Unavailable when the outcome is unknown.
    """
    return _Translation()


def _ours(error: PyMongoError) -> ServiceError:
    if isinstance(error, DuplicateKeyError):
        return duplicate(error.details or {})
    if isinstance(error, OperationFailure):
        return _refusal(error)
    if type(error).__name__ == "DocumentTooLarge":
        return TooLarge("The record would be larger than 16 MB")
    return Unavailable()


def duplicate(details: Mapping[str, Any]) -> DuplicateValue:
    """The error of a unique index, of which MongoDB's account names the fields but also the value."""
    return DuplicateValue(next(iter(details.get("keyPattern", {})), "_id"))


def write_error(details: Mapping[str, Any]) -> ServiceError:
    """One write error of a batch."""
    if details["code"] == DOCUMENT_VALIDATION_FAILURE:
        return RejectedByValidator(details.get("errInfo", {}))
    return duplicate(details) if details["code"] == DUPLICATE_KEY else Unavailable()


def _refusal(error: OperationFailure) -> ServiceError:
    if error.code == DOCUMENT_VALIDATION_FAILURE:
        return RejectedByValidator((error.details or {}).get("errInfo", {}))
    if error.code == MAX_TIME_EXPIRED:
        return QueryTooSlow()
    if error.code in TOO_LARGE:
        return TooLarge("The record would be larger than 16 MB")
    return Unavailable()


def within(seconds: float) -> AbstractContextManager[None]:
    """The driver calls made in this context, together, get so much time; then QueryTooSlow or Unavailable is raised."""
    return timeout(seconds)
