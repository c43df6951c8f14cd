"""Posts of the service to URLs that a project names: checked at each connection, bounded in time and size.

Redirects are not followed, proxies of the environment are not read, and certificates are always verified.
"""

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpcore2
import httpx2

from service.bounds import MAX_OUTBOUND_ANSWER, MAX_OUTBOUND_SHOWN
from service.outbound.connections import CheckedBackend, Members
from service.outbound.destinations import AddressRefused, Destinations, PostTarget, UrlRefused, read_url
from service.outbound.names import NameNotFound, Names

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 60.0
MAX_IDLE = 256
HEADERS = (
    (b"accept", b"*/*"),
    # A compressed answer may unpack to far more than was read, so no encoding is offered.
    (b"accept-encoding", b"identity"),
    (b"content-type", b"application/json"),
    (b"user-agent", b"auth-collections"),
)
REDIRECTS = range(300, 400)

PostError = Literal["dns", "address_refused", "connect", "tls", "timeout", "closed", "bad_response", "redirect"]


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """The outcome of a post: the status, None without an answer, the first 1 KiB of the body, and the time it took."""

    status: int | None
    error: PostError | None
    ms: int
    text: str = ""
    retry_after: str | None = None

    @property
    def is_success(self) -> bool:
        return self.error is None and self.status is not None and 200 <= self.status < 300


class Poster:
    """The kept connections of a worker. `ca_file` has certificates to trust besides those of the system."""

    def __init__(
        self,
        destinations: Destinations,
        closed: Members = tuple,
        *,
        names: Names | None = None,
        ca_file: Path | None = None,
    ) -> None:
        self._names = names or Names()
        self._backends = {
            is_tls: CheckedBackend(self._names, destinations, closed, is_tls=is_tls) for is_tls in (True, False)
        }
        self._ca_file = ca_file
        self._pools: dict[bool, httpcore2.AsyncConnectionPool] = {}
        self._making = asyncio.Lock()

    async def check(self, url: str) -> None:
        """Raises UrlRefused for a URL of a refused form or address. A name without an address may get one later."""
        target = read_url(url)
        try:
            await self._backends[target.is_tls].check(await self._names.resolve(target.host), target.port)
        except AddressRefused:
            raise UrlRefused("must lead to a public address by https, at port 443 or one above 1023") from None
        except NameNotFound:
            return

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, *, seconds: float) -> PostAnswer:
        """The answer within `seconds`, which never raises. An answer that is not complete by then is a `timeout`."""
        began, seen = time.monotonic(), _Seen()
        error: PostError | None = None
        try:
            async with asyncio.timeout(seconds):
                await self._send(read_url(url), headers, body, seen)
        except TimeoutError:
            error = "timeout"
        except FAILURES as found:
            error = _name_error(found)
        if error is None and seen.status in REDIRECTS:
            error = "redirect"
        text = bytes(seen.body[:MAX_OUTBOUND_SHOWN]).decode("utf-8", "replace").replace("\0", "\ufffd")
        ms = int((time.monotonic() - began) * 1000)
        return PostAnswer(seen.status, error, ms, text, seen.retry_after)

    async def _send(self, target: PostTarget, headers: Mapping[str, str], body: bytes, seen: "_Seen") -> None:
        pool = await self._pool(is_tls=target.is_tls)
        url = httpcore2.URL(scheme=target.url.scheme, host=target.host, port=target.port, target=target.url.raw_path)
        sent = [
            (b"host", target.url.netloc),
            *HEADERS,
            (b"content-length", b"%d" % len(body)),
            *((name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()),
        ]
        timeouts = {"connect": CONNECT_SECONDS}
        async with pool.stream("POST", url, headers=sent, content=body, extensions={"timeout": timeouts}) as response:
            seen.status = response.status
            seen.retry_after = _find(response.headers, b"retry-after")
            async for chunk in response.aiter_stream():
                seen.body += chunk
                if len(seen.body) >= MAX_OUTBOUND_ANSWER:
                    return

    async def _pool(self, *, is_tls: bool) -> httpcore2.AsyncConnectionPool:
        """Made on first use, its TLS context in a thread: to load that takes a tenth of a second."""
        async with self._making:
            if is_tls not in self._pools:
                context = await asyncio.to_thread(self._make_context) if is_tls else None
                self._pools[is_tls] = httpcore2.AsyncConnectionPool(
                    context,
                    max_connections=None,
                    max_keepalive_connections=MAX_IDLE,
                    keepalive_expiry=IDLE_SECONDS,
                    network_backend=self._backends[is_tls],
                )
        return self._pools[is_tls]

    def _make_context(self) -> ssl.SSLContext:
        context = httpx2.create_ssl_context(trust_env=False)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._ca_file is not None:
            context.load_verify_locations(self._ca_file)
        return context

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
        self._names.close()


@dataclass(slots=True)
class _Seen:
    """The part of an answer that was read, which outlives the request that fails."""

    status: int | None = None
    retry_after: str | None = None
    body: bytearray = field(default_factory=bytearray)


FAILURES = (
    *(NameNotFound, AddressRefused, UrlRefused, httpcore2.TimeoutException, httpcore2.NetworkError),
    *(httpcore2.ProtocolError, OSError),
)


def _name_error(error: BaseException) -> PostError:
    for kind, name in NAMES_OF_ERRORS:
        if isinstance(error, kind):
            return "tls" if name == "connect" and _is_of_tls(error) else name
    # The library has no error of its own for an end before the answer, or within it.
    return "closed" if any(words in str(error) for words in ENDS) else "bad_response"


ENDS = ("disconnected", "peer closed")
NAMES_OF_ERRORS: tuple[tuple[type[Exception], PostError], ...] = (
    (NameNotFound, "dns"),
    (AddressRefused, "address_refused"),
    (UrlRefused, "address_refused"),
    (httpcore2.TimeoutException, "timeout"),
    (httpcore2.ConnectError, "connect"),
    (httpcore2.NetworkError, "closed"),
    (ssl.SSLError, "tls"),
    (OSError, "closed"),
)


def _is_of_tls(error: BaseException) -> bool:
    """The library's error of a connection has the cause: TLS's own error, or an end within its handshake."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _find(headers: list[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)
