"""An answer that is sent while it is read, piece by piece."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.bounds import MAX_ADDRESS_STREAMS, MAX_STREAMS
from service.errors import Busy
from service.web.asgi.request_context import RequestDeadline


class Streams:
    """Counts the files that a worker sends, to each address and in all: each takes as long as its reader likes."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    @contextmanager
    def count(self, address: str) -> Iterator[None]:
        """One more to `address` while the context lasts. Raises Busy when there are too many."""
        counts = self._counts
        if counts.total() >= MAX_STREAMS or counts[address] >= MAX_ADDRESS_STREAMS:
            raise Busy
        counts[address] += 1
        try:
            yield
        finally:
            counts[address] -= 1
            if not counts[address]:
                del counts[address]


class Pieces(Protocol):
    """The pieces of a body: an async generator, or an object that holds resources until `aclose`."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Streamed(Response):
    """Bytes as they come, until all are sent or the client at `address` has left. No longer among the requests in
    flight.

    `pieces` are closed in every case.

    Starlette's own response cancels the reader of the pieces when the client leaves, again at each turn of the event
    loop. The driver must not be cancelled so (see `storage/client`); here the departure is noticed between two pieces.
    """

    def __init__(self, pieces: Pieces, status: int, headers: Mapping[str, str], *, address: str) -> None:
        self.status_code = status
        self.background = None
        self.init_headers(headers)
        self._pieces = pieces
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        streams: Streams = scope["app"].streams
        try:
            with streams.count(self._address):
                deadline: RequestDeadline = scope["state"]["deadline"]
                deadline.leave()
                await self._send(receive, send)
        finally:
            await self._pieces.aclose()

    async def _send(self, receive: Receive, send: Send) -> None:
        departure = asyncio.ensure_future(wait_for_departure(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in self._pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if departure.done():
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            departure.cancel()


async def wait_for_departure(receive: Receive) -> None:
    """Returns when the client has left; whatever else it still sends is not read."""
    while (await receive())["type"] != "http.disconnect":
        pass
