"""How long a request may take: its client to send it, the service to answer. Values, and whether the server is stopping."""

from dataclasses import dataclass

from starlette.requests import Request

STOPPING = "stopping"
# How an overloaded process still tells that it lives, and why it is slow.
EXEMPT = frozenset({"/health/live", "/health/ready", "/metrics"})


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds, but for `least_rate`."""

    # From the last byte of the request that was read to the first of its answer. What clients endure, and more than the
    # queue of passwords takes; each call of MongoDB has a shorter deadline of its own.
    answer: float = 15.0
    # A body may make the service wait this long, and as much longer as what has come would take at the least rate, in bytes
    # a second.
    body: float = 10.0
    least_rate: int = 16_384
    # How often it is looked who is late; and how long somebody who is may take to clean up.
    look: float = 0.25
    clean_up: float = 0.5


def is_stopping(request: Request) -> bool:
    """Whether the server has been told to stop; it sets this in the state that each request is given."""
    return STOPPING in request.scope["state"]
