"""Counts what happens to connections, as the driver reports it (the CMAP specification's events).

There is no listener for commands: building its events costs a tenth of a request's CPU (docs/performance.md). `translated`
times each operation instead, which includes what a command's own time leaves out: the wait for a connection, and retries.
"""

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
    """Most events come with every operation and are let pass; the rare ones are counted."""

    def connection_created(self, event: object) -> None:  # noqa: ARG002 - the listener's interface
        CONNECTIONS.inc()

    def connection_closed(self, event: ConnectionClosedEvent) -> None:
        CONNECTIONS.dec()
        CONNECTIONS_CLOSED.labels(event.reason).inc()

    def connection_checked_out(self, event: ConnectionCheckedOutEvent) -> None:
        if (event.duration or 0) > LONG_WAIT_SECONDS:
            CONNECTION_WAITS.inc()

    def connection_check_out_failed(self, event: ConnectionCheckOutFailedEvent) -> None:
        CONNECTION_FAILURES.labels(event.reason).inc()

    def _ignore(self, event: Any) -> None:
        pass

    pool_created = pool_ready = pool_cleared = pool_closed = _ignore
    connection_ready = connection_check_out_started = connection_checked_in = _ignore
