"""How many requests a worker answers at once. Pure ASGI."""

from starlette.types import ASGIApp, Receive, Scope, Send

from service.bounds import MAX_IN_FLIGHT
from service.errors import Busy

# How an overloaded process still tells that it lives, and why it is slow.
EXEMPT = frozenset({"/health/live", "/health/ready", "/metrics"})


class Concurrency:
    """Raises Busy at once for the request that is one too many; the middleware outside answers it."""

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
            await self.app(scope, receive, send)
        finally:
            self._in_flight -= 1
