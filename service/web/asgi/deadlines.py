"""How many requests a worker answers at once, and how long each may take: its client to send it, the service to answer."""

import asyncio
import math
import time
from dataclasses import dataclass
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.bounds import MAX_IN_FLIGHT
from service.errors import Busy, Unavailable

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

    def allow_body(self, received: int) -> float:
        """How many seconds a client may take for a body of which `received` bytes have come."""
        return self.body + received / self.least_rate


class RequestDeadline:
    """The time of one request. `deadline` is that of what it waits for now: its client, while `is_reading`, or us."""

    __slots__ = (
        "_in_flight",
        "_limits",
        "cancelled",
        "deadline",
        "is_complete",
        "is_reading",
        "received",
        "seconds",
        "task",
        "waited",
    )

    def __init__(self, task: asyncio.Task[object], limits: Deadlines, in_flight: "set[RequestDeadline]") -> None:
        self.task = task
        self._limits = limits
        self._in_flight = in_flight
        in_flight.add(self)
        self.seconds = limits.answer
        self.deadline = time.monotonic() + limits.answer
        self.waited = 0.0
        self.received = 0
        self.cancelled = 0
        self.is_reading = self.is_complete = False

    def received_by(self, receive: Receive) -> Receive:
        """`receive`, with the client's time counted. After the body, or an answer, waiting for it to leave is free."""

        async def timed() -> Message:
            if self.is_complete:
                return await receive()
            started = time.monotonic()
            self.is_reading, self.deadline = True, started + self._limits.allow_body(self.received) - self.waited
            message = await receive()
            if not self.is_complete:
                self._take(message, started)
            return message

        return timed

    def _take(self, message: Message, started: float) -> None:
        now = time.monotonic()
        self.is_reading, self.deadline = False, now + self.seconds
        self.waited += now - started
        self.received += len(message.get("body", b""))
        self.is_complete = not message.get("more_body", False)

    def answered_by(self, send: Send) -> Send:
        """`send`, after which the request is no longer late: how long an answer may take is the connection's matter."""

        async def timed(message: Message) -> None:
            self.is_complete, self.deadline = True, math.inf
            await send(message)

        return timed

    def leave(self) -> None:
        """The request is no longer among those in flight: it has ended, or what is left of it is counted elsewhere."""
        self._in_flight.discard(self)

    def cancel_if_late(self, now: float) -> None:
        """Ends the request where its time is over, and again what it does about that, so that its answer comes."""
        if now > self.deadline:
            self.deadline = now + self._limits.clean_up
            self.cancelled += 1
            self.task.cancel()

    def outcome(self) -> Exception:
        """What the client of a cancelled request is told, and asyncio, that this was not the end of the task."""
        for _ in range(self.cancelled):
            self.task.uncancel()
        if not self.cancelled:
            # Only a server whose time to stop is over cancels a request.
            return Unavailable("The service is stopping; try again")
        if self.is_reading:
            # RFC 9110 section 15.5.9: the connection is of no further use.
            return HTTPException(408, "The request body came too slowly", {"connection": "close"})
        return Unavailable()


class DeadlineWatch:
    """Refuses the request that is one too many, and ends what takes too long: 408 where the client is slow, else 503.

    One timer looks at all requests, for one of each request's own would cost more than all else here. Raises Busy,
    Unavailable and HTTPException 408 for the middleware outside to answer.
    """

    def __init__(self, app: ASGIApp, limits: Deadlines) -> None:
        self.app = app
        self._limits = limits
        self._deadlines: set[RequestDeadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in EXEMPT:
            await self.app(scope, receive, send)
            return
        if len(self._deadlines) >= MAX_IN_FLIGHT:
            raise Busy
        deadline = self._begin(scope)
        try:
            await self.app(scope, deadline.received_by(receive), deadline.answered_by(send))
        except asyncio.CancelledError as cancelled:
            raise deadline.outcome() from cancelled
        finally:
            deadline.leave()

    def _begin(self, scope: Scope) -> RequestDeadline:
        task = cast("asyncio.Task[object]", asyncio.current_task())
        deadline = scope["state"]["deadline"] = RequestDeadline(task, self._limits, self._deadlines)
        if self._timer is None:
            self._cancel_late()
        return deadline

    def _cancel_late(self) -> None:
        now = time.monotonic()
        for deadline in self._deadlines:
            deadline.cancel_if_late(now)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._limits.look, self._cancel_late) if self._deadlines else None


def extend_deadline(request: Request, seconds: float) -> None:
    """Gives a request more time than others have, from now on."""
    deadline: RequestDeadline = request.scope["state"]["deadline"]
    deadline.seconds, deadline.deadline = seconds, time.monotonic() + seconds
