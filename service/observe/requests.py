"""The request that a task works for: its id, its slow queries and the rule that refused it, for its line in the log."""

from contextvars import ContextVar
from typing import Any

# A request's line in the log describes at most this many slow queries.
MAX_SLOW = 3


class RequestNotes:
    """The id of one request, descriptions of its slow queries, and the path of the first rule that refused it."""

    __slots__ = ("id", "refused_by", "slow")

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.slow: list[dict[str, Any]] = []
        self.refused_by: str | None = None

    def add_slow(self, query: dict[str, Any]) -> None:
        if len(self.slow) < MAX_SLOW:
            self.slow.append(query)


# Background work has no request.
REQUEST: ContextVar[RequestNotes | None] = ContextVar("request", default=None)


def note_refusal(rule: str) -> None:
    """A rule refuses the request, or an operation of it: `collections.posts.update`."""
    if (notes := REQUEST.get()) is not None:
        notes.refused_by = notes.refused_by or rule
