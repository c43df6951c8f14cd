# Written by clients/python/unasync from _async: change that.
"""The socket that all live queries of a client share. It is read while one of them is consumed."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from auth_collections_client._sync import seam
from auth_collections_client._sync.transport import Transport
from auth_collections_client.errors import ServiceError, TransportError, UnavailableError
from auth_collections_client.feeds import FIRST_WAIT, LONGEST_WAIT, PASSING, SILENCE, Feed, Lost, final, refusal
from auth_collections_client.retries import draw
from auth_collections_client.sessions import Event, Session
from auth_collections_client.wire import USER_AGENT

# A hello that is refused so often is refused for good; the first refusal refreshes the session.
REFUSALS = 3


class Line:
    """One socket. A consumer that waits holds `_pumping` and reads for all. Without a consumer nothing is read."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._pumping = seam.Lock()
        self._feeds: dict[str, Feed] = {}
        self.socket: Any = None
        self.session: Session | None = None
        self._failures = 0
        self._refusals = 0
        self._count = 0
        self._wake = seam.Event()
        transport.keeper.on_change(self._hear)

    def add(self, feed: Feed) -> None:
        self._wake.clear()
        self._name(feed)

    def _name(self, feed: Feed) -> None:
        self._count += 1
        feed.id = str(self._count)
        self._feeds[feed.id] = feed

    def remove(self, feed: Feed) -> None:
        """Ends a feed; the last one closes the socket."""
        feed.close(feed.problem)
        if self._feeds.pop(feed.id, None) is None:
            return
        if not self._feeds:
            self.close()
        elif self.socket is not None and feed.is_asked:
            self._try([{"type": "unsubscribe", "id": feed.id}])

    def close(self) -> None:
        """Closes the socket; feeds end without a problem."""
        for feed in self._feeds.values():
            feed.close()
        self._feeds.clear()
        self._wake.set()
        socket, self.socket = self.socket, None
        if socket is not None:
            seam.close(socket)

    def next(self, feed: Feed) -> Any:
        """Returns the feed's next event, or None at its end."""
        while True:
            if (event := feed.take()) is not None:
                return event
            if feed.is_closed:
                return None
            # Another consumer may be waiting for a frame: the subscription does not wait with it.
            self._try(self._due())
            with self._pumping:
                if feed.is_waiting:
                    self._pump()

    def _pump(self) -> None:
        """Reads one frame, after a connection was made where there is none."""
        try:
            if self.socket is None:
                self._open()
            if self.socket is None:
                return
            for message in self._due():
                self._say(message)
            frame = json.loads(seam.receive(self.socket, self._patience()))
            self._read(frame)
        except TimeoutError:
            if not any(feed.retry_at for feed in self._feeds.values()):
                self._lose(Lost(1006, ""))
        except (ValueError, TransportError, UnavailableError):
            self._lose(Lost(1006, ""))
        except Lost as lost:
            self._lose(lost)

    def _patience(self) -> float:
        """Returns the seconds for which the socket may be silent, or until a refused subscription is tried again."""
        due = [feed.retry_at for feed in self._feeds.values() if feed.retry_at is not None]
        return max(0.0, min([SILENCE, *(at - time.monotonic() for at in due)]))

    def _open(self) -> None:
        keeper, settings = self._transport.keeper, self._transport.settings
        self.session = keeper.fresh(self._transport.refresh)
        address = settings.url.rstrip("/").replace("http", "ws", 1) + "/realtime"
        socket = seam.connect(address, USER_AGENT)
        credential = {"token": self.session["access_token"]} if self.session else {"key": settings.key}
        try:
            seam.say(socket, json.dumps({"type": "hello", **credential}))
        except BaseException:
            seam.cut(socket)
            raise
        if self._feeds:
            self.socket = socket
        else:
            # All queries were closed meanwhile.
            seam.close(socket)

    def _due(self) -> Iterator[dict[str, Any]]:
        """Yields the messages of subscriptions that this socket does not know yet."""
        now = time.monotonic()
        for feed in list(self._feeds.values()) if self.socket is not None else ():
            if feed.is_due(now):
                yield feed.message()

    def _read(self, frame: dict[str, Any]) -> None:
        kind, feed = frame.get("type"), self._feeds.get(str(frame.get("id")))
        if kind == "ready":
            self._failures = self._refusals = 0
        elif kind == "tick":
            for name, cursor in frame.get("cursors", {}).items():
                if name in self._feeds:
                    self._feeds[name].cursor = cursor
        elif kind == "token_expiring":
            self._extend()
        elif feed is not None:
            self._feed(feed, frame)

    def _feed(self, feed: Feed, frame: dict[str, Any]) -> None:
        if frame["type"] in {"closed", "error"}:
            self._refuse(feed, frame)
        elif frame["type"] in {"snapshot", "changes", "resync"} and feed.accept(frame):
            self._refill(feed)

    def _refill(self, feed: Feed) -> None:
        """Subscribes again under a new id: the old id's `closed` must not end the new subscription."""
        old = feed.id
        del self._feeds[old]
        feed.cursor = None
        self._name(feed)
        self._say({"type": "unsubscribe", "id": old})
        self._say(feed.message())

    def _refuse(self, feed: Feed, frame: dict[str, Any]) -> None:
        if frame.get("code") in PASSING:
            feed.interrupt(time.monotonic() + self._wait(feed.failures))
            feed.failures += 1
            return
        del self._feeds[feed.id]
        feed.close(refusal(frame))

    def _extend(self) -> None:
        """Sends a newer token of the same user."""
        if self.session is None:
            return
        successor = self._renewed()
        if successor is not None:
            self.session = successor
            self._say({"type": "token", "token": successor["access_token"]})

    def _renewed(self) -> Session | None:
        try:
            return self.session and self._transport.keeper.renew(self.session, self._transport.refresh)
        except ServiceError:
            return None

    def _lose(self, lost: Lost) -> None:
        """Waits before the next connection, or ends all feeds where it would be refused again."""
        socket, self.socket = self.socket, None
        if socket is not None:
            seam.cut(socket)
        for feed in self._feeds.values():
            feed.interrupt()
        self._refusals += lost.code == 4401
        problem = final(lost)
        if problem is not None and (lost.code != 4401 or self._refusals >= REFUSALS):
            self._end(problem)
            return
        if lost.code == 4401:
            self._renewed()
        seconds = _asked(lost) or self._wait(self._failures)
        self._failures += 1
        if seam.rest(self._wake, seconds):
            self._wake.clear()

    def _end(self, problem: ServiceError) -> None:
        for feed in self._feeds.values():
            feed.close(problem)
        self._feeds.clear()

    def _hear(self, _: Event, session: Session | None) -> None:
        """Begins again as the user who is signed in now."""
        before, now = self.session and self.session["user_id"], session and session["user_id"]
        if self.socket is None or before == now:
            return
        for feed in self._feeds.values():
            feed.forget()
        seam.cut(self.socket)

    def _say(self, message: dict[str, Any]) -> None:
        socket = self.socket
        if socket is None:
            raise Lost(1006, "")
        seam.say(socket, json.dumps(message))

    def _try(self, messages: Iterable[dict[str, Any]]) -> None:
        """Sends messages if the socket still lives; else the next reader finds out."""
        with suppress(Lost):
            for message in messages:
                self._say(message)

    @staticmethod
    def _wait(failures: int) -> float:
        return draw() * min(LONGEST_WAIT, FIRST_WAIT * 2.0**failures)


def _asked(lost: Lost) -> float:
    """Returns the seconds for which a service that restarts asks, or 0."""
    try:
        found = json.loads(lost.reason or "{}").get("retry_after", 0)
    except (ValueError, AttributeError):
        return 0.0
    seconds = float(found) if lost.code == 1012 and isinstance(found, int | float) else 0.0
    return seconds + draw() if seconds else 0.0
