"""The state of the test provider: its keys, the codes and tokens it gave out, and its call counters."""

import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx2

from faults.commands import NO_TLS
from faults.provider.accounts import ACCOUNTS, Account
from faults.provider.tokens import TWISTS, SigningKey, new_key, signed

CLIENT_ID = "demo-client"
# A colon, a plus and a percent sign show whether both sides encode the secret alike.
CLIENT_SECRET = "demo:secret+100%/é"
# `standard` is a usual issuer; each other name is one with a peculiarity, under the path of that name.
ISSUERS = ("standard", "named", "post", "mislabelled", "outside", "down", "bare", "hanging")


@dataclass(frozen=True, slots=True)
class Grant:
    """A code that was given out, with the request it answers."""

    account: Account
    issuer: str
    request: dict[str, str]


@dataclass
class Provider:
    """`calls` counts requests by endpoint; `cookies` holds every cookie a server-side request brought."""

    base: str = ""
    key: SigningKey = field(default_factory=lambda: new_key("first"))
    calls: Counter[str] = field(default_factory=Counter)
    cookies: list[str] = field(default_factory=list)
    client_auth: list[str] = field(default_factory=list)
    codes: dict[str, Grant] = field(default_factory=dict)
    tokens: dict[str, Account] = field(default_factory=dict)
    odd_keys: list[dict[str, Any]] = field(default_factory=list)

    def issuer(self, name: str = "standard") -> str:
        return f"{self.base}/{name}"

    def forget(self) -> None:
        """Back to the state of a new provider, with the same keys."""
        for store in (self.calls, self.cookies, self.client_auth, self.codes, self.tokens, self.odd_keys):
            store.clear()

    def rotate_key(self) -> None:
        """Signs with a new key from now on; the old one is no longer published."""
        self.key = new_key(secrets.token_hex(4))

    def grant(self, account: str, issuer: str, request: dict[str, str]) -> str:
        code = secrets.token_urlsafe(16)
        self.codes[code] = Grant(ACCOUNTS[account], issuer, request)
        return code

    def access_token(self, account: Account) -> str:
        token = secrets.token_urlsafe(16)
        self.tokens[token] = account
        return token

    def id_token(self, grant: Grant) -> str:
        claims = {
            "iss": self.issuer(grant.issuer),
            "aud": grant.request["client_id"],
            "iat": int(time.time()),
            "exp": int(time.time()) + 300,
            **({"nonce": grant.request["nonce"]} if "nonce" in grant.request else {}),
            **(grant.account.claims if grant.account.in_id_token else {"sub": grant.account.claims["sub"]}),
        }
        make = TWISTS.get(grant.account.id_token, signed)
        return make(claims, self.key)

    def answer(self, authorize_url: str, account: str) -> str:
        """Returns the callback URL with a code, to which the browser of `account` is redirected after signing in."""
        return self._submitted(authorize_url, {"account": account})

    def decline(self, authorize_url: str) -> str:
        """Returns the callback URL with an error, to which the browser is redirected after the user declines."""
        return self._submitted(authorize_url, {"deny": "1"})

    def _submitted(self, authorize_url: str, form: dict[str, str]) -> str:
        response = httpx2.post(authorize_url, data=form, timeout=20, verify=NO_TLS)
        assert response.status_code == httpx2.codes.FOUND, response.text
        return str(response.headers["location"])


def with_query(url: str, **parameters: Any) -> str:
    """`url` with these query parameters; None takes one away."""
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query)), **parameters}
    kept = {name: value for name, value in query.items() if value is not None}
    return urlunsplit(parts._replace(query=urlencode(kept)))
