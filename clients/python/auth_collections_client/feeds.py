"""One live query: its window, its place in the stream, and the events that were not consumed yet."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal

from auth_collections_client.errors import (
    CredentialError,
    ForbiddenError,
    RateLimitError,
    RequestError,
    ServiceError,
)
from auth_collections_client.results import Change, Document, Snapshot, read_document
from auth_collections_client.window import Row, Window, order

State = Literal["connecting", "live", "stale", "closed"]
# Documents of a window where the query names no limit: that of a list.
LIMIT = 50
# Events that wait for their consumer; more are replaced by one snapshot.
WAITING = 1_000
# Bytes of the largest frame that is read.
FRAME_BYTES = 67_108_864
# Seconds for which the end of a socket waits for the service's goodbye.
CLOSE_SECONDS = 2.0
NO_WEBSOCKETS = "Live queries need the package websockets: pip install 'auth-collections-client[realtime]'."
# Codes of `closed` after which the same subscription may succeed.
PASSING = frozenset({"unavailable", "busy", "query_too_slow"})
# Seconds: reconnects wait from 0 to FIRST, twice as long each time, up to LONGEST; a silent socket is dropped.
FIRST_WAIT, LONGEST_WAIT, SILENCE = 0.5, 30.0, 60.0
# Close codes after which the same hello is refused again.
FINAL: dict[int, tuple[type[ServiceError], int, str, str]] = {
    4401: (CredentialError, 401, "invalid_token", "The credential is no longer good."),
    4403: (ForbiddenError, 403, "forbidden", "The service does not accept this client."),
    4429: (RateLimitError, 429, "rate_limit_exceeded", "Too many sockets, messages or requests of the day."),
}


class Lost(Exception):
    """The socket closed, with its code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code)
        self.code = code
        self.reason = reason


def closed_by(error: Any) -> Lost:
    """Returns the close of a socket that the library reports; 1006 where it was none."""
    received = error.rcvd
    return Lost(1006, "") if received is None else Lost(received.code, received.reason)


def refusal(frame: Mapping[str, Any]) -> ServiceError:
    """Returns the error of a `closed` or `error` frame, by its code."""
    code, detail = str(frame.get("code", "error")), frame.get("detail", "")
    message = detail if isinstance(detail, str) else "; ".join(str(each.get("msg", "")) for each in detail)
    return RequestError(message or code, code=code, body=dict(frame))


def final(lost: Lost) -> ServiceError | None:
    """Returns the error of a close after which a reconnect is useless, or None."""
    if lost.code not in FINAL:
        return None
    kind, status, code, message = FINAL[lost.code]
    return kind(lost.reason or message, status=status, code=code)


class Feed:
    """A subscription and its window; it knows no socket. `id` changes when the window is filled again."""

    def __init__(self, query: dict[str, Any], read: Callable[[Any], Any]) -> None:
        self.query = query
        self.id = ""
        self.cursor: str | None = None
        self.state: State = "connecting"
        self.problem: ServiceError | None = None
        self.failures = 0
        self.is_asked = False
        self.retry_at: float | None = None
        self._read = read
        self._window = Window(query.get("limit", LIMIT), order(query.get("sort_by"), query.get("sort_order")))
        self._events: deque[Snapshot[Any] | Change[Any]] = deque()

    @property
    def documents(self) -> list[Document[Any]]:
        return [read_document(row, self._read) for row in self._window.rows]

    @property
    def is_closed(self) -> bool:
        return self.state == "closed"

    @property
    def is_waiting(self) -> bool:
        """True where a frame must come before there is an event."""
        return not self._events and not self.is_closed

    def take(self) -> Snapshot[Any] | Change[Any] | None:
        """Returns the next event that waits, or None."""
        return self._events.popleft() if self._events else None

    def message(self) -> dict[str, Any]:
        """Returns the message that subscribes, behind what is known already; it is sent once for each socket."""
        self.is_asked, self.retry_at = True, None
        after = {} if self.cursor is None else {"after": self.cursor}
        return {"type": "subscribe", "id": self.id, **self.query, **after}

    def interrupt(self, retry_at: float | None = None) -> None:
        """Notes that nothing comes now, so the documents may be old; it is asked for again at `retry_at`, or soon."""
        self.state = "connecting" if self.cursor is None else "stale"
        self.is_asked, self.retry_at = False, retry_at

    def is_due(self, now: float) -> bool:
        return not self.is_asked and (self.retry_at is None or self.retry_at <= now)

    def forget(self) -> None:
        """Forgets everything: another user is signed in."""
        self._window.reset([], is_complete=True)
        self._events.clear()
        self.cursor = None

    def close(self, problem: ServiceError | None = None) -> None:
        self.state, self.problem = "closed", problem

    def accept(self, frame: Mapping[str, Any]) -> bool:
        """Reads a frame of this subscription. Returns True where the window must be filled again."""
        self.cursor = frame.get("cursor", self.cursor)
        if frame["type"] == "resync":
            self.state = "stale"
            return False
        self.state, self.failures = "live", 0
        if frame["type"] == "snapshot":
            self._show(frame["documents"], is_complete=frame.get("complete", False))
            return False
        is_short = self._window.apply(frame["changes"])
        self._events.extend(self._change(change) for change in frame["changes"])
        if len(self._events) > WAITING:
            self._events.clear()
            self._events.append(Snapshot(self.documents))
        return is_short

    def _show(self, rows: list[Row], *, is_complete: bool) -> None:
        self._window.reset(rows, is_complete=is_complete)
        self._events.clear()
        self._events.append(Snapshot(self.documents))

    def _change(self, change: Mapping[str, Any]) -> Change[Any]:
        row = change.get("document")
        document = None if row is None else read_document(row, self._read)
        return Change(change["op"], document, change["document_id"] if row is None else row["id"])
