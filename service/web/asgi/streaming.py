"""An answer that is sent while it is read, piece by piece."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Streamed(Response):
    """Bytes as they come, until all are sent or the client has left.

    Starlette's own cancels what reads them when the client leaves, at each turn of the event loop anew. The driver must not
    be cancelled so (see `storage/client`); here the departure is noticed between two pieces.
    """

    def __init__(self, pieces: AsyncIterator[bytes], status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self.init_headers(headers)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        departure = asyncio.ensure_future(_departure(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in self._pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if departure.done():
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            departure.cancel()


async def _departure(receive: Receive) -> None:
    """Returns when the client has left; whatever else it still sends is not read."""
    while (await receive())["type"] != "http.disconnect":
        pass
