"""The ID token of OpenID Connect: is it the provider's, for this client, of this sign-in, and still good? Pure."""

from typing import Any

from joserfc import jwt
from joserfc.errors import ClaimError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry

from service.errors import SignInFailed

# Only asymmetric ones (RFC 8725 section 3.1): with `none` or a shared secret a token would prove nothing here.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519"),
)
# Clocks differ; a minute is far below the life of an ID token.
LEEWAY_SECONDS = 60
# RFC 7515 section 4: header parameters that are not understood are ignored, unless `crit` names them.
REGISTRY = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)


class UnknownKey(Exception):
    """The token names a key that is not in the set; the provider may have changed its keys."""


def verify(token: str, keys: KeySet, *, issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    """The claims of `token`, judged by OpenID Connect Core 1.0 section 3.1.3.7.

    Raises UnknownKey, and SignInFailed for everything else that is wrong with it.
    """
    try:
        claims = jwt.decode(token, keys, registry=REGISTRY).claims
        _rules(issuer, client_id, nonce).validate(claims)
    except InvalidKeyIdError:
        raise UnknownKey from None
    except ClaimError as error:
        raise SignInFailed(f"the ID token's claim is refused: {error.claim}") from None
    except (JoseError, ValueError, TypeError) as error:
        raise SignInFailed(f"the ID token is refused: {type(error).__name__}") from None
    _check_party(claims, client_id)
    return claims


def _rules(issuer: str, client_id: str, nonce: str) -> JWTClaimsRegistry:
    return JWTClaimsRegistry(
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": issuer},
        aud={"essential": True, "value": client_id},
        nonce={"essential": True, "value": nonce},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )


def _check_party(claims: dict[str, Any], client_id: str) -> None:
    """A token for several audiences must say that it was issued to this client (section 3.1.3.7, steps 4 and 5)."""
    audience = claims["aud"]
    several = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        raise SignInFailed("the ID token's claim is refused: azp")
