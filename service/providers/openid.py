"""OpenID Connect: an issuer's configuration and keys, and the judgement of its ID tokens. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from joserfc import jwt
from joserfc.errors import ClaimError, InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry

from service.bounds import MAX_PROVIDER_KEYS
from service.errors import SignInFailed
from service.outbound.fetching import FetchFailed
from service.providers.registration import CLIENT_SECRET_BASIC, Endpoints, is_allowed_url, is_loopback

# Only asymmetric ones (RFC 8725 section 3.1): with `none` or a shared secret a token would prove nothing here.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519"),
)
# Clocks differ; a minute is far below the life of an ID token.
LEEWAY_SECONDS = 60
# RFC 7515 section 4: header parameters that are not understood are ignored, unless `crit` names them.
REGISTRY = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)


# The part of an issuer's name that differs for each of its tenants (Microsoft), and the pattern of their ids.
TENANT = "{tenantid}"
TENANT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ASYMMETRIC = frozenset({"RSA", "EC", "OKP"})


def read_configuration(document: Mapping[str, Any], issuer: str) -> Endpoints:
    """The endpoints in an OpenID configuration document (OpenID Connect Discovery 1.0 section 3).

    Raises FetchFailed when its `issuer` is not exactly the configured one (section 4.3), or when a URL is missing or is
    one the service does not go to. Only an issuer on this machine may name http URLs of this machine.
    """
    if document.get("issuer") != issuer:
        raise FetchFailed("the configuration document names another issuer")
    urls = {key: document.get(f"{key}_endpoint") for key in ("authorization", "token", "userinfo")}
    urls["jwks"] = document.get("jwks_uri")
    for key, url in urls.items():
        # The userinfo endpoint alone is optional.
        if (url is not None or key != "userinfo") and not _is_usable(url, issuer):
            raise FetchFailed(f"the configuration document has no usable {key} URL")
    methods = document.get("token_endpoint_auth_methods_supported")
    return Endpoints(
        authorize=str(urls["authorization"]),
        token=str(urls["token"]),
        userinfo=urls["userinfo"],
        issuer=issuer,
        jwks=str(urls["jwks"]),
        client_auth_methods=tuple(methods) if isinstance(methods, list) else (CLIENT_SECRET_BASIC,),
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _is_usable(url: object, issuer: str) -> bool:
    return isinstance(url, str) and is_allowed_url(url, loopback=is_loopback(issuer))


def usable_keys(document: Mapping[str, Any]) -> KeySet:
    """The public signing keys among the first of a JWK Set; what cannot be used is passed over (RFC 7517 section 5)."""
    entries = document.get("keys")
    found = [_key(entry) for entry in entries[:MAX_PROVIDER_KEYS]] if isinstance(entries, list) else []
    return KeySet([key for key in found if key is not None])


def _key(entry: object) -> Key | None:
    try:
        if not isinstance(entry, dict) or entry.get("kty") not in ASYMMETRIC or entry.get("use", "sig") != "sig":
            return None
        return JWKRegistry.import_key(entry)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Deviations from the usual that are accepted in a token, see `Quirks`.

    With `is_native` an app, not this service, asked for the token: it may hold the SHA-256 of the nonce, in hex, and
    name the app as the party if it has one audience.
    """

    issuers: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    is_native: bool = False


USUAL = Tolerances()


class UnknownKey(Exception):
    """The token names a key that is not in the set; the provider may have changed its keys."""


def verify(
    token: str, keys: KeySet, *, issuer: str, client_id: str, nonce: str, accepted: Tolerances = USUAL
) -> dict[str, Any]:
    """The claims of `token`, judged by OpenID Connect Core 1.0 section 3.1.3.7.

    Raises UnknownKey, and SignInFailed for everything else that is wrong with it.
    """
    try:
        claims = jwt.decode(token, keys, registry=REGISTRY).claims
        _rules(_issuers(issuer, accepted, claims), client_id, nonce, accepted).validate(claims)
    except InvalidKeyIdError:
        raise UnknownKey from None
    except ClaimError as error:
        raise SignInFailed(f"the ID token's claim is refused: {error.claim}") from None
    except (JoseError, ValueError, TypeError) as error:
        raise SignInFailed(f"the ID token is refused: {type(error).__name__}") from None
    _check_party(claims, client_id, accepted)
    return claims


def _issuers(issuer: str, accepted: Tolerances, claims: dict[str, Any]) -> list[str]:
    """The names that the issuer may have in this token.

    Raises SignInFailed for an invalid tenant, or one that is not admitted.
    """
    if TENANT not in issuer:
        return [issuer, *accepted.issuers]
    tenant = claims.get("tid")
    if not isinstance(tenant, str) or not TENANT_ID.fullmatch(tenant):
        raise SignInFailed("the ID token names no tenant")
    if accepted.tenants and tenant not in accepted.tenants:
        raise SignInFailed("the ID token is of another tenant")
    return [issuer.replace(TENANT, tenant)]


def _rules(issuers: list[str], client_id: str, nonce: str, accepted: Tolerances) -> JWTClaimsRegistry:
    nonces = [nonce, sha256(nonce.encode()).hexdigest()] if accepted.is_native else [nonce]
    return JWTClaimsRegistry(
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "values": issuers},
        aud={"essential": True, "values": [client_id, *accepted.audiences]},
        nonce={"essential": True, "values": nonces},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )


def _check_party(claims: dict[str, Any], client_id: str, accepted: Tolerances) -> None:
    """A token for several audiences must say that it was issued to this client (section 3.1.3.7, steps 4 and 5)."""
    audience = claims["aud"]
    several = isinstance(audience, list) and len(audience) > 1
    if accepted.is_native and not several:
        return
    if claims.get("azp", None if several else client_id) not in (client_id, *accepted.audiences):
        raise SignInFailed("the ID token's claim is refused: azp")
