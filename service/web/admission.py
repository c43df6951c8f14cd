"""What a request may take of the service: a place among those in flight, and time for its body. Pure ASGI."""

import asyncio
import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import Busy, Unavailable

# More at once than this only wait for one another, and each holds memory.
MAX_IN_FLIGHT = 256
# How an overloaded process still tells that it lives, and why it is slow.
EXEMPT = frozenset({"/health/live", "/health/ready", "/metrics"})
# A body may make the service wait this long, and as much longer as what has come would take at the slowest rate.
BODY_SECONDS = 10.0
MIN_BYTES_PER_SECOND = 16_384


class Admission:
    """Refuses at once what is too much; refuses a body that comes too slowly; answers 503 where a stop cuts it short.

    The time counted for a body is the time spent waiting for the client, not what the service needs to store it. Raises
    Busy, Unavailable and HTTPException 408 for the middleware outside to answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in EXEMPT:
            await self.app(scope, receive, send)
            return
        if self._in_flight >= MAX_IN_FLIGHT:
            raise Busy
        self._in_flight += 1
        try:
            await self.app(scope, _timed(receive), send)
        except asyncio.CancelledError:
            # Only a server whose time to stop is over cancels a request.
            raise Unavailable("The service is stopping; try again") from None
        finally:
            self._in_flight -= 1


def _timed(receive: Receive) -> Receive:
    """`receive`, but a client that takes too long is answered 408. After the body, waiting is free."""
    waited, received, complete = 0.0, 0, False

    async def timed() -> Message:
        nonlocal waited, received, complete
        if complete:
            return await receive()
        started = time.monotonic()
        try:
            async with asyncio.timeout(allowance(received) - waited):
                message = await receive()
        except TimeoutError:
            # RFC 9110 section 15.5.9: the connection is of no further use.
            raise HTTPException(408, "The request body came too slowly", {"connection": "close"}) from None
        waited += time.monotonic() - started
        received += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        return message

    return timed


def allowance(received: int) -> float:
    """How many seconds a client may take for a body of which `received` bytes have come."""
    return BODY_SECONDS + received / MIN_BYTES_PER_SECOND
