"""One client that subscribes to queries over one socket: its caller, its subscriptions, and its unread bytes."""

import asyncio
import time
from collections.abc import Iterable
from typing import Protocol

from service.bounds import MAX_SOCKET_BYTES, MAX_UNSENT_BYTES
from service.domain.access.caller import OperatorCaller, ProjectCaller, UserCaller
from service.domain.realtime.subscriptions import Subscription, SubscriptionState
from service.storage.change_feed import Namespace

# A client whose unsent bytes exceed MAX_UNSENT_BYTES must take as many again within this time.
SLOW_SECONDS = 30.0
# Seconds before a token's expiry at which its client is warned.
EXPIRY_SECONDS = 60.0
USERS = "users"
# Close codes: the credential expired or was revoked, the client read too slowly, the database is away, or an internal error.
UNAUTHENTIC, TOO_SLOW, UNAVAILABLE, FAILED = 4401, 4408, 1013, 1011


class SocketSink(Protocol):
    """A socket, as far as frames go: `written` bytes were handed to it, of which some wait to be sent."""

    @property
    def written(self) -> int: ...

    def waiting(self) -> int: ...

    async def room(self) -> None:
        """Returns when no more than MAX_UNSENT_BYTES wait."""

    def write(self, frame: bytes, cursor: str | None = None) -> None:
        """`cursor` is the one in the frame, for a sink that also sends it beside the frame."""

    def close(self, code: int, reason: str = "") -> None: ...


class Connection:
    """`credential` is the text that authenticated the caller; `expires_at`, in seconds since 1970, is None for keys."""

    def __init__(self, sink: SocketSink, caller: ProjectCaller, credential: str, expires_at: float | None) -> None:
        self.caller = caller
        self.credential = credential
        self.expires_at = expires_at
        self.subscriptions: dict[str, Subscription] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_open = True
        # Each subscription looks here when it has changes: a connection may have a hundred, a worker a million.
        self.is_paused = False
        # The client is warned of its token's expiry only after the greeting.
        self.was_warned = True
        # Counts changes that may affect the caller's rights.
        self.changes = 0
        # One snapshot at a time is read for a socket, so that no two of 4 MiB wait in it together.
        self.turn = asyncio.Lock()
        # The time since which the caller's rights cannot be read.
        self.unsure_since: float | None = None
        self._sink = sink
        # The moment since which the client is behind, and the bytes that it had taken then.
        self._behind: tuple[float, int] | None = None
        # The bytes that waited at the last look.
        self.unsent = 0
        # The bytes written when the last snapshot was: it may be larger than the bound of waiting bytes.
        self._snapshot_end = 0

    @property
    def database_name(self) -> str:
        return self.caller.project.database.database.name

    @property
    def user_id(self) -> str | None:
        return self.caller.user_id if isinstance(self.caller, UserCaller) else None

    @property
    def holder(self) -> str | None:
        """The user or the operator; None for keys, which are the project's own."""
        return self.caller.admin.operator_id if isinstance(self.caller, OperatorCaller) else self.user_id

    def has(self, subscription: Subscription) -> bool:
        """True if the subscription is still there; another one may have its id by now."""
        return self.subscriptions.get(subscription.id) is subscription

    def follows(self) -> list[Namespace]:
        """The collections every connection follows: its project's rules and definitions, and its user."""
        names = ("rules", "collections", *(("users",) if self.user_id else ()))
        return [(self.database_name, name) for name in names]

    def go_on(self) -> None:
        """The caller's rights have been read."""
        self.is_paused = False
        for each in list(self.subscriptions.values()):
            each.go_on()

    @property
    def follows_users(self) -> bool:
        return any(each.name == USERS for each in self.subscriptions.values())

    def write(self, frame: bytes, cursor: str | None = None) -> None:
        if not self.is_open:
            return
        # Smaller frames are written only where no more than MAX_UNSENT_BYTES wait, and a delivery is dear.
        if len(frame) > MAX_UNSENT_BYTES and self._sink.waiting() + len(frame) > MAX_SOCKET_BYTES:
            self.close(TOO_SLOW)
        else:
            self._sink.write(frame, cursor)

    def write_snapshot(self, frame: bytes, cursor: str) -> None:
        self.write(frame, cursor)
        self._snapshot_end = self._sink.written

    def is_behind(self) -> bool:
        is_far = self._sink.written - self._snapshot_end > MAX_UNSENT_BYTES
        return is_far and self._sink.waiting() > MAX_UNSENT_BYTES

    async def room(self) -> None:
        await self._sink.room()

    def kept(self) -> int:
        return sum([each.kept for each in self.subscriptions.values()])

    def where_bytes(self) -> int:
        return sum([each.where_bytes for each in self.subscriptions.values()])

    def slow(self) -> list[Subscription]:
        """The subscriptions that get a new snapshot when the client has read all."""
        return [each for each in self.subscriptions.values() if each.state is SubscriptionState.SLOW]

    def look_at_reader(self) -> list[Subscription]:
        """Closes the connection of a client that takes too little; returns the slow subscriptions of one that took all.

        The upkeep calls this several times a second.
        """
        waiting, slow = self._sink.waiting(), self.slow()
        self.unsent = waiting
        if waiting > MAX_UNSENT_BYTES or (slow and waiting):
            self._judge_reader(self._sink.written - waiting)
            return []
        self._behind = None
        return slow

    def _judge_reader(self, taken: int) -> None:
        now = time.monotonic()
        if self._behind is None or taken - self._behind[1] >= MAX_UNSENT_BYTES:
            self._behind = now, taken
        elif now - self._behind[0] > SLOW_SECONDS:
            self.close(TOO_SLOW)

    def close(self, code: int, reason: str = "") -> None:
        if self.is_open:
            self.is_open = False
            self._sink.close(code, reason)


def close_largest(connections: Iterable[Connection], most: int) -> None:
    """Closes the connections in which most bytes wait, until those of the others are `most` at most.

    A closed connection is cut off within seconds, so its bytes are not counted.
    """
    waiting = [each for each in connections if each.unsent and each.is_open]
    total = sum([each.unsent for each in waiting])
    if total <= most:
        return
    for connection in sorted(waiting, key=lambda each: each.unsent, reverse=True):
        connection.close(TOO_SLOW)
        total -= connection.unsent
        if total <= most:
            return


class Stale:
    """Connections that must be looked at again, and databases whose rules or definitions have changed."""

    def __init__(self) -> None:
        self._stale: dict[Connection, None] = {}
        self._changed: set[str] = set()
        self._has_stale = asyncio.Event()

    def note(self, connections: Iterable[Connection], *, changed: Iterable[str] = ()) -> None:
        """Marks connections as stale. Nothing is delivered to them until their rights were read."""
        self._changed.update(changed)
        for connection in connections:
            connection.changes += 1
            connection.is_paused = True
            self._stale[connection] = None
        if self._stale:
            self._has_stale.set()

    def has(self, connection: Connection) -> bool:
        return connection in self._stale

    def forget(self, connection: Connection) -> None:
        self._stale.pop(connection, None)

    async def take(self) -> tuple[list[Connection], set[str]]:
        """Waits until there are stale connections, and takes them."""
        await self._has_stale.wait()
        self._has_stale.clear()
        stale, changed = list(self._stale), self._changed
        self._stale, self._changed = {}, set()
        return stale, changed
