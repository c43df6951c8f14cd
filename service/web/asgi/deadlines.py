"""Deadlines of a request: for its client to send it, for the service to answer. Values, and the state of the server."""

from dataclasses import dataclass

from starlette.requests import Request

STOPPING = "stopping"
# Paths by which an overloaded process still shows that it lives, and why it is slow.
EXEMPT = frozenset({"/health/live", "/health/ready", "/metrics"})


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds, but for `least_rate`."""

    # Seconds from the last byte of the request that was read to the first of its answer. Clients endure that, and the
    # queue of passwords takes less; each call of MongoDB has a shorter deadline of its own.
    answer: float = 15.0
    # A body may make the service wait this long, and as much longer as what has come would take at the least rate, in bytes
    # a second.
    body: float = 10.0
    least_rate: int = 16_384
    # Seconds between two looks for late requests, and seconds that a late one may take to clean up.
    look: float = 0.25
    clean_up: float = 0.5


def is_stopping(request: Request) -> bool:
    """True if the server is stopping; it sets this in the state that each request is given."""
    return STOPPING in request.scope["state"]
