"""ID tokens of the test provider: good ones, and each kind of bad one."""

import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

Claims = dict[str, Any]
SigningKey = RSAKey | ECKey


def new_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


def signed(claims: Claims, key: SigningKey, *, kid: str | None = None) -> str:
    alg = "RS256" if isinstance(key, RSAKey) else "ES256"
    return jwt.encode({"alg": alg, "kid": kid or key.kid}, claims, key, algorithms=[alg])


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _part(content: Claims) -> str:
    return _text(json.dumps(content).encode())


def _unsigned(claims: Claims, _: SigningKey) -> str:
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}."


def _hmac_with_public_key(claims: Claims, key: SigningKey) -> str:
    """The attack of RFC 8725 section 2.1; by hand, for the library refuses to make such a token."""
    signing_input = f"{_part({'alg': 'HS256', 'kid': key.kid})}.{_part(claims)}"
    return f"{signing_input}.{_text(hmac.digest(key.as_pem(private=False), signing_input.encode(), 'sha256'))}"


def _edited(claims: Claims, key: SigningKey) -> str:
    header, _, signature = signed(claims, key).split(".")
    return f"{header}.{_part({**claims, 'sub': 'sub-ada'})}.{signature}"


def _with(**changes: Any) -> Callable[[Claims, SigningKey], str]:
    """A well signed token whose claims are changed; `...` takes a claim away."""

    def make(claims: Claims, key: SigningKey) -> str:
        return signed({k: v for k, v in {**claims, **changes}.items() if v is not ...}, key)

    return make


def _times(**offsets: int) -> Callable[[Claims, SigningKey], str]:
    """Times of the moment in which the token is made, in seconds from it."""

    def make(claims: Claims, key: SigningKey) -> str:
        moments = {name: int(time.time()) + by for name, by in offsets.items()}
        return signed({**claims, **moments}, key)

    return make


OTHER_KEY = new_key("other")

TWISTS: Mapping[str, Callable[[Claims, SigningKey], str]] = {
    "wrong_aud": _with(aud="another-client"),
    "no_aud": _with(aud=...),
    "several_aud_without_azp": _with(aud=["demo-client", "another-client"]),
    "wrong_azp": _with(azp="another-client"),
    "wrong_iss": _with(iss="https://issuer.example"),
    "no_iss": _with(iss=...),
    "wrong_nonce": _with(nonce="another-nonce"),
    "no_nonce": _with(nonce=...),
    "expired": _times(iat=-7200, exp=-3600),
    "no_exp": _with(exp=...),
    "endless_exp": _with(exp=float("inf")),
    "issued_in_the_future": _times(iat=3600, exp=7200),
    "no_iat": _with(iat=...),
    "no_sub": _with(sub=...),
    "alg_none": _unsigned,
    "hmac_with_public_key": _hmac_with_public_key,
    "other_key": lambda claims, key: signed(claims, OTHER_KEY, kid=key.kid),
    "unknown_kid": lambda claims, _: signed(claims, OTHER_KEY, kid="unknown"),
    "edited": _edited,
    "not_a_token": lambda *_: "not.a.token",
    "one_megabyte": lambda *_: "x" * 1_000_000,
}
