"""The connection step of a request to a project's own URL: it resolves a name once, checks, and connects to what it checked.

So an answer of DNS that changes has no second look-up to win. The host of the certificate and of the request stays the name.
"""

import ssl
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore2

from service.outbound.destinations import Address, AddressRefused, Destinations
from service.outbound.names import NameNotFound, Names

# The addresses of a name that are tried before the connection fails.
TRIED_ADDRESSES = 3

Members = Callable[[], Iterable[tuple[str, int | None]]]


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects by TCP. `closed` returns names and ports that no request may reach, which are MongoDB's own."""

    def __init__(self, names: Names, destinations: Destinations, closed: Members, *, is_tls: bool) -> None:
        self._names = names
        self._destinations = destinations
        self._closed = closed
        self._is_tls = is_tls
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own parameter
        local_address: str | None = None,  # noqa: ARG002 - the pool names none
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises NameNotFound, AddressRefused, and the library's errors of a connection."""
        addresses = await self._names.resolve(host)
        await self.check(addresses, port)
        return _Connected(await self._connect(addresses[:TRIED_ADDRESSES], port, timeout, socket_options))

    async def _connect(
        self, addresses: Sequence[Address], port: int, seconds: float | None, options: Iterable[Any] | None
    ) -> httpcore2.AsyncNetworkStream:
        *others, last = map(str, addresses)
        for address in others:
            try:
                return await self._plain.connect_tcp(address, port, seconds, None, options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._plain.connect_tcp(last, port, seconds, None, options)

    async def check(self, addresses: Sequence[Address], port: int) -> None:
        """Raises AddressRefused."""
        self._destinations.check_all(addresses, port, is_tls=self._is_tls)
        for host in {host for host, closed in self._closed() if closed == port}:
            try:
                members = await self._names.resolve(host)
            except NameNotFound:
                continue
            if any(_is_same(address, member) for address in addresses for member in members):
                raise AddressRefused

    async def sleep(self, seconds: float) -> None:
        await self._plain.sleep(seconds)


class _Connected(httpcore2.AsyncNetworkStream):
    """A connection that is closed if its TLS handshake is cancelled; the library's own stays open then."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own parameter
    ) -> httpcore2.AsyncNetworkStream:
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            await self._stream.aclose()
            raise

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as above
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _is_same(address: Address, member: Address) -> bool:
    """Any address of the loopback may reach what listens on all addresses."""
    return address == member or (address.is_loopback and member.is_loopback)
