"""The request that a task works for: its id, and its slow queries, for its line in the log."""

from contextvars import ContextVar
from typing import Any

# A request's line in the log describes at most this many slow queries.
MAX_SLOW = 3


class RequestNotes:
    """The id of one request, and descriptions of its slow queries."""

    __slots__ = ("id", "slow")

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.slow: list[dict[str, Any]] = []

    def add_slow(self, query: dict[str, Any]) -> None:
        if len(self.slow) < MAX_SLOW:
            self.slow.append(query)


# Background work has no request.
REQUEST: ContextVar[RequestNotes | None] = ContextVar("request", default=None)
