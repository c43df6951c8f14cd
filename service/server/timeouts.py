"""Seconds that a connection may take for each of its parts, and a stop for all of them. Plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConnectionTimeouts:
    """Seconds, but for `least_rate`."""

    # From the connection, or the first byte of a later request, to the end of its headers.
    headers: float = 10.0
    # After an answer that did not wait for the body, the rest is read and thrown away for this long, so that the client can
    # read the answer before the connection goes (RFC 9112 section 9.6).
    linger: float = 2.0
    # Between two requests.
    keep_alive: int = 75
    # A client that has fallen behind must take this many bytes a second of its answer, on average over each window.
    least_rate: int = 16_384
    rate_window: float = 10.0
    # When the server closes, an idle connection has this long for a request that is on its way.
    last_look: float = 0.2
    # Seconds a request in flight gets after SIGTERM and the drain time. `cut_short` seconds before their end it is
    # cancelled: time to undo it and to answer its client.
    stop: int = 25
    cut_short: float = 5.0
