"""The SMTP server of mails: the parts of an SMTP_URL, and the sender in MAIL_FROM."""

import re
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.utils import parseaddr
from ipaddress import ip_address
from urllib.parse import parse_qs, unquote, urlsplit

from service.schema.values import CONTROL

PORTS = {"smtp": 587, "smtps": 465}
HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9a-fA-F:.]{2,45}")
MAX_SENDER = 320
LOCAL_PART = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}")


@dataclass(frozen=True, slots=True)
class MailServer:
    """An SMTP server. With `needs_tls` nothing is sent to it in clear, and its certificate must be valid."""

    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    is_tls: bool = False
    needs_tls: bool = True

    @property
    def name(self) -> str:
        """The key of the mails that wait together while the server is away."""
        return f"{self.host}:{self.port}"


def read_server(url: str) -> MailServer:
    """`smtp://user:password@host:port?tls=required`, or `smtps://...`. Raises ValueError, which repeats no password.

    A server on this machine may be spoken to in clear (RFC 8314 section 4.1 asks for TLS everywhere else).
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        raise ValueError("must be smtp://user:password@host:port or smtps://...") from None
    if CONTROL.search(url) or parts.scheme not in PORTS or parts.path not in {"", "/"} or not HOST.fullmatch(host):
        raise ValueError("must be smtp://user:password@host:port or smtps://...")
    if bool(parts.username) != bool(parts.password):
        raise ValueError("must name a user and a password, or neither")
    insists = _read_options(parts.query)
    return MailServer(
        host,
        port,
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        is_tls=parts.scheme == "smtps",
        needs_tls=insists or not _is_loopback(host),
    )


def _read_options(query: str) -> bool:
    """True if the query is `tls=required`, the only option; raises ValueError for any other."""
    options = parse_qs(query, keep_blank_values=True)
    if options not in ({}, {"tls": ["required"]}):
        raise ValueError("takes no other option than tls=required")
    return bool(options)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_sender(text: str) -> Address:
    """`Shop <no-reply@shop.example>` or the address alone. Raises ValueError."""
    name, address = parseaddr(text)
    local, _, domain = address.rpartition("@")
    is_plain = not CONTROL.search(text) and address in text and len(text) <= MAX_SENDER
    if not is_plain or not LOCAL_PART.fullmatch(local) or not HOST.fullmatch(domain):
        raise ValueError("must be an address, as no-reply@shop.example or Shop <no-reply@shop.example>")
    return Address(name, local, domain)
