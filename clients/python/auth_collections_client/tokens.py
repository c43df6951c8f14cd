"""The pure part of verifying user tokens: ES256 and nothing else, by the project's public keys."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from auth_collections_client.errors import ConfigurationError, TokenError
from auth_collections_client.narrow import list_of, object_of

# Seconds for which public keys are kept; an unknown key id reads them again at most once in UNKNOWN_SECONDS.
KEEP_SECONDS, UNKNOWN_SECONDS = 300.0, 60.0
# Seconds for which an answer of the service about a session is remembered, for so many tokens.
ONLINE_SECONDS, ONLINE_TOKENS = 5.0, 1_000
# Keys of a set that are read, and characters of a token.
MOST_KEYS, MOST_CHARACTERS = 50, 16_384
NO_JOSERFC = "Verifying tokens needs the package joserfc: pip install 'auth-collections-client[verify]'."


@dataclass(slots=True)
class KeySet:
    """The public keys of a project by their id, and when they were read."""

    keys: dict[str, Any] = field(default_factory=dict[str, Any])
    read_at: float = float("-inf")

    def is_due(self, kid: str, now: float) -> bool:
        """True where the keys must be read for a token: they are too old, or this key is unknown."""
        age = now - self.read_at
        return age >= KEEP_SECONDS or (kid not in self.keys and age >= UNKNOWN_SECONDS)

    def replace(self, found: Any, now: float) -> None:
        keys = [object_of(each) for each in list_of(object_of(found).get("keys"))]
        usable = [each for each in keys if _is_usable(each)]
        self.keys = {each["kid"]: each for each in usable[:MOST_KEYS]}
        self.read_at = now


def _is_usable(key: Mapping[str, Any]) -> bool:
    return isinstance(key.get("kid"), str) and (key.get("kty"), key.get("crv")) == ("EC", "P-256")


def read_key_id(token: str) -> str:
    """Returns the key id of a token. Raises TokenError `malformed`, or `algorithm` for any but ES256."""
    if token.count(".") != 2 or len(token) > MOST_CHARACTERS:
        raise TokenError("malformed", "The token is no JWT.")
    header = _decode(token.partition(".")[0])
    if header.get("alg") != "ES256" or "crit" in header:
        raise TokenError("algorithm", "The token is not signed by ES256.")
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise TokenError("unknown_key", "The token names no key.")
    return kid


def _decode(part: str) -> dict[str, Any]:
    try:
        found = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        raise TokenError("malformed", "The token is no JWT.") from None
    if not isinstance(found, dict):
        raise TokenError("malformed", "The token is no JWT.")
    return object_of(found)


def verify_signature(token: str, key: Any) -> dict[str, Any]:
    """Returns the claims of a token that the key signed. Raises TokenError `signature`, ConfigurationError."""
    try:
        from joserfc.errors import JoseError
        from joserfc.jwk import ECKey
        from joserfc.jws import deserialize_compact
    except ImportError as error:
        raise ConfigurationError(NO_JOSERFC) from error
    try:
        deserialize_compact(token, ECKey.import_key(dict(key)), algorithms=["ES256"])
    except (JoseError, ValueError):
        raise TokenError("signature", "The signature of the token is wrong.") from None
    return _decode(token.split(".")[1])


def list_issuers(url: str, project: str) -> tuple[str, ...]:
    """The issuers that tokens of the project may name: the service, or the project itself (`TOKEN_ISSUER`)."""
    base = url.rstrip("/")
    return base, f"{base}/auth-collections/issuer/{project}"


def check_claims(claims: Mapping[str, Any], *, issuers: Collection[str], audience: str, now: float) -> None:
    """Raises TokenError `expired`, `issuer` or `audience`."""
    expires = claims.get("exp")
    if isinstance(expires, bool) or not isinstance(expires, int | float) or expires <= now:
        raise TokenError("expired", "The token has expired.")
    if claims.get("iss") not in issuers:
        raise TokenError("issuer", "The token is of another service.")
    if claims.get("aud") != audience:
        raise TokenError("audience", "The token is of another project.")
