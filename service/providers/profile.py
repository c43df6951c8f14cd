"""The person as the provider describes them, read from claims that were already verified. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.errors import ProfileNotFetched, SignInFailed

# OpenID Connect Core 1.0 section 2: `sub` has at most 255 characters.
MAX_SUBJECT = 255
WANTED = frozenset({"email", "email_verified", "name"})


@dataclass(frozen=True, slots=True)
class Profile:
    """`subject` names the person at the provider for ever. `email_verified` is what was sent, of whatever type."""

    subject: str
    email: str | None
    email_verified: object
    name: str | None


def is_complete(claims: Mapping[str, Any]) -> bool:
    """Whether an ID token already says what the userinfo endpoint would be asked for."""
    return claims.keys() >= WANTED


def openid_profile(claims: Mapping[str, Any], userinfo: Mapping[str, Any] | None) -> Profile:
    """The profile in an ID token and the answer of the userinfo endpoint, None when it was not asked.

    Raises SignInFailed when the two are not about the same subject (OpenID Connect Core 1.0 section 5.3.2).
    """
    subject = _subject(claims["sub"])
    if subject is None:
        raise SignInFailed("the ID token's subject is too long")
    if userinfo is None:
        userinfo = claims
    if userinfo.get("sub") != claims["sub"]:
        raise SignInFailed("the userinfo answer is about another subject")
    # An address and the word on it must come from one document, else one could vouch for the other's address.
    source = userinfo if userinfo.get("email") else claims
    return Profile(subject, _text(source.get("email")), source.get("email_verified"), _name(userinfo) or _name(claims))


def oauth_profile(userinfo: Mapping[str, Any]) -> Profile:
    """The profile in the answer of a plain OAuth 2.0 provider, whose subject is `sub` or `id`.

    Raises ProfileNotFetched when it names no subject.
    """
    subject = _subject(userinfo.get("sub", userinfo.get("id")))
    if subject is None:
        raise ProfileNotFetched("the profile has no subject")
    return Profile(subject, _text(userinfo.get("email")), userinfo.get("email_verified"), _name(userinfo))


def _subject(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT else None


def _name(document: Mapping[str, Any]) -> str | None:
    return _text(document.get("name")) or _text(document.get("preferred_username"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
