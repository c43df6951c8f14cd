"""A project's registration at its provider, and the provider's addresses. Values only; nothing here makes a request.

`presets.toml` has a table for each provider that is known by name: its addresses, and its quirks.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

CLIENT_SECRET_BASIC = "client_secret_basic"  # noqa: S105 - the name of a method, RFC 7591 section 2
CLIENT_SECRET_POST = "client_secret_post"  # noqa: S105 - the name of a method
CLIENT_AUTH_METHODS = (CLIENT_SECRET_BASIC, CLIENT_SECRET_POST)
FILE = Path(__file__).with_name("presets.toml")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The URLs of a provider, and its own metadata. `issuer` and `jwks` are those of an OpenID provider.

    `names_itself` is the promise of RFC 9207 section 3: every authorization response carries `iss`. A plain OAuth 2.0
    provider may have an `issuer`, too, but no `jwks`.
    """

    authorize: str
    token: str
    userinfo: str | None
    issuer: str | None = None
    jwks: str | None = None
    client_auth_methods: tuple[str, ...] = CLIENT_AUTH_METHODS
    names_itself: bool = False

    @property
    def is_openid(self) -> bool:
        return self.jwks is not None


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """The key that signs a new client secret for each request, if the provider takes no fixed one (Apple)."""

    team_id: str
    key_id: str
    private_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Quirks:
    """Peculiarities of a provider; without any, it goes by the standards.

    `issuers` are other names of the issuer. An issuer with `{tenantid}` has many tenants; `tenants` may restrict them.
    `audiences` are further clients of the project. `emails_path` is the path of the addresses, from the userinfo URL
    on. `claims` are its own names for claims of OpenID, and `true_values` its values for true. `trust` is the set of
    addresses it is the authority for: those that it verified, or Google's. With `posts_name` its form may bring the
    name.
    """

    issuers: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    response_mode: str | None = None
    emails_path: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    true_values: tuple[object, ...] = (True,)
    has_userinfo: bool = True
    trust: Literal["none", "verified", "google"] = "none"
    secret: SigningSecret | None = None
    posts_name: bool = False


NO_QUIRKS = Quirks()


@dataclass(frozen=True, slots=True)
class Registration:
    """A client at a provider, which is an OpenID issuer's name, or the endpoints of a plain OAuth 2.0 provider.

    `client_auth` forces one of CLIENT_AUTH_METHODS; without it the provider's own list decides. `name` is what the project
    calls the provider, None that of its IDP settings. `kept_claims` are fields of a new user's data, each with its claim.
    """

    client_id: str
    client_secret: str = field(repr=False)
    redirect_url: str
    scopes: str
    provider: str | Endpoints
    client_auth: str | None = None
    name: str | None = None
    quirks: Quirks = NO_QUIRKS
    kept_claims: Mapping[str, str] = field(default_factory=dict)

    @property
    def client_binding(self) -> str:
        """This client at this provider in one text, to which a sign-in is bound (RFC 9700 section 4.4.2)."""
        binding = f"{self.provider_name} {self.client_id}"
        return binding if self.name is None else f"{self.name} {binding}"

    @property
    def provider_name(self) -> str:
        """The issuer; the authorize URL of a plain OAuth 2.0 provider without one."""
        provider = self.provider
        return provider if isinstance(provider, str) else provider.issuer or provider.authorize


def is_allowed_url(url: str, *, loopback: bool = True) -> bool:
    """True if the service may send a request, or a browser, to `url`: https, or http on this machine.

    `loopback=False` refuses http altogether, for URLs that a remote provider's document names.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError for a port that is no number
    except ValueError:
        return False
    # urlsplit drops tabs and line ends silently; the text that is sent must be the text that was judged.
    if not url.isascii() or not url.isprintable() or " " in url or parts.username is not None or parts.fragment:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or (loopback and is_loopback(url)))


def is_loopback(url: str) -> bool:
    """True if `url` is http on this machine: `localhost`, 127.0.0.0/8 or ::1."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "http":
        return False
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Preset:
    """One table of the file. A project must set the values that are None, as far as they are needed.

    `title` is the provider's name for people, `kind` its protocol. The fields below `client_auth` are as in `Quirks`; a
    `secret` that is signed takes the place of a fixed one.
    """

    name: str
    title: str
    kind: Literal["openid", "oauth2"]
    scopes: str
    issuer: str | None = None
    authorize_url: str | None = None
    token_url: str | None = None
    userinfo_url: str | None = None
    client_auth: str | None = None
    issuers: tuple[str, ...] = ()
    response_mode: str | None = None
    emails_path: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    true_values: tuple[object, ...] = (True,)
    has_userinfo: bool = True
    trust: Literal["none", "verified", "google"] = "none"
    secret: Literal["fixed", "signed"] = "fixed"  # noqa: S105 - a kind of one
    posts_name: bool = False


@cache
def presets() -> dict[str, Preset]:
    """By name, in the order of the file. Read when first needed."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Preset(name=name, **{key: _plain(value) for key, value in table.items()})
        for name, table in tables.items()
    }


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
