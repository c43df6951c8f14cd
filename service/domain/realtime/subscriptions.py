"""One query that is followed over one connection: a snapshot as of a moment, and all that is later."""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

import orjson

from service.bounds import MAX_CHANGES_BYTES
from service.domain.realtime.binding import Bound, Parse
from service.domain.realtime.channels import TOO_LARGE, Channel
from service.domain.realtime.cursors import Sign
from service.errors import ServiceError
from service.observe.metrics import DELIVERIES

ACCESS, SLOW = "access", "slow"
# An error → its code and detail, as HTTP has them.
Render = Callable[[ServiceError], dict[str, object]]
BeginAgain = Callable[["Subscription", str], None]


class Line(Protocol):
    """The connection, as far as a subscription writes to it."""

    def write(self, frame: bytes, cursor: str | None = None) -> None: ...

    def is_behind(self) -> bool:
        """Whether too much waits for the client to read it."""


class State(Enum):
    """LOADING until the snapshot is sent; PAUSED while it is looked again who may read; SLOW from when its client did not

    read until it has read all.
    """

    LOADING = "loading"
    LIVE = "live"
    PAUSED = "paused"
    SLOW = "slow"


class Subscription:
    """`begin_again` is called with the reason where what was told is not all. `render` says how a refusal is told.

    A worker has thousands, so each has slots.
    """

    __slots__ = (
        "_begin_again",
        "_head",
        "_line",
        "_since",
        "_size",
        "_waiting",
        "after",
        "bound",
        "channel",
        "id",
        "name",
        "parse",
        "render",
        "sign",
        "spoilt",
        "state",
        "task",
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
        after: str | None = None,
    ) -> None:
        self.id = id_
        self.name = name
        self.parse = parse
        self.render = render
        self.state = State.LOADING
        self.bound: Bound | None = None
        self.channel: Channel | None = None
        # The cursor that the client came with, until it was looked at.
        self.after = after
        self.sign: Sign = hex
        # What reads its beginning.
        self.task: asyncio.Task[None] | None = None
        # Why the snapshot that is being read is of no use.
        self.spoilt: str | None = None
        self._line = line
        self._begin_again = begin_again
        self._waiting: list[tuple[int, bytes]] = []
        self._size = 0
        # The moment of the snapshot.
        self._since = 0
        self._head = b'{"type":"changes","id":%s,"changes":[' % orjson.dumps(id_)

    def load(self) -> None:
        """What comes from now on waits for the snapshot."""
        self.state, self.spoilt = State.LOADING, None
        self._waiting.clear()
        self._size = 0

    def begin(self, at: int) -> None:
        """The snapshot was sent, which is as of `at`."""
        self._since = at
        self._tell_waiting()

    def pause(self) -> None:
        """What comes from now on waits until it is known by what rights it is told."""
        if self.state is State.LIVE:
            self.load()
            self.state = State.PAUSED

    def go_on(self) -> None:
        """The rights are what they were."""
        if self.state is not State.PAUSED:
            return
        self.state = State.LIVE
        if self.spoilt is not None:
            self.resync(self.spoilt)
        else:
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        self.state = State.LIVE
        DELIVERIES.inc(sum([self.deliver(each, changes) for each, changes in waiting]))

    def deliver(self, at: int, changes: bytes) -> bool:
        """Whether they were sent, now."""
        if self.state is State.LIVE:
            # The snapshot may be ahead of what MongoDB has told so far.
            return at > self._since and self._send(at, changes)
        if self.state is not State.SLOW:
            self._keep(at, changes)
        return False

    def _keep(self, at: int, changes: bytes) -> None:
        self._size += len(changes)
        if self._size > MAX_CHANGES_BYTES:
            self.spoilt = TOO_LARGE
            self._waiting.clear()
        else:
            self._waiting.append((at, changes))

    def _send(self, at: int, changes: bytes) -> bool:
        if self._line.is_behind():
            self.state = State.SLOW
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
        """The moment up to which the client has everything, where all was told up to `position`."""
        return max(position, self._since)

    def resync(self, reason: str) -> None:
        if self.state is State.LIVE:
            self._begin_again(self, reason)
        elif self.state is not State.SLOW:
            self.spoilt = reason


def frame(type_: str, **parts: Any) -> bytes:
    return orjson.dumps({"type": type_, **parts})
