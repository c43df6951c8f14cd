"""The client of a request: its address, for which only proxies that the operator named are believed, and its program."""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.requests import Request

from service.bounds import MAX_USER_AGENT
from service.domain.sessions.sessions import Client
from service.services import Services

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

UNKNOWN = "unknown"
# An honest chain is short; a longer one is not walked to its end.
MAX_HOPS = 32
# The owner of one address of a /64 has all of them (RFC 6177 section 2), so they count as one client.
CLIENT_PREFIX = 64
FORWARDED_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]+)\s*(?=;|$)', re.IGNORECASE)


def find_client_address(request: Request, trusted_proxies: Sequence[Network]) -> str:
    """The client of a request as limits count it, behind the proxies that the operator named."""
    peer, x_forwarded_for, forwarded = _read(request, trusted_proxies)
    return client_address(peer, trusted_proxies, x_forwarded_for=x_forwarded_for, forwarded=forwarded)


def find_exact_address(request: Request, trusted_proxies: Sequence[Network]) -> Address | None:
    """The address of a request's client; None where the server does not know it."""
    peer, x_forwarded_for, forwarded = _read(request, trusted_proxies)
    return _find(peer, trusted_proxies, x_forwarded_for, forwarded)


def _read(request: Request, trusted: Sequence[Network]) -> tuple[str | None, list[str], list[str]]:
    """The other end of the connection, and the lines of both headers of proxies."""
    peer, headers = request.scope.get("client"), request.scope["headers"] if trusted else ()
    x_forwarded_for = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
    forwarded = [value.decode("latin-1") for name, value in headers if name == b"forwarded"]
    return peer[0] if peer else None, x_forwarded_for, forwarded


def client_address(
    peer: str | None, trusted: Sequence[Network], *, x_forwarded_for: Sequence[str], forwarded: Sequence[str]
) -> str:
    """The client of a request as limits count it: an IPv4 address, or the /64 of an IPv6 one, or `unknown`.

    `peer` is the other end of the connection; the headers are given as their lines, in order. Only when `peer` is
    trusted are they read, from the right, up to the first address that is not trusted: everything further left is what
    a client may have written itself. If `Forwarded` (RFC 7239) and `X-Forwarded-For` disagree, one of them was not
    written by the proxy, and the proxy's own address counts.
    """
    found = _find(peer, trusted, x_forwarded_for, forwarded)
    return UNKNOWN if found is None else _counted(found)


def _find(
    peer: str | None, trusted: Sequence[Network], x_forwarded_for: Sequence[str], forwarded: Sequence[str]
) -> Address | None:
    nearest = _parse(peer or "")
    if nearest is None or not _is_trusted(nearest, trusted):
        return nearest
    chains = [
        [_parse(hop) for hop in _last_hops(x_forwarded_for)],
        [_parse(_for(hop)) for hop in _last_hops(forwarded)],
    ]
    walked = [_walk(chain, nearest, trusted) for chain in chains if chain]
    return walked[0] if len({_counted(each) for each in walked}) == 1 else nearest


def is_trusted(peer: str | None, trusted: Sequence[Network]) -> bool:
    """True if the other end of a connection is one of the operator's proxies."""
    address = _parse(peer or "") if trusted else None
    return address is not None and _is_trusted(address, trusted)


def _last_hops(lines: Sequence[str]) -> list[str]:
    """The hops that header lines name, nearest first."""
    return [hop.strip() for hop in ",".join(lines).split(",")[: -MAX_HOPS - 1 : -1]] if lines else []


def _walk(chain: Iterable[Address | None], nearest: Address, trusted: Sequence[Network]) -> Address:
    """The first untrusted hop, else the furthest; a hop that is no address ends what can be known."""
    for hop in chain:
        if hop is None:
            return nearest
        nearest = hop
        if not _is_trusted(hop, trusted):
            return hop
    return nearest


def _for(element: str) -> str:
    """The `for` of one element of a Forwarded header: `for="[2001:db8::1]:80";proto=https` → `[2001:db8::1]:80`."""
    found = FORWARDED_FOR.search(element)
    return found.group(1).strip('"') if found else ""


def _parse(text: str) -> Address | None:
    """`192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`, `::ffff:192.0.2.1` → the address."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def _is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def _counted(address: Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((address, CLIENT_PREFIX), strict=False))


def read_client(request: Request, services: Services) -> Client:
    return Client(find_client_address(request, services.web.trusted_proxies), _user_agent(request))


def _user_agent(request: Request) -> str:
    """The client's description, without characters that are no visible ASCII: it is shown to the user later."""
    sent = request.headers.get("user-agent", "")[:MAX_USER_AGENT]
    return "".join(letter for letter in sent if " " <= letter <= "~")
