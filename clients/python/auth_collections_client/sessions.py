"""Sessions and their stores, as plain data. Refreshing them is the transport's work."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypedDict

from auth_collections_client.calls import check_secret
from auth_collections_client.errors import ConfigurationError
from auth_collections_client.narrow import object_of

# A call refreshes first when less than so many seconds, or this part of the token's life, are left.
EARLY_SECONDS, EARLY_PART = 60.0, 0.1
Event = Literal["signed_in", "refreshed", "signed_out", "user_changed"]


class Session(TypedDict):
    """`expires_at` is in seconds since 1970 by this machine's clock."""

    access_token: str
    refresh_token: str | None
    expires_at: float
    user_id: str


Listener = Callable[[Event, Session | None], object]


class Store(Protocol):
    """A place for a session. The async client also takes coroutines."""

    def get(self) -> Any: ...

    def set(self, session: Session | None, /) -> Any: ...


def fixed(token: str) -> Session:
    """Returns the session of a token that is never refreshed."""
    check_secret(token, "token")
    return Session(access_token=token, refresh_token=None, expires_at=float("inf"), user_id="")


class Memory:
    """A store that lives as long as the process."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def get(self) -> Session | None:
        return self._session

    def set(self, session: Session | None, /) -> None:
        self._session = session


def memory() -> Store:
    return Memory()


def read_session(stored: Any) -> Session | None:
    """Returns what a store gave, or None where it is no session."""
    found = object_of(stored)
    token, refresh, user_id = (found.get(name) for name in ("access_token", "refresh_token", "user_id"))
    expires = found.get("expires_at")
    if not isinstance(token, str) or not isinstance(user_id, str) or not isinstance(expires, int | float):
        return None
    usable = refresh if isinstance(refresh, str) else None
    return Session(access_token=token, refresh_token=usable, expires_at=float(expires), user_id=user_id)


def make_session(tokens: Mapping[str, Any], now: float | None = None) -> Session:
    """Returns the session of a token answer, or of a stored session.

    Its end is counted by this machine's clock, from `expires_in` or the length of the token's life.
    """
    token = tokens.get("access_token")
    if not isinstance(token, str):
        raise ConfigurationError("A session needs an access_token.")
    check_secret(token, "token")
    claims = read_claims(token)
    start = time.time() if now is None else now
    expires_at = tokens.get("expires_at")
    if expires_at is None:
        expires_at = start + float(tokens.get("expires_in") or lifetime(claims))
    user_id = tokens.get("user_id") or claims.get("sub")
    return Session(
        access_token=token,
        refresh_token=tokens.get("refresh_token"),
        expires_at=float(expires_at),
        user_id=str(user_id),
    )


def read_claims(token: str) -> dict[str, Any]:
    """Returns the claims of a token, which are not verified here; an empty object where it is no JWT."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (IndexError, ValueError):
        return {}
    return object_of(claims)


def lifetime(claims: Mapping[str, Any]) -> float:
    """Returns the seconds between `iat` and `exp`, 0 where they are absent."""
    start, end = claims.get("iat"), claims.get("exp")
    return float(end - start) if isinstance(start, int | float) and isinstance(end, int | float) else 0.0


def is_due(session: Session, now: float) -> bool:
    """True where a session should be refreshed before its next call."""
    early = min(EARLY_SECONDS, EARLY_PART * lifetime(read_claims(session["access_token"])))
    return session["refresh_token"] is not None and session["expires_at"] - now < early


def make_verifier_text() -> str:
    """Returns a code verifier (RFC 7636 section 4.1)."""
    return secrets.token_urlsafe(48)


def challenge_of(verifier: str) -> str:
    """Returns the S256 challenge of a verifier (RFC 7636 section 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class RedirectUrl(str):
    """The URL to which the browser goes. Keep its `verifier`: `complete_redirect` asks for it."""

    __slots__ = ("verifier",)
    verifier: str

    @classmethod
    def of(cls, url: str, verifier: str) -> "RedirectUrl":
        made = cls(url)
        made.verifier = verifier
        return made
