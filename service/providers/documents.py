"""The documents of an OpenID issuer: what its configuration says, and which of its keys can be used. Pure."""

from collections.abc import Mapping
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet

from service.bounds import MAX_PROVIDER_KEYS
from service.providers.outbound import FetchFailed
from service.providers.registration import CLIENT_SECRET_BASIC, Endpoints, is_allowed_url, is_loopback

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
