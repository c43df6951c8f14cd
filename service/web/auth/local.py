"""Recognises requests from this machine that no page of another site sent."""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from service.web.auth.client_address import Network, find_client_address, is_trusted

# Headers that a proxy adds; one by an unnamed proxy is not believed, but not overlooked either.
OF_PROXIES = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def is_from_here(request: Request, trusted_proxies: Sequence[Network]) -> bool:
    """True if the client is on this machine, and names this machine as the host: a page may have its own name point
    here.
    """
    peer = request.scope.get("client")
    if any(name in request.headers for name in OF_PROXIES) and not is_trusted(peer and peer[0], trusted_proxies):
        return False
    hosts = request.headers.getlist("host")
    return len(hosts) == 1 and _is_here(find_client_address(request, trusted_proxies)) and _is_here(_name(hosts[0]))


def is_from_its_own_page(request: Request) -> bool:
    """Not from a script of another origin, whatever origins projects list: those are not asked here."""
    return "origin" not in request.headers and request.headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_here(host: str) -> bool:
    """`host` is a name, an address, or the network by which IPv6 clients are counted."""
    if host in {"localhost", "::/64"}:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
