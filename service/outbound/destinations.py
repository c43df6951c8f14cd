"""The addresses that a request to a project's own URL may go to. Pure.

A public address is allowed by `https`, at port 443 or one above 1,023. Networks that the deployment opens are allowed by
`http`, too, and at any port. A link-local address is never allowed: clouds keep the keys of their machines there.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import httpx2

from service.bounds import MAX_OUTBOUND_URL

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

HTTPS = 443
FIRST_OPEN_PORT, LAST_PORT = 1_024, 65_535
MAX_NAME = 253
NAME = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?")
# C libraries read a last label of this form as a number: 127.1 and 0x7f000001 are both 127.0.0.1.
NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
# Anycast relays of 6to4, which Python calls global.
RELAYS = IPv4Network("192.88.99.0/24")
UNICAST = IPv6Network("2000::/3")
# Teredo and other special uses, documentation, 6to4, documentation: Python 3.11 calls some of them global.
NO_UNICAST = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


class UrlRefused(Exception):
    """A URL that no request may go to. The message says what it must be."""


class AddressRefused(Exception):
    """A name that leads to an address that no request may go to."""


@dataclass(frozen=True, slots=True)
class PostTarget:
    """A URL in its parts. `host` is a name in ASCII, or an address without brackets."""

    url: httpx2.URL
    host: str
    port: int
    is_tls: bool


@dataclass(frozen=True, slots=True)
class Destinations:
    """The networks that the deployment opens besides public addresses."""

    private: tuple[Network, ...] = ()

    def check_all(self, addresses: Sequence[Address], port: int, *, is_tls: bool) -> None:
        """Raises AddressRefused unless all addresses of a name are allowed: the next connection may use any of them."""
        if not addresses or not all(self._allows(each, port, is_tls=is_tls) for each in addresses):
            raise AddressRefused

    def _allows(self, address: Address, port: int, *, is_tls: bool) -> bool:
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        if any(address in network for network in self.private):
            return True
        return is_tls and is_open_port(port) and is_public(address)


def read_url(text: str) -> PostTarget:
    """The parts of a URL whose form is allowed. Raises UrlRefused."""
    if len(text) > MAX_OUTBOUND_URL:
        raise UrlRefused(f"must have at most {MAX_OUTBOUND_URL} characters")
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise UrlRefused("must be a URL") from None
    if url.scheme not in ("http", "https"):
        raise UrlRefused("must begin with https://")
    if url.userinfo or "#" in text:
        raise UrlRefused("must have no user and no fragment")
    host, is_tls = url.raw_host.decode("ascii").lower(), url.scheme == "https"
    port = url.port if url.port is not None else HTTPS if is_tls else 80
    if not 0 < port <= LAST_PORT:
        raise UrlRefused("must have a port from 1 to 65535")
    if read_address(host) is None and not _is_name(host):
        raise UrlRefused("must have a name, four decimal numbers, or an IPv6 address in brackets as its host")
    return PostTarget(url, host, port, is_tls)


def _is_name(host: str) -> bool:
    last = host.rstrip(".").rpartition(".")[2]
    return len(host) <= MAX_NAME and NAME.fullmatch(host) is not None and NUMBER.fullmatch(last) is None


def read_address(text: str) -> Address | None:
    """The address; an IPv6 address that stands for an IPv4 one is that. None for a name and for an address with a zone."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    return None if address.scope_id else address.ipv4_mapped or address


def is_open_port(port: int) -> bool:
    return port == HTTPS or FIRST_OPEN_PORT <= port <= LAST_PORT


def is_public(address: Address) -> bool:
    """True for a unicast address that any host of the internet may have."""
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and address not in RELAYS
    return address in UNICAST and not any(address in network for network in NO_UNICAST)
