"""The MongoDB client: how it connects, how long its calls may take, and the metrics of its connections."""

import asyncio
import sys
from collections.abc import Awaitable
from contextlib import AbstractContextManager
from typing import Any

import pymongo.lock
from bson.codec_options import DatetimeConversion
from pymongo import AsyncMongoClient, timeout
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConfigurationError as DriverConfigurationError
from pymongo.errors import InvalidURI
from pymongo.monitoring import (
    ConnectionCheckedOutEvent,
    ConnectionCheckOutFailedEvent,
    ConnectionClosedEvent,
    ConnectionPoolListener,
)

from service.errors import ConfigurationError
from service.fast.driver import take_events
from service.observe.metrics import CONNECTION_FAILURES, CONNECTION_WAITS, CONNECTIONS, CONNECTIONS_CLOSED

LONG_WAIT_SECONDS = 0.01


class PoolMetrics(ConnectionPoolListener):
    """Counts connections and their ends, as the driver reports them (the CMAP specification's events).

    There is no listener for commands: building its events costs a tenth of a request's CPU (docs/performance.md).
    `records.translated` times each call instead, which includes the wait for a connection and retries; a command's own
    time leaves these out. Events of every call are caught before they are built, by `fast.driver`.
    """

    def connection_created(self, event: object) -> None:  # noqa: ARG002 - the listener's interface
        CONNECTIONS.inc()

    def connection_closed(self, event: ConnectionClosedEvent) -> None:
        CONNECTIONS.dec()
        CONNECTIONS_CLOSED.labels(event.reason).inc()

    def connection_check_out_failed(self, event: ConnectionCheckOutFailedEvent) -> None:
        CONNECTION_FAILURES.labels(event.reason).inc()

    def connection_checked_out(self, event: ConnectionCheckedOutEvent) -> None:
        count_wait(event.duration or 0)

    def _ignore(self, event: Any) -> None:
        pass

    pool_created = pool_ready = pool_cleared = pool_closed = _ignore
    connection_ready = connection_check_out_started = connection_checked_in = _ignore


def count_wait(seconds: float) -> None:
    """Counts a long wait for a connection."""
    if seconds > LONG_WAIT_SECONDS:
        CONNECTION_WAITS.inc()


if sys.version_info < (3, 12):

    async def _wait_for(awaitable: Awaitable[Any], seconds: float | None) -> Any:
        """`asyncio.wait_for` as it is from Python 3.12 on: in the task of the waiter.

        That of 3.11 makes another task, in which the driver waits for a connection. If the waiter is cancelled twice,
        this task ends while it holds the pool's lock, and from then on no request gets a connection.
        """
        async with asyncio.timeout(seconds):
            return await awaitable

    pymongo.lock.wait_for = _wait_for  # type: ignore[assignment, attr-defined]

Document = dict[str, Any]
Client = AsyncMongoClient[Document]
Database = AsyncDatabase[Document]
ClientSession = AsyncClientSession

# One operation, with its retries, must end within this time; a request makes few of them.
OPERATION_TIMEOUT_MS = 5_000
SERVER_SELECTION_TIMEOUT_MS = 3_000
MAX_CONNECTIONS = 100


def connect(
    uri: str,
    *,
    app_name: str = "auth-collections",
    timeout_ms: int | None = OPERATION_TIMEOUT_MS,
    max_connections: int = MAX_CONNECTIONS,
) -> Client:
    """A client that has not connected yet: it does so with the first operation, and again after each loss.

    It belongs to the event loop that uses it first. MongoDB lists its connections as those of `app_name`. Raises
    ConfigurationError for a URI the driver cannot read. Without `timeout_ms` the caller bounds each call, and MongoDB's
    wait within it.
    """
    try:
        client: Client = AsyncMongoClient(
            uri,
            appname=app_name,
            timeoutMS=timeout_ms,
            serverSelectionTimeoutMS=SERVER_SELECTION_TIMEOUT_MS,
            maxPoolSize=max_connections,
            event_listeners=[PoolMetrics()],
            w="majority",
            retryWrites=True,
            retryReads=True,
            # A date or a string that another program stored badly must not make every list that holds it fail.
            datetime_conversion=DatetimeConversion.DATETIME_AUTO,
            unicode_decode_error_handler="replace",
        )
        take_events(client, count_wait)
        return client
    except OSError as error:
        # A file of the TLS options: tlsCAFile or tlsCertificateKeyFile.
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        raise ConfigurationError(f"MONGODB_URI: a file of its TLS options cannot be used: {reason}") from None
    except (InvalidURI, DriverConfigurationError, ValueError) as error:
        # The URI holds a password, and so may the driver's message; neither is repeated.
        raise ConfigurationError(
            f"MONGODB_URI cannot be used ({type(error).__name__}); expected mongodb://host:port/?replicaSet=name"
        ) from None


def within(seconds: float) -> AbstractContextManager[None]:
    """All driver calls in this context together get so much time; then QueryTooSlow or Unavailable is raised."""
    return timeout(seconds)
