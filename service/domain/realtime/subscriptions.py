"""One query that is followed over one connection: a snapshot as of a moment, and all that is later."""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

import orjson

from service.bounds import MAX_CHANGES_BYTES
from service.domain.realtime.binding import BoundSubscription, Parse
from service.domain.realtime.channels import TOO_LARGE, Channel
from service.domain.realtime.cursors import Sign
from service.errors import ServiceError
from service.observe.metrics import DELIVERIES

ACCESS, SLOW = "access", "slow"
# An error → its code and detail, as HTTP has them.
Render = Callable[[ServiceError], dict[str, object]]
BeginAgain = Callable[["Subscription", str], None]


class Line(Protocol):
    """The connection, as far as a subscription writes to it. It `is_paused` while its caller's rights are read again."""

    @property
    def is_paused(self) -> bool: ...

    def write(self, frame: bytes, cursor: str | None = None) -> None: ...

    def is_behind(self) -> bool:
        """True where too much waits for the client to read it."""

    def kept(self) -> int:
        """The bytes of changes that the subscriptions of the connection keep."""


class SubscriptionState(Enum):
    """QUEUED until the snapshot is read; LOADING until it is sent; PAUSED while the rights are read again; SLOW from when the

    client did not read until it has read all. Only LOADING and PAUSED keep the changes that come.
    """

    QUEUED = "queued"
    LOADING = "loading"
    LIVE = "live"
    PAUSED = "paused"
    SLOW = "slow"


class Subscription:
    """One subscription. `begin_again` is called with the reason after a gap. `render` renders a refusal.

    A worker has thousands, so each has slots.
    """

    __slots__ = (
        "_begin_again",
        "_head",
        "_line",
        "_since",
        "_waiting",
        "after",
        "bound",
        "channel",
        "id",
        "kept",
        "name",
        "parse",
        "render",
        "sign",
        "spoilt",
        "state",
        "task",
        "where_bytes",
    )

    def __init__(
        self,
        line: Line,
        id_: str,
        name: str,
        *,
        parse: Parse,
        render: Render,
        begin_again: BeginAgain,
        where_bytes: int = 0,
        after: str | None = None,
    ) -> None:
        self.id = id_
        # The bytes of its filter as JSON, which its memory grows with.
        self.where_bytes = where_bytes
        self.name = name
        self.parse = parse
        self.render = render
        self.state = SubscriptionState.QUEUED
        self.bound: BoundSubscription | None = None
        self.channel: Channel | None = None
        # The cursor that the client came with, until it was looked at.
        self.after = after
        self.sign: Sign = hex
        # The task that reads its snapshot.
        self.task: asyncio.Task[None] | None = None
        # The reason why the snapshot that is being read is useless.
        self.spoilt: str | None = None
        self._line = line
        self._begin_again = begin_again
        self._waiting: list[tuple[int, bytes]] = []
        # The bytes of the changes that wait.
        self.kept = 0
        # The moment of the snapshot.
        self._since = 0
        self._head = b'{"type":"changes","id":%s,"changes":[' % orjson.dumps(id_)

    def queue(self) -> None:
        """A snapshot will be read; changes before that are part of it."""
        self._drop_waiting(SubscriptionState.QUEUED)

    def load(self) -> None:
        """Changes from now on wait for the snapshot."""
        self._drop_waiting(SubscriptionState.LOADING)

    def _drop_waiting(self, state: SubscriptionState) -> None:
        self.state, self.spoilt = state, None
        self._waiting.clear()
        self.kept = 0

    @property
    def has_begun(self) -> bool:
        """True once a snapshot, or the missed changes, were sent."""
        return self._since > 0

    def begin(self, at: int) -> None:
        """The snapshot was sent, which is as of `at`."""
        self._since = at
        self._tell_waiting()

    def _pause(self) -> None:
        """Later changes wait until the caller's rights were read."""
        if self.state is SubscriptionState.LIVE and self._line.is_paused:
            self._drop_waiting(SubscriptionState.PAUSED)

    def go_on(self) -> None:
        """The rights have not changed."""
        if self.state is not SubscriptionState.PAUSED:
            return
        self.state = SubscriptionState.LIVE
        if self.spoilt is not None:
            self.resync(self.spoilt)
        else:
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        waiting, self._waiting, self.kept = self._waiting, [], 0
        self.state = SubscriptionState.LIVE
        DELIVERIES.inc(sum([self.deliver(each, changes) for each, changes in waiting]))

    def deliver(self, at: int, changes: bytes) -> bool:
        """Returns True if the changes were sent now."""
        self._pause()
        if self.state is SubscriptionState.LIVE:
            # The snapshot may be ahead of the feed.
            return at > self._since and self._send(at, changes)
        if self.state in KEEPING and self.spoilt is None:
            self._keep(at, changes)
        return False

    def _keep(self, at: int, changes: bytes) -> None:
        if self._line.kept() + len(changes) > MAX_CHANGES_BYTES:
            self._drop_waiting(self.state)
            self.spoilt = TOO_LARGE
        else:
            self.kept += len(changes)
            self._waiting.append((at, changes))

    def _send(self, at: int, changes: bytes) -> bool:
        if self._line.is_behind():
            self.state = SubscriptionState.SLOW
        elif len(changes) > MAX_CHANGES_BYTES:
            self.resync(TOO_LARGE)
        else:
            self.write(at, changes)
            return True
        return False

    def write(self, at: int, changes: bytes) -> None:
        cursor = self.sign(at)
        self._line.write(b'%s%s],"cursor":"%s"}' % (self._head, changes, cursor.encode()), cursor)

    def reached(self, position: int) -> int:
        """The moment up to which the client has everything, if all up to `position` was delivered."""
        return max(position, self._since)

    def resync(self, reason: str) -> None:
        self._pause()
        if self.state is SubscriptionState.LIVE:
            self._begin_again(self, reason)
        elif self.state in KEEPING:
            self.spoilt = reason


KEEPING = (SubscriptionState.LOADING, SubscriptionState.PAUSED)


def frame(type_: str, **parts: Any) -> bytes:
    return orjson.dumps({"type": type_, **parts})
