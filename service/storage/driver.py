"""Counts the driver's connections."""

from typing import Any

from pymongo.monitoring import (
    ConnectionCheckedOutEvent,
    ConnectionCheckOutFailedEvent,
    ConnectionClosedEvent,
    ConnectionPoolListener,
)

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
