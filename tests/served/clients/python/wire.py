"""An HTTP transport for both colours that loses answers, invents them, and remembers requests."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2

Fault = Callable[[httpx2.Request], httpx2.Response] | str


class Wire(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Sends to the service. `faults` are taken in order: "lost" drops an answer, "ok" does nothing, a function answers."""

    def __init__(self, *faults: Fault, losing: Callable[[httpx2.Request], bool] | None = None) -> None:
        self.faults = list(faults)
        self.losing = losing or (lambda _: False)
        self.requests: list[httpx2.Request] = []
        self._lock = threading.Lock()
        self._sync = httpx2.HTTPTransport()
        self._async = httpx2.AsyncHTTPTransport()

    def _next(self, request: httpx2.Request) -> Fault:
        with self._lock:
            self.requests.append(request)
            return self.faults.pop(0) if self.faults else "lost" if self.losing(request) else "ok"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self._next(request)
        if not isinstance(fault, str):
            return fault(request)
        response = self._sync.handle_request(request)
        if fault == "lost":
            response.read()
            response.close()
            raise httpx2.ReadError("lost", request=request)
        return response

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self._next(request)
        if not isinstance(fault, str):
            return fault(request)
        response = await self._async.handle_async_request(request)
        if fault == "lost":
            await response.aread()
            await response.aclose()
            raise httpx2.ReadError("lost", request=request)
        return response

    def close(self) -> None:
        self._sync.close()

    async def aclose(self) -> None:
        await self._async.aclose()


class Chunks(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body of many equal chunks, of which it counts those that were read."""

    def __init__(self, chunk: bytes, count: int) -> None:
        self.chunk, self.count, self.read = chunk, count, 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(self.count):
            self.read += 1
            yield self.chunk

    async def __aiter__(self) -> Any:
        for each in self:
            yield each


def answer(status: int, content: bytes = b"", kind: str = "application/json", **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()} | {"content-type": kind}
    return lambda request: httpx2.Response(status, headers=named, content=content, request=request)


def streamed(status: int, body: Chunks, kind: str = "application/json") -> Fault:
    return lambda request: httpx2.Response(status, headers={"content-type": kind}, stream=body, request=request)
